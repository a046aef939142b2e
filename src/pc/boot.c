/* boot.c: puts a Linux kernel into RAM the way a boot loader would, and enters it by the 32-bit
 * boot protocol (Linux Documentation/x86/boot.rst, "32-bit Boot Protocol"; zero-page.rst).
 *
 * Below 1 MB:  400h  BIOS data area       1000h  GDT          10000h  zero page
 *            20000h  command line        9fc00h  (reserved: where a BIOS keeps its own)
 * Above:     the kernel where it wants to be, the initrd as high as it may.
 *
 * A bzImage unpacks itself in the guest. An ELF is the kernel that a bzImage has inside: the same
 * protocol enters it, with a header made up here. */
#include "machine.h"
#include "text.h"

#include <string.h>

#define AT_BDA          0x400
#define AT_GDT          0x1000
#define AT_ZERO_PAGE    0x10000
#define AT_COMMAND_LINE 0x20000
#define COMMAND_LINE    2048 /* the most a kernel takes, with the NUL */
#define AT_EBDA         0x9fc00
#define ONE_MB          0x100000u

#define PAGE           4096u
#define HEADROOM       (4u << 20)  /* what a kernel needs beside its image before it says a word */
#define INITRD_MAX_ELF 0x37ffffffu /* the kernel's direct map ends at 896 MB */

/* Offsets in the zero page. */
enum {
    ZP_SCREEN_INFO = 0x000,
    ZP_E820_ENTRIES = 0x1e8,
    ZP_HEADER = 0x1f1,
    ZP_E820_TABLE = 0x2d0,
};

/* Offsets in the setup header, from the start of the image and of the zero page alike. */
enum {
    H_SETUP_SECTS = 0x1f1,
    H_BOOT_FLAG = 0x1fe,
    H_JUMP = 0x200,
    H_MAGIC = 0x202,
    H_VERSION = 0x206,
    H_LOADER = 0x210,
    H_LOADFLAGS = 0x211,
    H_CODE32_START = 0x214,
    H_RAMDISK = 0x218,
    H_RAMDISK_SIZE = 0x21c,
    H_CMD_LINE = 0x228,
    H_INITRD_MAX = 0x22c,
    H_ALIGNMENT = 0x230,
    H_PREF_ADDRESS = 0x258,
    H_INIT_SIZE = 0x260,
    H_END = 0x290,
};

#define HEADER_MAGIC     0x53726448u /* "HdrS" */
#define LOADED_HIGH      0x01
#define LOADER_UNDEFINED 0xff

static uint32_t get(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* A kernel as its loader found it. */
struct loaded {
    uint32_t entry;
    uint64_t first, end; /* the RAM it takes before it manages memory itself */
    uint32_t initrd_max; /* the last byte an initrd may have */
};

static const char *too_small(struct pc *pc, const char *what, uint64_t needed)
{
    struct text text = TEXT(pc->message);

    text_add(&text, "the RAM is too small for ");
    text_add(&text, what);
    text_add(&text, ": ");
    text_add_decimal(&text, (needed + (1 << 20) - 1) >> 20);
    text_add(&text, " MB are needed, there are ");
    text_add_decimal(&text, pc->ports.ram_bytes >> 20);
    return pc->message;
}

/* ---- ELF ---------------------------------------------------------------------------------- */

enum {
    ELF_HEADER = 52,
    ELF_ENTRY = 24,
    ELF_PHOFF = 28,
    ELF_PHENTSIZE = 42,
    ELF_PHNUM = 44,
    PH_BYTES = 32,
    PH_OFFSET = 4,
    PH_PADDR = 12,
    PH_FILESZ = 16,
    PH_MEMSZ = 20,
};

#define PT_LOAD 1

static const char *check_elf(const uint8_t *elf, size_t bytes)
{
    if (bytes < ELF_HEADER)
        return "the kernel's ELF header is cut off";
    if (elf[4] != 1 || elf[5] != 1 || get(elf + 18, 2) != 3)
        return "the kernel is not an ELF for 32-bit x86";
    if (get(elf + ELF_PHENTSIZE, 2) != PH_BYTES)
        return "the kernel's ELF has program headers of a strange size";
    if (get(elf + ELF_PHOFF, 4) > bytes ||
        (bytes - get(elf + ELF_PHOFF, 4)) / PH_BYTES < get(elf + ELF_PHNUM, 2))
        return "the kernel's ELF program headers are cut off";
    return NULL;
}

static const char *load_segment(struct pc *pc, const struct pc_image *image, const uint8_t *ph,
                                struct loaded *kernel)
{
    uint32_t offset = get(ph + PH_OFFSET, 4), address = get(ph + PH_PADDR, 4);
    uint32_t file = get(ph + PH_FILESZ, 4), memory = get(ph + PH_MEMSZ, 4);
    uint64_t end = (uint64_t)address + memory;

    if (offset > image->kernel_bytes || image->kernel_bytes - offset < file || file > memory)
        return "a segment of the kernel's ELF is cut off";
    if (address < ONE_MB)
        return "a segment of the kernel's ELF lies below 1 MB";
    if (end > pc->ports.ram_bytes)
        return too_small(pc, "the kernel", end + HEADROOM);
    memcpy(pc->ports.ram + address, image->kernel + offset, file);
    memset(pc->ports.ram + address + file, 0, memory - file);
    if (address < kernel->first)
        kernel->first = address;
    if (end > kernel->end)
        kernel->end = end;
    return NULL;
}

static const char *load_elf(struct pc *pc, const struct pc_image *image, struct loaded *kernel)
{
    const uint8_t *elf = image->kernel;
    const char *wrong = check_elf(elf, image->kernel_bytes);

    if (wrong)
        return wrong;
    *kernel = (struct loaded){
        .entry = get(elf + ELF_ENTRY, 4), .first = UINT32_MAX, .initrd_max = INITRD_MAX_ELF};
    for (unsigned i = 0; i < get(elf + ELF_PHNUM, 2); i++) {
        const uint8_t *ph = elf + get(elf + ELF_PHOFF, 4) + i * PH_BYTES;

        if (get(ph, 4) != PT_LOAD || get(ph + PH_MEMSZ, 4) == 0)
            continue;
        wrong = load_segment(pc, image, ph, kernel);
        if (wrong)
            return wrong;
    }
    if (kernel->end == 0)
        return "the kernel's ELF has nothing to load";
    if (kernel->entry < kernel->first || kernel->entry >= kernel->end)
        return "the entry point of the kernel's ELF is not in what it loads";
    return NULL;
}

/* The header that a bzImage would have brought. */
static void make_header(uint8_t *zero_page)
{
    put(zero_page + H_BOOT_FLAG, 2, 0xaa55);
    put(zero_page + H_MAGIC, 4, HEADER_MAGIC);
    put(zero_page + H_VERSION, 2, 0x020c);
    put(zero_page + H_LOADFLAGS, 1, LOADED_HIGH);
    put(zero_page + H_INITRD_MAX, 4, INITRD_MAX_ELF);
    put(zero_page + H_ALIGNMENT, 4, 0x1000000);
}

/* ---- bzImage ------------------------------------------------------------------------------ */

static bool is_bzimage(const uint8_t *image, size_t bytes)
{
    return bytes > H_END && get(image + H_BOOT_FLAG, 2) == 0xaa55 &&
           get(image + H_MAGIC, 4) == HEADER_MAGIC;
}

static const char *load_bzimage(struct pc *pc, const struct pc_image *image, struct loaded *kernel)
{
    const uint8_t *file = image->kernel;
    uint32_t sectors = file[H_SETUP_SECTS] ? file[H_SETUP_SECTS] : 4; /* 0 is 4, for old loaders */
    size_t setup = (sectors + 1) * 512;

    if (get(file + H_VERSION, 2) < 0x020a)
        return "the kernel's boot protocol is older than 2.10";
    if (!(file[H_LOADFLAGS] & LOADED_HIGH))
        return "the kernel is a zImage, to be loaded below 1 MB";
    if (image->kernel_bytes <= setup)
        return "the bzImage is cut off";

    uint64_t bytes = image->kernel_bytes - setup, start = get(file + H_CODE32_START, 4);
    uint64_t preferred = get(file + H_PREF_ADDRESS, 4) | (uint64_t)get(file + H_PREF_ADDRESS + 4, 4)
                                                             << 32;
    uint64_t unpacked = get(file + H_INIT_SIZE, 4);

    if (start < ONE_MB)
        return "the bzImage asks to be loaded below 1 MB";
    /* It moves itself to where it prefers to be, and needs init_size bytes from there. */
    *kernel = (struct loaded){
        .entry = (uint32_t)start,
        .first = start,
        .end = preferred + unpacked > start + bytes ? preferred + unpacked : start + bytes,
        .initrd_max = get(file + H_INITRD_MAX, 4),
    };
    if (kernel->end > pc->ports.ram_bytes)
        return too_small(pc, "the kernel", kernel->end + HEADROOM);
    memcpy(pc->ports.ram + start, file + setup, bytes);
    return NULL;
}

/* The header reaches to where the jump over it says (boot.rst, "the header size"). */
static void copy_header(uint8_t *zero_page, const uint8_t *image)
{
    uint32_t end = H_MAGIC + image[H_JUMP + 1];

    if (end > H_END)
        end = H_END;
    memcpy(zero_page + ZP_HEADER, image + ZP_HEADER, end - ZP_HEADER);
}

/* ---- Initrd ------------------------------------------------------------------------------- */

/* What a gzipped initrd will take once it is unpacked: its last four bytes say so, modulo 4 GB.
 * For other formats nothing is known. */
static uint64_t unpacked_bytes(const struct pc_image *image)
{
    const uint8_t *initrd = image->initrd;
    size_t bytes = image->initrd_bytes;

    if (bytes < 18 || initrd[0] != 0x1f || initrd[1] != 0x8b)
        return 0;
    return get(initrd + bytes - 4, 4);
}

static const char *load_initrd(struct pc *pc, const struct pc_image *image,
                               const struct loaded *kernel, uint8_t *zero_page)
{
    uint64_t limit = pc->ports.ram_bytes, bytes = image->initrd_bytes;
    uint64_t needed = kernel->end + bytes + unpacked_bytes(image) + HEADROOM;

    if (!image->initrd || !bytes)
        return kernel->end + HEADROOM > limit ? too_small(pc, "the kernel", needed) : NULL;
    if (needed > limit)
        return too_small(pc, "the kernel and its initrd", needed);
    if (limit > (uint64_t)kernel->initrd_max + 1)
        limit = (uint64_t)kernel->initrd_max + 1;
    if (bytes > limit || limit - bytes < kernel->end)
        return "the kernel cannot reach an initrd as large as this";

    uint32_t at = (uint32_t)(limit - bytes) & ~(PAGE - 1);
    if (at < kernel->end)
        return "the kernel cannot reach an initrd as large as this";
    memcpy(pc->ports.ram + at, image->initrd, bytes);
    put(zero_page + H_RAMDISK, 4, at);
    put(zero_page + H_RAMDISK_SIZE, 4, bytes);
    return NULL;
}

/* ---- The rest of the zero page ------------------------------------------------------------ */

static void put_e820(uint8_t *zero_page, uint64_t start, uint64_t end, uint32_t type)
{
    uint8_t *entry = zero_page + ZP_E820_TABLE + zero_page[ZP_E820_ENTRIES]++ * 20;

    put(entry, 8, start);
    put(entry + 8, 8, end - start);
    put(entry + 16, 4, type);
}

static void put_memory_map(uint8_t *zero_page, uint32_t ram_bytes)
{
    enum { USABLE = 1, RESERVED = 2 };

    put_e820(zero_page, 0, AT_EBDA, USABLE);
    put_e820(zero_page, AT_EBDA, 0xa0000, RESERVED);
    put_e820(zero_page, 0xf0000, ONE_MB, RESERVED);
    put_e820(zero_page, ONE_MB, ram_bytes, USABLE);
}

/* struct screen_info: text mode 3, 80 × 25, a colour VGA with 16-line characters. */
static void put_screen(uint8_t *zero_page)
{
    uint8_t *screen = zero_page + ZP_SCREEN_INFO;

    screen[6] = 3;   /* orig_video_mode */
    screen[7] = 80;  /* orig_video_cols */
    screen[14] = 25; /* orig_video_lines */
    screen[15] = 1;  /* orig_video_isVGA */
    screen[16] = 16; /* orig_video_points */
}

static const char *put_command_line(struct pc *pc, const char *line, uint8_t *zero_page)
{
    size_t length = line ? strlen(line) : 0;

    if (length >= COMMAND_LINE)
        return "the kernel's command line is longer than 2047 bytes";
    memset(pc->ports.ram + AT_COMMAND_LINE, 0, COMMAND_LINE);
    if (length)
        memcpy(pc->ports.ram + AT_COMMAND_LINE, line, length);
    put(zero_page + H_CMD_LINE, 4, AT_COMMAND_LINE);
    return NULL;
}

/* The words of the BIOS data area that kernels still look at. */
static void put_bios_data(uint8_t *ram)
{
    memset(ram + AT_BDA, 0, 0x100);
    put(ram + AT_BDA + 0x00, 2, 0x3f8); /* COM1, COM2 */
    put(ram + AT_BDA + 0x02, 2, 0x2f8);
    put(ram + AT_BDA + 0x0e, 2, AT_EBDA >> 4); /* the reserved KB, as a segment */
    put(ram + AT_BDA + 0x10, 2, 0x0426);       /* two serial ports, pointing device, coprocessor */
    put(ram + AT_BDA + 0x13, 2, AT_EBDA >> 10);
    put(ram + AT_BDA + 0x49, 1, 3); /* video mode, columns, rows - 1, CRTC port */
    put(ram + AT_BDA + 0x4a, 2, 80);
    put(ram + AT_BDA + 0x63, 2, 0x3d4);
    put(ram + AT_BDA + 0x84, 1, 24);
}

/* ---- PCI ---------------------------------------------------------------------------------- */

/* What a BIOS would have done: addresses and interrupts given out, and those that PCI uses set to
 * level in ELCR, as its pins are shared (82371AB datasheet, 4.1.4). */
static void set_up_pci(struct pc *pc)
{
    pci_assign(&pc->pci);
    for (unsigned i = 0; i < PCI_LINES; i++) {
        uint16_t port = pci_irq[i] < 8 ? 0x4d0 : 0x4d1;

        bus_out(&pc->bus, port, 1, bus_in(&pc->bus, port, 1) | 1u << pci_irq[i] % 8);
    }
}

/* ---- Entry -------------------------------------------------------------------------------- */

/* Flat segments at 10h (code) and 18h (data): base 0, limit 4 GB, present, ring 0. */
static void enter(struct pc *pc, uint32_t entry)
{
    static const uint64_t gdt[4] = {0, 0, 0x00cf9a000000ffff, 0x00cf92000000ffff};

    for (unsigned i = 0; i < 4; i++)
        put(pc->ports.ram + AT_GDT + 8 * i, 8, gdt[i]);
    cpu_memory_written(pc->cpu, 0, pc->ports.ram_bytes);
    cpu_enter_flat32(pc->cpu, entry, AT_GDT, sizeof gdt - 1);
    cpu_set_reg(pc->cpu, CPU_ESI, AT_ZERO_PAGE);
    cpu_set_reg(pc->cpu, CPU_EBP, 0);
    cpu_set_reg(pc->cpu, CPU_EDI, 0);
    cpu_set_reg(pc->cpu, CPU_EBX, 0);
}

const char *pc_boot(struct pc *pc, const struct pc_image *image)
{
    uint8_t *zero_page = pc->ports.ram + AT_ZERO_PAGE;
    const uint8_t *file = image->kernel;
    struct loaded kernel = {0};
    const char *wrong;

    pc->ram_used = true;
    memset(zero_page, 0, PAGE);
    if (image->kernel_bytes >= 4 && memcmp(file, "\177ELF", 4) == 0) {
        wrong = load_elf(pc, image, &kernel);
        make_header(zero_page);
    } else if (is_bzimage(file, image->kernel_bytes)) {
        wrong = load_bzimage(pc, image, &kernel);
        copy_header(zero_page, file);
    } else {
        wrong = "the kernel is neither a bzImage nor an ELF";
    }
    if (!wrong)
        wrong = load_initrd(pc, image, &kernel, zero_page);
    if (!wrong)
        wrong = put_command_line(pc, image->command_line, zero_page);
    if (wrong)
        return wrong;

    put(zero_page + H_LOADER, 1, LOADER_UNDEFINED);
    put_screen(zero_page);
    put_memory_map(zero_page, pc->ports.ram_bytes);
    put_bios_data(pc->ports.ram);
    set_up_pci(pc);
    enter(pc, kernel.entry);
    return NULL;
}
