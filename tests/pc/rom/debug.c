/*
 * debug.c: breakpoints, single steps and what keeps them away (SDM 3B 17.2, 17.3; 3A 6.8).
 */
#include "rom.h"

enum { L0 = 1, L1 = 4, WRITES = 1 << 16, PORTS = 2 << 16, BOTH = 3 << 16, DWORD = 3 << 18 };

static void arm(uint32_t address, uint32_t dr7)
{
    __asm__ volatile("mov dr0, %0\n\tmov dr7, %1" ::"r"(address), "r"(dr7));
}

CODE(here_first, "inc eax\n\tinc eax\nhere_second:\n\tinc eax\n\tinc eax");
extern const char here_second[];

static void instructions(void)
{
    arm((uint32_t)here_second, L0);
    CASE(RING0, "an instruction breakpoint", "jmp here_first");
    arm((uint32_t)here_second, L0);
    with.eflags = 2;
    CASE(RING3, "an instruction breakpoint in ring 3", "jmp here_first");
    arm((uint32_t)here_second, 2);
    CASE(RING0, "a global one", "jmp here_first");
    arm((uint32_t)here_second, 0);
    CASE(RING0, "one that is not armed", "jmp here_first");
    arm((uint32_t)here_second, L0);
    CASE(RING0, "RF lets one through",
         "push 0x10002\n\tpush 0x10\n\tpush offset here_second\n\tiretd");
    arm((uint32_t)here_second, L0);
    CASE(RING0, "popf clears RF", "push 0x10002\n\tpopfd\n\tjmp here_second");
}

static void data(void)
{
    arm((uint32_t)test_page, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint, write", "mov dword ptr [test_page], 1\n\tnop");
    arm((uint32_t)test_page, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint on writes, read", "mov eax, [test_page]\n\tnop");
    arm((uint32_t)test_page, L0 | BOTH | DWORD);
    CASE(RING0, "a data breakpoint on both, read", "mov eax, [test_page]\n\tnop");
    arm((uint32_t)test_page, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint, last byte", "mov byte ptr [test_page + 3], 1\n\tnop");
    arm((uint32_t)test_page, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint, next byte", "mov byte ptr [test_page + 4], 1\n\tnop");
    arm((uint32_t)test_page + 4, L0 | WRITES);
    CASE(RING0, "a data breakpoint inside a write", "mov dword ptr [test_page + 2], 1\n\tnop");
    arm((uint32_t)test_page + 2, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint is aligned", "mov byte ptr [test_page], 1\n\tnop");
    arm((uint32_t)test_page, L0 | BOTH | DWORD);
    CASE(RING0, "a data breakpoint, add", "add dword ptr [test_page], 1\n\tnop");
    arm((uint32_t)test_stack + 3980, L0 | WRITES | DWORD);
    CASE(RING0, "a data breakpoint, push", "sub esp, 16\n\tpush eax\n\tnop");
    arm((uint32_t)test_page + 8, L0 | WRITES | DWORD);
    with.reg[7] = (uint32_t)test_page;
    with.reg[1] = 8;
    CASE_AND(RING0, "a data breakpoint in rep stosd", "rep stosd", also("rf", shot.eflags & RF));
    test_page[0] = 0x18;
    arm((uint32_t)test_page, L0 | BOTH | DWORD);
    CASE(RING0, "a data breakpoint, mov ss",
         "mov ss, word ptr [test_page]\n\tmov eax, 1\n\tmov ecx, 1");
    arm((uint32_t)test_page, L0 | BOTH | DWORD);
    CASE(RING0, "a data breakpoint, fault after it", "mov eax, [test_page]\n\tmov ds, ax\n\tnop");
}

static void ports(void)
{
    __asm__ volatile("mov cr4, %0" ::"r"(8)); /* DE */
    arm(0x80, L0 | PORTS);
    CASE(RING0, "a port breakpoint, out", "mov al, 0\n\tout 0x80, al\n\tnop");
    __asm__ volatile("mov cr4, %0" ::"r"(8));
    arm(0x81, L0 | PORTS);
    CASE(RING0, "a port breakpoint, another port", "mov al, 0\n\tout 0x80, al\n\tnop");
}

static void steps(void)
{
    with.eflags = TF | 2;
    CASE(RING3, "a single step", "nop\n\tnop");
    with.eflags = TF | 2;
    CASE(RING0, "a single step in ring 0", "nop\n\tnop");
    with.eflags = TF | 2;
    CASE(RING0, "a step over mov ss", "mov eax, ss\n\tnop");
    CASE(RING0, "popf sets TF: the next instruction", "push 0x102\n\tpopfd\n\tnop\n\tnop");
    with.reg[0] = 0x18;
    CASE(RING0, "TF and mov ss",
         "push 0x102\n\tpopfd\n\tmov ss, ax\n\tinc ecx\n\tinc ecx\n\tinc ecx");
    CASE(RING0, "TF and sti", "push 0x102\n\tpopfd\n\tcli\n\tinc ecx");
    with.eflags = TF | 2;
    with.reg[7] = (uint32_t)test_page;
    with.reg[1] = 3;
    CASE(RING0, "a step of rep stosd", "rep stosd");
    with.eflags = TF | 2;
    CASE(RING3, "int under TF", "int3\n\tnop");
    with.eflags = TF | 2;
    CASE(RING0, "a fault under TF", "mov eax, 0x100\n\tnop");
    with.eflags = TF | 2;
    CASE(RING0, "ud2 under TF", "ud2");
}

static void registers(void)
{
    CASE(RING3, "mov from dr in ring 3", "mov eax, dr7");
    CASE(RING0, "dr4 and dr5 are dr6 and dr7", "mov eax, dr4\n\tand eax, 0x1000\n\tmov ecx, dr5");
    __asm__ volatile("mov cr4, %0" ::"r"(8));
    CASE(RING0, "dr4 with DE", "mov eax, dr4");
    CASE(RING0, "bits of dr7",
         "mov eax, 0xffffdfff\n\txor eax, eax\n\tmov dr7, eax\n\tmov eax, dr7");
    CASE(RING0, "bits of dr6",
         "mov eax, 0xffffffff\n\tmov dr6, eax\n\tmov eax, dr6\n\tand eax, 0xf00f");
    arm(0, 1 << 13);
    CASE(RING0, "general detect", "mov eax, dr0");
}

void debug_cases(void)
{
    instructions();
    data();
    ports();
    steps();
    registers();
}
