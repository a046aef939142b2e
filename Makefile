# A thin face on Meson: each target installs the Debian packages that are missing, configures the
# build folder once, and does what its name says. `make CC=clang` works before the first build.

BUILD ?= build
prefix ?= /usr/local

# Node 20 or later first on the path, once `deps` has run.
export PATH := $(CURDIR)/build-node/bin:$(PATH)

.PHONY: all deps guest web demo check soak debian-disk bench install clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

deps:
	tools/install-deps.sh
	tools/node.sh > /dev/null

$(BUILD)/build.ninja: | deps
	meson setup --prefix=$(prefix) $(BUILD)

guest web: all
	ninja -C $(BUILD) $@

# Only the programs: the tests take longer to build than the demo to run.
demo: $(BUILD)/build.ninja
	ninja -C $(BUILD) programs
	tools/demo.sh $(BUILD)

check: | deps
	tools/check.sh

# 100 plugins, 10 000 kills and restarts; half an hour of everything at once; ten million cases
# against the processor; a thousand power cuts while a guest writes. A part of each is in `make check`.
soak: all
	$(BUILD)/tests/host/host-soak 10000
	$(BUILD)/tests/host/host-endurance 1800
	$(BUILD)/tests/pc/oracle/test-pc-oracle-native $(BUILD)/tests/pc/oracle/oracle-native 10000000
	tests/pc/guest/cuts.sh $(BUILD)/halter $(BUILD)/guest 200

# A disk with a Debian system, for `halter boot --ram 256 --disk debian.img`.
debian-disk: guest
	tools/guest/debian-disk.sh debian.img python3 p7zip-full openssl gcc libc6-dev

bench: all
	bench/run.sh $(BUILD)

install: all
	meson install -C $(BUILD) --no-rebuild
	if [ -s build-guest/initramfs.cpio.gz ]; then \
	    install -D -m644 -t $(DESTDIR)$(prefix)/share/halter/guest \
	        build-guest/vmlinux-686 build-guest/initramfs.cpio.gz; fi

clean:
	rm -rf $(BUILD) build-* demo-out
