/*
 * gates.c: transfers between segments and rings: far jumps, calls and returns, call gates with
 * their parameters, interrupt gates, IRET (SDM 3A 5.8, 6.12).
 */
#include "rom.h"

CODE(gate_target,
     "mov eax, [esp]\n\tmov ecx, [esp + 4]\n\tmov edx, [esp + 8]\n\tmov ebx, [esp + 12]");
CODE(gate_target16, "movzx eax, word ptr [esp]\n\tmovzx ecx, word ptr [esp + 2]\n\t"
                    "movzx edx, word ptr [esp + 4]\n\tmovzx ebx, word ptr [esp + 6]");
CODE(gate_returns, "mov ebp, cs\n\tretf 8");
CODE(returns_flags, "iretd");
CODE(far_here, "mov eax, cs\n\tmov ecx, [esp]\n\tmov edx, [esp + 4]\n\tsub ecx, ecx");

static void direct(void)
{
    CASE(RING0, "jmp far, null", ".byte 0xea\n\t.long 0\n\t.word 0");
    CASE(RING0, "jmp far, data", ".byte 0xea\n\t.long 0\n\t.word 0x18");
    CASE(RING0, "jmp far, beyond", ".byte 0xea\n\t.long 0\n\t.word 0x100");
    CASE(RING0, "jmp far, ring 3 code from ring 0", ".byte 0xea\n\t.long 0\n\t.word 0x23");
    CASE(RING3, "jmp far, ring 0 code from ring 3", ".byte 0xea\n\t.long 0\n\t.word 0x10");
    set_descriptor(FREE, 0, FLAT, A_CODE_CONFORMING, F_32 | F_4K);
    CASE(RING3, "jmp far, conforming code", ".byte 0xea\n\t.long far_here\n\t.word 0x50");
    set_descriptor(FREE, 0, FLAT, A_CODE & ~A_PRESENT, F_32 | F_4K);
    CASE(RING0, "jmp far, not present", ".byte 0xea\n\t.long far_here\n\t.word 0x50");
    set_descriptor(FREE, 0, 0xff, A_CODE, F_32);
    CASE(RING0, "jmp far, over the limit", ".byte 0xea\n\t.long far_here\n\t.word 0x50");
    set_descriptor(FREE, 0, 0xff, A_CODE, F_32);
    CASE(RING0, "call far, over the limit", ".byte 0x9a\n\t.long far_here\n\t.word 0x50");
    CASE(RING0, "call far and back", ".byte 0x9a\n\t.long gate_returns\n\t.word 0x10\n\tnop");
    set_gate(FREE, CODE0, (uint32_t)far_here, A_INT, 0);
    CASE(RING0, "jmp far, an interrupt gate", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    CASE(RING0, "jmp far, an ldt", ".byte 0xea\n\t.long 0\n\t.word 0x48");
}

static void call_gates(void)
{
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL, 0);
    CASE(RING0, "call gate, same level", ".byte 0x9a\n\t.long 0xdead\n\t.word 0x50");
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL | A_DPL3, 2);
    CASE(RING3, "call gate to ring 0, two parameters",
         "push 0x22222222\n\tpush 0x11111111\n\t.byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, CODE0, (uint32_t)gate_returns, A_CALL | A_DPL3, 2);
    CASE(
        RING3, "call gate and ret 8",
        "push 0x22222222\n\tpush 0x11111111\n\t.byte 0x9a\n\t.long 0\n\t.word 0x53\n\tmov eax, cs");
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL | A_DPL3, 31);
    CASE(RING3, "call gate with 31 parameters",
         "mov ecx, 31\npushes:\tpush ecx\n\tloop pushes\n\t.byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_descriptor(FREE + 8, (uint32_t)gate_target16 & ~0xfffu, 0xffff, A_CODE, F_32);
    set_gate(FREE, FREE + 8, (uint32_t)gate_target16 & 0xfff, A_CALL16 | A_DPL3, 1);
    CASE(RING3, "call gate of 16 bits, a parameter",
         "push 0x11112222\n\t.byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL, 0);
    CASE(RING3, "call gate, dpl 0 from ring 3", ".byte 0x9a\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL | A_DPL1, 0);
    CASE(RING0, "call gate, rpl above its dpl", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, CODE0, (uint32_t)gate_target, (A_CALL | A_DPL3) & ~A_PRESENT, 0);
    CASE(RING3, "call gate, not present", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, 0, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "call gate to null", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, DATA0, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "call gate to data", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, 0x100, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "call gate to beyond the table", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, CODE3, (uint32_t)gate_target, A_CALL, 0);
    CASE(RING0, "call gate to less privilege", ".byte 0x9a\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, CODE0, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "jmp through a gate to ring 0", ".byte 0xea\n\t.long 0\n\t.word 0x53");
    set_gate(FREE, CODE0, (uint32_t)far_here, A_CALL, 0);
    CASE(RING0, "jmp through a gate, same level", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_descriptor(FREE + 8, 0, FLAT, A_CODE_CONFORMING, F_32 | F_4K);
    set_gate(FREE, FREE + 8, (uint32_t)far_here, A_CALL | A_DPL3, 0);
    CASE(RING3, "jmp through a gate to conforming code", ".byte 0xea\n\t.long 0\n\t.word 0x53");
    set_descriptor(FREE + 8, 0, FLAT, A_CODE & ~A_PRESENT, F_32 | F_4K);
    set_gate(FREE, FREE + 8, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "call gate to code not present", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    set_descriptor(FREE + 8, 0, 0xfff, A_CODE, F_32);
    set_gate(FREE, FREE + 8, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
    CASE(RING3, "call gate over the limit of the code", ".byte 0x9a\n\t.long 0\n\t.word 0x53");
}

/* A stack of ring 1 that is wrong in its own way each time: the fault is #TS or #SS (5.8.5). */
static void inner_stacks(void)
{
    static const struct {
        const char *name;
        uint32_t ss;
        unsigned access, limit;
    } stacks[] = {
        {"stack of ring 1: good", FREE + 16 + 1, A_DATA | A_DPL1, FLAT},
        {"stack of ring 1: null", 0, A_DATA | A_DPL1, FLAT},
        {"stack of ring 1: wrong rpl", FREE + 16, A_DATA | A_DPL1, FLAT},
        {"stack of ring 1: wrong dpl", FREE + 16 + 1, A_DATA, FLAT},
        {"stack of ring 1: read-only", FREE + 16 + 1, A_DATA_RO | A_DPL1, FLAT},
        {"stack of ring 1: not present", FREE + 16 + 1, (A_DATA | A_DPL1) & ~A_PRESENT, FLAT},
        {"stack of ring 1: beyond the table", 0x201, A_DATA | A_DPL1, FLAT},
        {"stack of ring 1: too small", FREE + 16 + 1, A_DATA | A_DPL1, 15},
    };
    for (unsigned i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        set_descriptor(FREE + 8, 0, FLAT, A_CODE | A_DPL1, F_32 | F_4K);
        set_descriptor(FREE + 16, 0, stacks[i].limit, stacks[i].access,
                       stacks[i].limit == FLAT ? F_32 | F_4K : F_32);
        set_gate(FREE, FREE + 8 + 1, (uint32_t)gate_target, A_CALL | A_DPL3, 0);
        tss_main.esp1 = (uint32_t)test_stack + 2000;
        tss_main.ss1 = stacks[i].ss;
        CASE(RING3, stacks[i].name, ".byte 0x9a\n\t.long 0\n\t.word 0x53");
    }
}

static void interrupts(void)
{
    CASE(RING3, "int, dpl 0 from ring 3", "int 0x40");
    CASE(RING0, "int, dpl 0 from ring 0", "int 0x40");
    set_interrupt(0x90, CODE0, (uint32_t)gate_target, (A_INT | A_DPL3) & ~A_PRESENT);
    CASE(RING3, "int, not present", "int 0x90");
    set_interrupt(0x90, 0, (uint32_t)gate_target, A_INT | A_DPL3);
    CASE(RING3, "int to null", "int 0x90");
    set_interrupt(0x90, DATA0, (uint32_t)gate_target, A_INT | A_DPL3);
    CASE(RING3, "int to data", "int 0x90");
    set_interrupt(0x90, CODE3, (uint32_t)gate_target, A_INT | A_DPL3);
    CASE(RING0, "int to less privilege", "int 0x90");
    set_interrupt(0x90, CODE0, (uint32_t)gate_target, A_CALL | A_DPL3);
    CASE(RING3, "int through a call gate", "int 0x90");
    set_interrupt(0x90, CODE0, (uint32_t)gate_target, A_TRAP | A_DPL3);
    with.eflags = IF | 2;
    CASE(RING3, "int through a trap gate", "int 0x90");
    set_interrupt(0x90, CODE0, (uint32_t)gate_target, A_TRAP);
    CASE(RING0, "int through a trap gate, same level", "int 0x90");
    set_descriptor(FREE, (uint32_t)gate_target16 & ~0xfffu, 0xffff, A_CODE, F_32);
    set_interrupt(0x90, FREE, (uint32_t)gate_target16 & 0xfff, A_INT16 | A_DPL3);
    CASE(RING3, "int through a gate of 16 bits", "int 0x90");
    CASE(RING3, "int3", "int3");
    CASE(RING0, "into without overflow", "into");
    CASE(RING3, "into with overflow", "mov al, 0x7f\n\tadd al, 1\n\tinto");
    CASE(RING3, "icebp from ring 3", ".byte 0xf1");
}

static void returns(void)
{
    CASE(RING0, "iret to null", "pushfd\n\tpush 0\n\tpush 0\n\tiretd");
    CASE(RING0, "iret to data", "pushfd\n\tpush 0x18\n\tpush 0\n\tiretd");
    CASE(RING3, "iret to more privilege", "pushfd\n\tpush 0x10\n\tpush 0\n\tiretd");
    CASE(RING0, "iret to ring 3, null ss",
         "push 0\n\tpush 0\n\tpushfd\n\tpush 0x23\n\tpush offset far_here\n\tiretd");
    CASE(RING0, "iret to ring 3, ss of ring 0",
         "push 0x18\n\tpush 0\n\tpushfd\n\tpush 0x23\n\tpush offset far_here\n\tiretd");
    CASE(RING0, "iret to ring 3 drops ds",
         "mov eax, 0x2b\n\tmov es, ax\n\tpush 0x2b\n\tpush offset user_stack + 4000\n\tpushfd\n\t"
         "push 0x23\n\tpush offset 1f\n\tiretd\n1:\tmov ecx, ds\n\tmov edx, es");
    CASE(RING3, "iret in ring 3 keeps iopl and if",
         "push 0x3202\n\tpush 0x23\n\tpush offset 1f\n\tiretd\n1:");
    CASE(RING0, "iret in ring 0 sets iopl and if",
         "push 0x3202\n\tpush 0x10\n\tpush offset 1f\n\tiretd\n1:");
    CASE(RING0, "iret of 16 bits", "push 0x32020010\n\tdata16 push 0\n\tiretw");
    CASE(RING0, "retf to ring 3, stack not present",
         "push 0x53\n\tpush 0\n\tpush 0x23\n\tpush offset far_here\n\tretf");
    set_descriptor(FREE, 0, 0xfff, A_CODE, F_32);
    CASE(RING0, "retf over the limit", "push 0x50\n\tpush offset far_here\n\tretf");
    CASE(RING3, "popf in ring 3 keeps iopl and if", "push 0x3202\n\tpopfd");
    with.eflags = 0x3002;
    CASE(RING3, "popf with iopl 3 sets if", "push 0x0202\n\tpopfd");
    CASE(RING0, "popf in ring 0", "push 0x7202\n\tpopfd");
}

void gate_cases(void)
{
    direct();
    call_gates();
    inner_stacks();
    interrupts();
    returns();
}
