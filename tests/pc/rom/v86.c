/*
 * v86.c: virtual-8086 mode (SDM 3B 20.2): its addresses, what IOPL forbids, interrupts out of it
 * and the I/O map.
 */
#include "rom.h"

#define V(name, flags, text)                                                                       \
    with.eflags = (flags) | 2;                                                                     \
    CASE(V86, name, ".code16\n\t" text)

void v86_cases(void)
{
    with.ds = 0x1234;
    with.es = 0x2345;
    with.fs = 0x3456;
    with.gs = 0x4567;
    with.eflags = IOPL3 | 2;
    CASE_AND(V86, "v86: segments of an interrupt", ".code16\n\tnop", also("ds", shot.ds);
             also("es", shot.es); also("fs", shot.fs); also("gs", shot.gs));
    V("v86: cli with iopl 0", 0, "cli");
    V("v86: cli with iopl 3", IOPL3 | IF, "cli");
    V("v86: sti with iopl 3", IOPL3, "sti");
    V("v86: pushf with iopl 0", 0, "pushf");
    V("v86: pushf with iopl 3", IOPL3, "pushf\n\tpop ax\n\tand ax, 0xff00");
    V("v86: popf with iopl 0", 0, "popf");
    V("v86: popf cannot change iopl", IOPL3, "push 0x4200\n\tpopf");
    V("v86: int with iopl 0", 0, "int 0x90");
    V("v86: int with iopl 3", IOPL3, "int 0x90");
    V("v86: int of dpl 0", IOPL3, "int 0x40");
    V("v86: int3 with iopl 0", 0, "int3");
    V("v86: iret with iopl 0", 0, "iret");
    V("v86: iret with iopl 3", IOPL3, "pushf\n\tpush cs\n\t.byte 0x6a, 5\n\tiret\n\tmov cl, 1");
    V("v86: hlt", IOPL3, "hlt");
    V("v86: mov from cr0", IOPL3, "mov eax, cr0");
    V("v86: lgdt", IOPL3, "lgdt [bx]");
    V("v86: sldt", IOPL3, "sldt ax");
    V("v86: lar", IOPL3, "lar ax, bx");
    V("v86: arpl", IOPL3, "arpl ax, bx");
    V("v86: smsw", IOPL3, "smsw ax\n\tand ax, 1");
    V("v86: in with iopl 3 and a closed map", IOPL3, "in al, 0x61");
    V("v86: far jump", IOPL3, ".byte 0xea\n\t.word 5, 0x800\n\tmov cl, 1");
    V("v86: a word over the end of a segment", IOPL3, "mov bx, 0xffff\n\tmov ax, [bx]");
    V("v86: a push over the end of the stack", IOPL3, "mov sp, 1\n\tpush ax");
    V("v86: a push that wraps", IOPL3, "mov sp, 2\n\tpush ax\n\tpush ax");
    V("v86: a write through cs", IOPL3, "mov word ptr cs:[0x200], 0x1234\n\tmov ax, cs:[0x200]");
    V("v86: mov to a segment", IOPL3, "mov ax, 0x4000\n\tmov ds, ax\n\tmov cx, ds");
    V("v86: 32-bit address beyond 64 KB", IOPL3, "mov ebx, 0x10000\n\tmov al, [ebx]");
    V("v86: sysexit", IOPL3, ".byte 0x0f, 0x35");
    V("v86: lock on a move", IOPL3, ".byte 0xf0\n\tmov [bx], ax");
    set_interrupt(0x90, CODE3, 0, A_INT | A_DPL3);
    V("v86: int to ring 3", IOPL3, "int 0x90");
    set_descriptor(FREE, 0, FLAT, A_CODE_CONFORMING, F_32 | F_4K);
    set_interrupt(0x90, FREE, 0, A_INT | A_DPL3);
    V("v86: int to conforming code", IOPL3, "int 0x90");
    CASE(RING0, "iret to v86 over its limit",
         "push 0\n\tpush 0\n\tpush 0\n\tpush 0\n\tpush 0\n\tpush 0\n\tpush 0x20002\n\tpush 0\n\t"
         "push 0x10000\n\tiretd");
    CASE(RING3, "iret cannot set vm in ring 3",
         "push 0x20002\n\tpush 0x23\n\tpush offset 1f\n\tiretd\n1:");
    CASE(RING0, "popf cannot set vm", "push 0x20002\n\tpopfd");
}
