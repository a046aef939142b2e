/*
 * odd.c: invalid instructions, LOCK where it may not be, alignment checks, faults while a fault is
 * delivered, shadows, and what 16-bit stacks and addresses do at their ends.
 */
#include "rom.h"

static void undefined(void)
{
    CASE(RING0, "ud2", "ud2");
    CASE(RING0, "0f ff", ".byte 0x0f, 0xff, 0xc0");
    CASE(RING0, "mov to cs", ".byte 0x8e, 0xc8");
    CASE(RING0, "mov to segment 6", ".byte 0x8e, 0xf0");
    CASE(RING0, "mov from segment 7", ".byte 0x8c, 0xf8");
    CASE(RING0, "lea of a register", ".byte 0x8d, 0xc0");
    CASE(RING0, "les of a register", ".byte 0xc4, 0xc0");
    CASE(RING0, "bound of a register", ".byte 0x62, 0xc0");
    CASE(RING0, "pop /1", ".byte 0x8f, 0xc8");
    CASE(RING0, "mov /1", ".byte 0xc6, 0xc8, 0");
    CASE(RING0, "ff /7", ".byte 0xff, 0xf8");
    CASE(RING0, "fe /2", ".byte 0xfe, 0xd0");
    CASE(RING0, "call far of a register", ".byte 0xff, 0xd8");
    CASE(RING0, "lgdt of a register", ".byte 0x0f, 0x01, 0xd0");
    CASE(RING0, "invlpg of a register", ".byte 0x0f, 0x01, 0xfd");
    CASE(RING0, "cmpxchg8b of a register", ".byte 0x0f, 0xc7, 0xc8");
    CASE(RING0, "0f ba /3", ".byte 0x0f, 0xba, 0xd8, 1");
    CASE(RING0, "rsm", ".byte 0x0f, 0xaa");
    CASE(RING0, "15 bytes",
         ".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x90");
    CASE(RING0, "16 bytes",
         ".byte 0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x66,0x90");
}

static void locks(void)
{
    CASE(RING0, "lock nop", ".byte 0xf0, 0x90");
    CASE(RING0, "lock add, register", ".byte 0xf0, 0x01, 0xc0");
    CASE(RING0, "lock add, memory", "lock add dword ptr [test_page], 1");
    CASE(RING0, "lock add to a register", ".byte 0xf0, 0x03, 0x04, 0x24");
    CASE(RING0, "lock cmp", ".byte 0xf0, 0x39, 0x04, 0x24");
    CASE(RING0, "lock mov", ".byte 0xf0, 0x89, 0x04, 0x24");
    CASE(RING0, "lock bt", ".byte 0xf0, 0x0f, 0xa3, 0x04, 0x24");
    CASE(RING0, "lock bts", "lock bts dword ptr [test_page], 1");
    CASE(RING0, "lock xchg", "lock xchg [test_page], eax");
    CASE(RING0, "lock cmpxchg8b", "lock cmpxchg8b [test_page]");
    CASE(RING0, "lock movs", ".byte 0xf0, 0xa5");
    CASE(RING0, "lock shl", ".byte 0xf0, 0xd1, 0x24, 0x24");
    CASE(RING0, "lock imul", ".byte 0xf0, 0x0f, 0xaf, 0x04, 0x24");
}

static void alignment(void)
{
    __asm__ volatile("mov eax, cr0\n\tor eax, 0x40000\n\tmov cr0, eax" ::: "eax");
    with.eflags = AC | 2;
    CASE(RING3, "alignment check", "mov eax, [test_page + 1]");
    __asm__ volatile("mov eax, cr0\n\tor eax, 0x40000\n\tmov cr0, eax" ::: "eax");
    with.eflags = AC | 2;
    CASE(RING0, "alignment in ring 0", "mov eax, [test_page + 1]");
    with.eflags = AC | 2;
    CASE(RING3, "alignment without AM", "mov eax, [test_page + 1]");
    __asm__ volatile("mov eax, cr0\n\tor eax, 0x40000\n\tmov cr0, eax" ::: "eax");
    with.eflags = AC | 2;
    CASE(RING3, "alignment of a word", "mov ax, [test_page + 2]\n\tmov ax, [test_page + 3]");
}

static void faults_in_faults(void)
{
    set_interrupt(13, 0, 0, 0);
    CASE(RING0, "#GP without a gate", "mov eax, 0x100\n\tmov ds, ax");
    set_interrupt(6, CODE0, 0, A_INT & ~A_PRESENT);
    CASE(RING0, "#UD with an absent gate", "ud2");
    set_interrupt(0, DATA0, 0, A_INT);
    CASE(RING0, "#DE with a gate to data", "xor ecx, ecx\n\tdiv ecx");
    set_interrupt(11, CODE0, 0, A_INT & ~A_PRESENT);
    set_descriptor(FREE, 0, FLAT, A_DATA & ~A_PRESENT, F_32);
    CASE(RING0, "#NP with an absent gate", "mov eax, 0x50\n\tmov ds, ax");
    paging_on(0);
    set_interrupt(14, CODE0, 0, A_INT & ~A_PRESENT);
    CASE(RING0, "#PF with an absent gate", "mov eax, [0xc0000000]");
    paging_on(0);
    tss_main.esp0 = 0xc0001000;
    static struct tss apart;
    set_task(&apart, (void *)0);
    set_descriptor(FREE, (uint32_t)&apart, sizeof apart - 1, A_TSS, 0);
    extern const char double_fault[];
    set_task(&apart, double_fault);
    set_interrupt(8, FREE, 0, A_TASK);
    CASE(RING3, "#PF on a stack that faults", "mov eax, [0xc0000000]");
    tss_main.ss0 = 0;
    set_task(&apart, double_fault);
    set_descriptor(FREE, (uint32_t)&apart, sizeof apart - 1, A_TSS, 0);
    set_interrupt(10, FREE, 0, A_TASK);
    CASE(RING3, "#UD with a null stack of ring 0", "ud2");
}
CODE(double_fault, "pop eax\n\tstr ecx\n\tmov edx, cr2");

static void sixteen(void)
{
    /* A 16-bit stack at its end: pushes wrap, and ESP keeps its upper half. */
    set_descriptor(FREE, (uint32_t)test_page, 0xffff, A_DATA, 0);
    CASE(RING0, "a push that wraps on a 16-bit stack",
         "mov ecx, esp\n\tmov eax, 0x50\n\tmov ss, ax\n\tmov esp, 0x12340000\n\tpush ecx\n\t"
         "mov edx, esp\n\tmov eax, 0x18\n\tmov ss, ax\n\tmov esp, ecx\n\txor ecx, ecx");
    set_descriptor(FREE, (uint32_t)test_page, 0xffff, A_DATA, 0);
    CASE(RING0, "a push split by the end of a 16-bit stack",
         "mov ecx, esp\n\tmov eax, 0x50\n\tmov ss, ax\n\tmov esp, 2\n\tpush ax\n\tpush ax\n\t"
         "mov edx, esp\n\tmov eax, 0x18\n\tmov ss, ax\n\tmov esp, ecx\n\txor ecx, ecx");
    CASE(RING0, "16-bit addresses wrap",
         "mov ebx, 0xffff\n\tmov esi, 2\n\tlea eax, [ebx + esi]\n\t"
         ".byte 0x67, 0x8d, 0x00");
    CASE(RING0, "loop in 16 bits",
         "mov ecx, 0x10001\ncounts:\tinc eax\n\t.byte 0x67\n\tloop counts");
    CASE(RING0, "jcxz", "mov ecx, 0x10000\n\t.byte 0x67, 0xe3, 1\n\tinc eax\n\tinc edx");
    CASE(RING0, "push of a segment", "push -1\n\tpop eax\n\tpush ds\n\tpop eax\n\tand eax, 0xffff");
    CASE(RING0, "push esp, pop esp",
         "mov eax, esp\n\tpush esp\n\tpop ecx\n\tsub eax, ecx\n\txor ecx, ecx");
    CASE(RING0, "bcd: daa, das",
         "mov eax, 0x9a\n\tadd al, 0\n\tdaa\n\tmov cl, al\n\tsetc ch\n\tmov al, 0x1b\n\tsub al, "
         "0\n\tdas");
    CASE(RING0, "bcd: aam 0", "mov eax, 0x1234\n\taam 0");
    CASE(RING0, "bcd: aam, aad", "mov eax, 0x3f\n\taam\n\tmov ecx, eax\n\taad");
    CASE(RING0, "bcd: aaa, aas",
         "mov eax, 0x020f\n\taaa\n\tmov ecx, eax\n\tmov eax, 0x0200\n\tsub al, 1\n\taas");
    CASE(RING0, "bound",
         "push 10\n\tpush 5\n\tmov eax, 7\n\tbound eax, [esp]\n\tmov eax, 11\n\tbound eax, [esp]");
    CASE(RING0, "div overflow", "mov edx, 1\n\tmov ecx, 1\n\tdiv ecx");
    CASE(RING0, "idiv of the least by -1", "mov eax, 0x80000000\n\tcdq\n\tmov ecx, -1\n\tidiv ecx");
}

void odd_cases(void)
{
    undefined();
    locks();
    alignment();
    faults_in_faults();
    sixteen();
}
