# A thin face on Meson: each target installs the Debian packages that are missing, configures the
# build folder once, and does what its name says. `make CC=clang` works before the first build.

BUILD ?= build
prefix ?= /usr/local

# Node 20 or later first on the path, once `deps` has run.
export PATH := $(CURDIR)/build-node/bin:$(PATH)

.PHONY: all deps guest web npm site serve screenshots debian-disk demo check check-page types soak \
	bench bench-pc bench-web install clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

deps:
	tools/install-deps.sh
	tools/node.sh > /dev/null

$(BUILD)/build.ninja: | deps
	meson setup --prefix=$(prefix) $(BUILD)

guest web: all
	ninja -C $(BUILD) $@

# The page in a browser's tab, at the address that this prints.
site: all
	ninja -C $(BUILD) site

serve: site guest
	$(BUILD)/halter serve

# What is too long for `make check`: the page in Firefox, a thousand PCs in one tab, five minutes in a
# hidden one, and a deterministic boot in both browsers against the native one.
check-page: all
	tools/install-deps.sh firefox-esr xvfb
	ninja -C $(BUILD) page-firefox page-same page-same-firefox page-cycles page-hidden page-tasks

screenshots: all
	tools/install-deps.sh pngquant
	OUT=$(CURDIR)/docs/images ninja -C $(BUILD) page-screenshots

# What `npm publish` would take: build/web/halter-VERSION.tgz, with its types.
npm: deps
	tools/npm.sh web
	$(MAKE) web
	cd $(BUILD)/web && npm pack ./package

# Only the programs: the tests take longer to build than the demo to run.
demo: $(BUILD)/build.ninja
	ninja -C $(BUILD) programs
	tools/demo.sh $(BUILD)

check: | deps
	tools/check.sh

# share/*.d.ts, held against TypeScript's compiler.
types: | deps
	tests/types/run.sh

# 100 plugins, 10 000 kills and restarts; half an hour of everything at once; state through a thousand
# ends of each process; ten million cases against the processor; all of the guest's programs; 200 power
# cuts while a guest writes. A part of each is in `make check`.
soak: all guest web
	$(BUILD)/tests/host/host-soak 10000
	$(BUILD)/tests/host/host-endurance 1800
	$(BUILD)/tests/services/test_state_end 1000
	$(BUILD)/tests/pc/oracle/test-pc-oracle-native $(BUILD)/tests/pc/oracle/oracle-native 10000000
	tests/pc/guest/programs.sh $(BUILD)/halter build-guest node web/bin/halter.mjs $(BUILD)/web/package/pc.wasm all
	tests/pc/guest/cuts.sh $(BUILD)/halter build-guest 200

# A disk with a Debian system, for `halter boot --ram 256 --disk debian.img`.
debian-disk: guest
	tools/guest/debian-disk.sh debian.img python3 p7zip-full openssl gcc libc6-dev

bench: all
	bench/run.sh $(BUILD)

# The PC against v86 and QEMU: half an hour on an idle machine.
bench-pc: guest web
	tools/install-deps.sh seabios qemu-system-x86
	tools/npm.sh bench/web
	node bench/pc/bench.mjs $(BUILD) build-guest

# What a yield costs, in Node, Chromium and Firefox: a quarter of an hour on an idle machine.
bench-web: guest web
	tools/install-deps.sh firefox-esr seabios
	tools/npm.sh bench/web
	node bench/web/bench.mjs $(BUILD) build-guest --svg docs/images/pump.svg

# `make install prefix=/usr` also where the build folder was made for another place: the programs and
# the library know where the others are, so they are built anew.
install: all
ifneq ($(origin prefix),file)
	meson configure $(BUILD) --prefix=$(prefix)
endif
	meson install -C $(BUILD)
	if [ -s build-guest/initramfs.cpio.gz ]; then \
	    install -D -m644 -t $(DESTDIR)$(prefix)/share/halter/guest \
	        build-guest/vmlinux-686 build-guest/initramfs.cpio.gz; fi

clean:
	rm -rf $(BUILD) build-* demo-out
