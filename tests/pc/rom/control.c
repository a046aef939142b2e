/*
 * control.c: control registers, MSRs, SYSENTER, ports, and who may use what (SDM 3A 2.5, 5.8.7,
 * 5.9; 1 18.5).
 */
#include "rom.h"

static void registers(void)
{
    CASE(RING0, "cr0: NW without CD", "mov eax, 0x20000011\n\tmov cr0, eax");
    CASE(RING0, "cr0: what reads back", "mov eax, 0x0001001b\n\tmov cr0, eax\n\tmov ecx, cr0");
    CASE(RING0, "cr1", ".byte 0x0f, 0x20, 0xc8");
    CASE(RING0, "cr5", ".byte 0x0f, 0x22, 0xe8");
    CASE(RING0, "mov cr with a memory form", ".byte 0x0f, 0x20, 0x10\n\tmov ecx, eax");
    CASE(RING3, "mov to cr3 in ring 3", "mov cr3, eax");
    CASE(RING3, "clts in ring 3", "clts");
    CASE(RING0, "clts", "mov eax, cr0\n\tor eax, 8\n\tmov cr0, eax\n\tclts\n\tmov ecx, cr0");
    CASE(RING0, "lmsw cannot clear PE", "xor eax, eax\n\tlmsw ax\n\tmov ecx, cr0");
    CASE(RING0, "lmsw sets TS", "mov eax, 9\n\tlmsw ax\n\tmov ecx, cr0");
    CASE(RING3, "lmsw in ring 3", "lmsw ax");
    CASE(RING3, "invlpg in ring 3", "invlpg [eax]");
    CASE(RING3, "wbinvd in ring 3", "wbinvd");
    CASE(RING3, "hlt in ring 3", "hlt");
    CASE(RING3, "rdmsr in ring 3", "rdmsr");
    CASE(RING0, "rdmsr of none", "mov ecx, 0x12345678\n\trdmsr");
    CASE(RING0, "wrmsr of none", "mov ecx, 0x12345678\n\twrmsr");
    CASE(RING0, "efer: a reserved bit",
         "mov ecx, 0xc0000080\n\tmov eax, 2\n\txor edx, edx\n\twrmsr");
    CASE(RING0, "fld with TS", "mov eax, cr0\n\tor eax, 8\n\tmov cr0, eax\n\tfld1");
    CASE(RING0, "wait with TS, without MP", "mov eax, 0x19\n\tmov cr0, eax\n\tfwait");
    CASE(RING0, "wait with TS and MP", "mov eax, 0x1b\n\tmov cr0, eax\n\tfwait");
    CASE(RING0, "fld with EM", "mov eax, 0x15\n\tmov cr0, eax\n\tfld1");
    CASE(RING0, "mmx with EM", "mov eax, 0x15\n\tmov cr0, eax\n\temms");
    CASE(RING0, "sse without OSFXSR", "xorps xmm0, xmm0");
    CASE(RING0, "rdtsc with TSD",
         "mov eax, 4\n\tmov cr4, eax\n\trdtsc\n\txor eax, eax\n\txor edx, edx");
    __asm__ volatile("mov cr4, %0" ::"r"(4));
    CASE(RING3, "rdtsc with TSD in ring 3", "rdtsc");
    CASE(RING3, "rdpmc without PCE in ring 3", "rdpmc");
    CASE(RING3, "cli in ring 3", "cli");
    with.eflags = IOPL3 | IF | 2;
    CASE(RING3, "cli with iopl 3", "cli");
    CASE(RING3, "in with a closed map", "in al, 0x61");
    tss_main.bits[0x80 / 8] = 0xfe;
    CASE(RING3, "out with an open bit", "out 0x80, al");
    tss_main.bits[0x80 / 8] = 0xfe;
    CASE(RING3, "out of a dword, one bit open", "out 0x80, eax");
    tss_main.bits[0x80 / 8] = 0;
    tss_main.bits[0x88 / 8] = 0;
    CASE(RING3, "out of a dword, all bits open", "out 0x86, eax");
    CASE(RING3, "out beyond the map", "mov edx, 0x200\n\tout dx, al");
    tss_main.map = 200;
    CASE(RING3, "out with the map beyond the limit", "out 0x80, al");
}

CODE(fast_target, "mov eax, cs\n\tmov ecx, ss\n\tmov edx, esp\n\tsub edx, offset fast_stack");
CODE(fast_user, "mov eax, cs\n\tmov ebx, ss\n\tmov ebp, ds");

static void write_msr(uint32_t number, uint32_t value)
{
    __asm__ volatile("wrmsr" ::"c"(number), "a"(value), "d"(0));
}

static void fast_calls(void)
{
    write_msr(0x174, CODE0);
    write_msr(0x176, (uint32_t)fast_target);
    write_msr(0x175, (uint32_t)fast_stack + 240);
    with.eflags = IF | 2;
    CASE(RING3, "sysenter", "sysenter");
    with.reg[2] = (uint32_t)fast_user;
    with.reg[1] = (uint32_t)user_stack + 4000;
    CASE(RING0, "sysexit", "sysexit");
    CASE(RING3, "sysexit in ring 3", "sysexit");
    write_msr(0x174, 0);
    CASE(RING3, "sysenter without its MSR", "sysenter");
    CASE(RING0, "sysexit without its MSR", "sysexit");
}

void control_cases(void)
{
    registers();
    fast_calls();
}
