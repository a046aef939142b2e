/*
 * segments.c: loads of segment registers, limits and types, and the instructions that look at
 * descriptors (SDM 3A 3.4, 5.2 to 5.6; 2A LAR, LSL; 2B VERR).
 */
#include "rom.h"

static void loads(void)
{
    CASE(RING0, "mov ss, null", "xor eax, eax\n\tmov ss, ax");
    CASE(RING0, "mov ds, null", "xor eax, eax\n\tmov ds, ax");
    CASE(RING0, "mov ds, null with rpl 3", "mov eax, 3\n\tmov ds, ax");
    CASE(RING0, "use of a null ds", "xor eax, eax\n\tmov ds, ax\n\tmov eax, [0x1000]");
    CASE(RING0, "mov ds, beyond the table", "mov eax, 0x100\n\tmov ds, ax");
    CASE(RING0, "mov ds, beyond the ldt", "mov eax, 0x44\n\tmov ds, ax");
    CASE(RING0, "mov ds, a tss", "mov eax, 0x38\n\tmov ds, ax");
    set_descriptor(FREE, 0, FLAT, A_DATA & ~A_PRESENT, F_32 | F_4K);
    CASE(RING0, "mov ds, not present", "mov eax, 0x50\n\tmov ds, ax");
    set_descriptor(FREE, 0, FLAT, A_DATA & ~A_PRESENT, F_32 | F_4K);
    CASE(RING0, "mov ss, not present", "mov eax, 0x50\n\tmov ss, ax");
    set_descriptor(FREE, 0, FLAT, A_CODE_UNREADABLE, F_32 | F_4K);
    CASE(RING0, "mov ds, code that cannot be read", "mov eax, 0x50\n\tmov ds, ax");
    CASE(RING0, "mov ds, readable code", "mov eax, 0x10\n\tmov ds, ax");
    set_descriptor(FREE, 0, FLAT, A_DATA_RO, F_32 | F_4K);
    CASE(RING0, "mov ss, read-only data", "mov eax, 0x50\n\tmov ss, ax");
    CASE(RING0, "mov ss, code", "mov eax, 0x10\n\tmov ss, ax");
    CASE(RING0, "mov ss, rpl 3 in ring 0", "mov eax, 0x1b\n\tmov ss, ax");
    CASE(RING0, "mov ss, dpl 3 in ring 0", "mov eax, 0x28\n\tmov ss, ax");
    CASE(RING0, "mov ds, rpl 3 of dpl 0", "mov eax, 0x1b\n\tmov ds, ax");
    CASE(RING3, "mov ds, dpl 0 from ring 3", "mov eax, 0x18\n\tmov ds, ax");
    set_descriptor(FREE, 0, FLAT, A_CODE_CONFORMING, F_32 | F_4K);
    CASE(RING3, "mov ds, conforming code of ring 0", "mov eax, 0x50\n\tmov ds, ax");
    set_descriptor(FREE, 0, FLAT, A_DATA & ~1, F_32 | F_4K);
    CASE_AND(RING0, "a load sets accessed", "mov eax, 0x50\n\tmov es, ax",
             also("descriptor", (uint32_t)(gdt[FREE / 8] >> 32)));
    set_descriptor(4, 0x1000, 0xff, A_DATA, F_32);
    CASE(RING0, "mov es, of the ldt", "mov eax, 4\n\tmov es, ax\n\tmov ecx, es");
    CASE(RING0, "pop ds, null twice", "push 0\n\tpop ds\n\tpush 3\n\tpop es");
    CASE(RING0, "lds in ring 0", "push 0x18\n\tpush 0x12345678\n\tlds eax, [esp]\n\tmov ecx, ds");
    CASE(RING0, "lss beyond the table", "push 0x200\n\tpush 0x1000\n\tlss esp, [esp]");
}

static void limits(void)
{
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA, F_32);
    with.fs = FREE;
    CASE(RING0, "the last byte", "mov al, fs:[0xfff]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA, F_32);
    with.fs = FREE;
    CASE(RING0, "a dword over the limit", "mov eax, fs:[0xffd]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA, F_32);
    with.fs = FREE;
    CASE(RING0, "a word on the limit", "mov ax, fs:[0xffe]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA_DOWN, F_32);
    with.fs = FREE;
    CASE(RING0, "expand-down: below", "mov al, fs:[0xfff]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA_DOWN, F_32);
    with.fs = FREE;
    CASE(RING0, "expand-down: above", "mov al, fs:[0x1000]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA_DOWN, 0);
    with.fs = FREE;
    CASE(RING0, "expand-down of 16 bits: the top", "mov al, fs:[0xffff]");
    set_descriptor(FREE, (uint32_t)test_page, 0xfff, A_DATA_DOWN, 0);
    with.fs = FREE;
    CASE(RING0, "expand-down of 16 bits: over the top", "mov ax, fs:[0xffff]");
    set_descriptor(FREE, 0, FLAT, A_DATA_RO, F_32 | F_4K);
    with.fs = FREE;
    CASE(RING0, "a write to read-only data", "mov fs:[0x8000], eax");
    CASE(RING0, "a write to code", "mov cs:[0x8000], eax");
    set_descriptor(FREE, (uint32_t)test_page, 0xff, A_DATA | A_DPL3, F_32);
    with.ss = FREE + 3;
    with.esp = 0xfe;
    CASE(RING3, "a read beyond the limit of ss", "mov eax, [esp]");
    set_descriptor(FREE, (uint32_t)test_page, 0xff, A_DATA | A_DPL3, F_32);
    with.ss = FREE + 3;
    with.esp = 2;
    CASE(RING3, "a push that wraps below a small stack", "push eax");
}

static void looking(void)
{
    CASE(
        RING0, "lar, lsl of a code segment",
        "mov ecx, 0x23\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00\n\tlsl edx, ecx\n\tsetz bh");
    CASE(RING0, "lar, lsl of null",
         "xor ecx, ecx\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00\n\tlsl edx, ecx\n\tsetz bh");
    CASE(
        RING0, "lar, lsl of a tss",
        "mov ecx, 0x38\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00\n\tlsl edx, ecx\n\tsetz bh");
    set_gate(FREE, CODE0, 0x12345678, A_CALL, 3);
    CASE(
        RING0, "lar, lsl of a call gate",
        "mov ecx, 0x50\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00\n\tlsl edx, ecx\n\tsetz bh");
    set_gate(FREE, CODE0, 0x12345678, A_INT, 0);
    CASE(RING0, "lar of an interrupt gate",
         "mov ecx, 0x50\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00");
    CASE(
        RING3, "lar, lsl of what ring 3 may not see",
        "mov ecx, 0x18\n\tlar eax, ecx\n\tsetz bl\n\tand eax, 0xf0ff00\n\tlsl edx, ecx\n\tsetz bh");
    set_descriptor(FREE, 0, 0x12345, A_DATA & ~A_PRESENT, F_32);
    CASE(RING0, "lsl of bytes, not present", "mov ecx, 0x50\n\tlsl eax, ecx\n\tsetz bl");
    CASE(RING0, "lsl of pages in 16 bits", "mov ecx, 0x10\n\tlsl ax, cx\n\tsetz bl");
    CASE(RING3, "verr, verw of ring 0 data from ring 3",
         "mov ecx, 0x18\n\tverr cx\n\tsetz al\n\tverw cx\n\tsetz ah");
    CASE(RING0, "verr, verw of code", "mov ecx, 0x10\n\tverr cx\n\tsetz al\n\tverw cx\n\tsetz ah");
    set_descriptor(FREE, 0, FLAT, A_CODE_CONFORMING, F_32);
    CASE(RING3, "verr of conforming code", "mov ecx, 0x53\n\tverr cx\n\tsetz al");
    CASE(RING0, "verr of a tss", "mov ecx, 0x38\n\tverr cx\n\tsetz al");
    CASE(RING3, "arpl raises", "mov eax, 0x50\n\tmov ecx, 3\n\tarpl ax, cx\n\tsetz bl");
    CASE(RING3, "arpl leaves", "mov eax, 0x53\n\tmov ecx, 1\n\tarpl ax, cx\n\tsetz bl");
    CASE(RING3, "sldt, str, smsw in ring 3", "sldt eax\n\tstr ecx\n\tsmsw dx");
}

static void system_tables(void)
{
    CASE(RING3, "lgdt in ring 3", "lgdt [esp]");
    CASE(RING3, "lldt in ring 3", "lldt ax");
    CASE(RING3, "ltr in ring 3", "ltr ax");
    CASE(RING0, "ltr, null", "xor eax, eax\n\tltr ax");
    CASE(RING0, "ltr, busy", "mov eax, 0x30\n\tltr ax");
    CASE(RING0, "ltr, of the ldt", "mov eax, 0x3c\n\tltr ax");
    CASE(RING0, "ltr, code", "mov eax, 0x10\n\tltr ax");
    set_descriptor(FREE, 0, 103, A_TSS & ~A_PRESENT, 0);
    CASE(RING0, "ltr, not present", "mov eax, 0x50\n\tltr ax");
    CASE_AND(RING0, "ltr sets busy", "mov eax, 0x38\n\tltr ax\n\tstr ecx",
             also("descriptor", (uint32_t)(gdt[TSS_OTHER / 8] >> 32) & 0xff00));
    CASE(RING0, "lldt, null and its use", "xor eax, eax\n\tlldt ax\n\tmov eax, 4\n\tmov ds, ax");
    CASE(RING0, "lldt, a tss", "mov eax, 0x38\n\tlldt ax");
    set_descriptor(FREE, 0, 7, A_LDT & ~A_PRESENT, 0);
    CASE(RING0, "lldt, not present", "mov eax, 0x50\n\tlldt ax");
    CASE(RING0, "sgdt and lgdt of 24 bits",
         "sub esp, 8\n\tsgdt [esp]\n\tmov ecx, [esp + 2]\n\tand ecx, 0xff000000\n\t"
         "data16 lgdt [esp]\n\tsgdt [esp]\n\tmov ax, [esp]");
}

void segment_cases(void)
{
    loads();
    limits();
    looking();
    system_tables();
}
