/*
 * tasks.c: hardware task switches (SDM 3A 7): what is saved and loaded, busy bits and nesting, the
 * ways in and out, and every way in which they are refused.
 */
#include "rom.h"

/* At the start of another task: its TR, CR0.TS and the link back. */
CODE(task_start, "str eax\n\tmov ecx, cr0\n\tand ecx, 8\n\tpushfd\n\tpop edx\n\tand edx, 0x4000");
CODE(task_back, "mov ebp, 0x77\n\tiretd\n\tmov ebp, 0x99");
CODE(task_error, "pop eax\n\tstr ecx");
CODE(task_user, "mov eax, cs\n\tstr ecx\n\tmov ecx, ds");

/* What is above SP is the processor's choice. */
CODE(task_start16, "movzx esp, sp\n\tstr eax\n\tmov ecx, cr0\n\tand ecx, 8\n\tmovzx edx, dx\n\t"
                   "movzx ebp, bp\n\tmovzx esi, si\n\tmovzx edi, di\n\tmovzx ebx, bx");

#define JUMP ".byte 0xea\n\t.long 0\n\t.word 0x38"
#define CALL ".byte 0x9a\n\t.long 0\n\t.word 0x38"

static void told(void)
{
    also("main", (uint32_t)(gdt[TSS_MAIN / 8] >> 40) & 0xff);
    also("other", (uint32_t)(gdt[TSS_OTHER / 8] >> 40) & 0xff);
    also("link", tss_other.link & 0xffff);
    also("saved", tss_main.reg[3]);
}

static void switches(void)
{
    set_task(&tss_other, task_start);
    CASE_AND(RING0, "jmp to a task", "mov ebx, 0x1234\n\t" JUMP, told());
    set_task(&tss_other, task_start);
    CASE_AND(RING0, "call to a task", "mov ebx, 0x1234\n\t" CALL, told());
    set_task(&tss_other, task_back);
    CASE_AND(RING0, "call and iret back", "mov ebx, 0x1234\n\t" CALL "\n\tstr eax", told());
    set_task(&tss_other, task_start);
    set_gate(FREE, TSS_OTHER, 0, A_TASK, 0);
    CASE_AND(RING0, "jmp through a task gate", ".byte 0xea\n\t.long 0\n\t.word 0x50", told());
    set_task(&tss_other, task_start);
    set_gate(4, TSS_OTHER, 0, A_TASK | A_DPL3, 0);
    CASE_AND(RING3, "call through a task gate of the ldt", ".byte 0x9a\n\t.long 0\n\t.word 7",
             told());
    set_task(&tss_other, task_start);
    set_interrupt(0x90, TSS_OTHER, 0, A_TASK | A_DPL3);
    CASE_AND(RING3, "int through a task gate", "int 0x90", told());
    set_task(&tss_other, task_error);
    set_interrupt(13, TSS_OTHER, 0, A_TASK);
    CASE_AND(RING0, "#GP through a task gate", "mov eax, 0x100\n\tmov ds, ax",
             also("eip", tss_main.eip & 0xff00ff00 ? 1 : 0);
             also("eflags", tss_main.eflags & (RF | NT)));
    set_task(&tss_other, task_error);
    set_interrupt(8, TSS_OTHER, 0, A_TASK);
    set_interrupt(13, 0, 0, 0);
    CASE(RING0, "a double fault through a task gate", "mov eax, 0x100\n\tmov ds, ax");
    set_task(&tss_other, task_user);
    tss_other.seg[1] = CODE3;
    for (unsigned i = 0; i < 6; i++)
        tss_other.seg[i] = i == 1 ? CODE3 : DATA3;
    CASE_AND(RING0, "jmp to a task of ring 3", JUMP, told());
    set_task(&tss_other, task_start);
    tss_other.trap = 1;
    CASE(RING0, "a task that traps", JUMP);
    set_task(&tss_other, task_start);
    tss_other.eflags = IOPL3 | NT | 2;
    CASE_AND(RING0, "jmp to a task with NT", JUMP, told());
    set_task(&tss_other, task_start);
    with.eflags = NT | 2;
    CASE_AND(RING0, "jmp keeps NT of the old", JUMP, also("old", tss_main.eflags & NT));
    set_task(&tss_other, task_start);
    tss_other.ldt = LDT;
    set_descriptor(4, 0, FLAT, A_DATA, F_32 | F_4K);
    tss_other.seg[3] = 4;
    CASE(RING0, "a task with an ldt of its own", JUMP);
}

static void small_tasks(void)
{
    set_descriptor(FREE + 8, (uint32_t)task_start16 & ~0xfffu, 0xffff, A_CODE, F_32);
    set_descriptor(FREE + 16, (uint32_t)test_stack & ~0xffffu, 0xffff, A_DATA, 0);
    tss_16 = (struct tss16){.ip = (uint32_t)task_start16 & 0xfff,
                            .flags = 2,
                            .reg = {1, 2, 3, 4, ((uint32_t)test_stack & 0xffff) + 4000, 6, 7, 8},
                            .seg = {DATA0, FREE + 8, FREE + 16, DATA0}};
    CASE_AND(RING0, "call to a task of 16 bits", ".byte 0x9a\n\t.long 0\n\t.word 0x40",
             also("link", tss_16.link));
}

/* What is refused before the switch, in the old task. */
static void refusals(void)
{
    CASE(RING3, "jmp to a task of dpl 0 from ring 3", JUMP);
    CASE(RING0, "jmp to a busy task", ".byte 0xea\n\t.long 0\n\t.word 0x30");
    set_descriptor(TSS_OTHER, (uint32_t)&tss_other, 103, A_TSS & ~A_PRESENT, 0);
    CASE(RING0, "jmp to a task not present", JUMP);
    set_descriptor(TSS_OTHER, (uint32_t)&tss_other, 102, A_TSS, 0);
    CASE(RING0, "jmp to a task that is too small", JUMP);
    set_descriptor(TSS_16, (uint32_t)&tss_16, 42, A_TSS16, 0);
    CASE(RING0, "jmp to a task of 16 bits that is too small",
         ".byte 0xea\n\t.long 0\n\t.word 0x40");
    set_gate(FREE, 0, 0, A_TASK, 0);
    CASE(RING0, "task gate to null", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, 4, 0, A_TASK, 0);
    CASE(RING0, "task gate into the ldt", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, CODE0, 0, A_TASK, 0);
    CASE(RING0, "task gate to code", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, TSS_OTHER, 0, A_TASK & ~A_PRESENT, 0);
    CASE(RING0, "task gate not present", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_gate(FREE, TSS_OTHER, 0, A_TASK, 0);
    CASE(RING3, "task gate of dpl 0 from ring 3", ".byte 0xea\n\t.long 0\n\t.word 0x50");
    set_interrupt(0x90, TSS_MAIN, 0, A_TASK | A_DPL3);
    CASE(RING3, "int to a busy task", "int 0x90");
    set_interrupt(13, TSS_MAIN, 0, A_TASK);
    set_interrupt(8, CODE0, (uint32_t)task_error, A_INT);
    CASE(RING0, "#GP to a busy task: a double fault", "mov eax, 0x100\n\tmov ds, ax");
    with.eflags = NT | 2;
    CASE(RING0, "iret with NT and no link", "iretd");
    tss_main.link = TSS_OTHER;
    with.eflags = NT | 2;
    CASE(RING0, "iret with NT to a task that is not busy", "iretd");
    tss_main.link = CODE0;
    with.eflags = NT | 2;
    CASE(RING0, "iret with NT to code", "iretd");
    tss_main.link = 0x100;
    with.eflags = NT | 2;
    CASE(RING0, "iret with NT to beyond the table", "iretd");
}

/* What is wrong with the new task's segments is told in the new task (7.3). */
static void bad_segments(void)
{
    static const struct {
        const char *name;
        unsigned segment;
        uint32_t selector;
    } bad[] = {
        {"new task: null cs", 1, 0},
        {"new task: cs beyond the table", 1, 0x100},
        {"new task: cs is data", 1, DATA0},
        {"new task: cs not present", 1, FREE},
        {"new task: cs with another rpl", 1, CODE0 + 3},
        {"new task: null ss", 2, 0},
        {"new task: ss is code", 2, CODE0},
        {"new task: ss not present", 2, FREE + 8},
        {"new task: ss of ring 3", 2, DATA3},
        {"new task: ds beyond the table", 3, 0x100},
        {"new task: ds not present", 3, FREE + 8},
        {"new task: ds is a tss", 3, TSS_MAIN},
        {"new task: null ds", 3, 0},
        {"new task: an ldt that is none", 6, CODE0},
        {"new task: an ldt beyond the table", 6, 0x100},
        {"new task: an ldt not present", 6, FREE + 16},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set_descriptor(FREE, 0, FLAT, A_CODE & ~A_PRESENT, F_32 | F_4K);
        set_descriptor(FREE + 8, 0, FLAT, A_DATA & ~A_PRESENT, F_32 | F_4K);
        set_descriptor(FREE + 16, 0, 7, A_LDT & ~A_PRESENT, 0);
        set_task(&tss_other, task_start);
        if (bad[i].segment == 6)
            tss_other.ldt = bad[i].selector;
        else
            tss_other.seg[bad[i].segment] = bad[i].selector;
        for (unsigned v = 10; v < 14; v++) /* handlers in a task of their own: the stack is bad */
            set_interrupt(v, FREE + 24, 0, A_TASK);
        static struct tss handler;
        set_task(&handler, task_error);
        set_descriptor(FREE + 24, (uint32_t)&handler, sizeof handler - 1, A_TSS, 0);
        CASE_AND(RING0, bad[i].name, JUMP, also("link", handler.link & 0xffff));
    }
}

void task_cases(void)
{
    switches();
    small_tasks();
    refusals();
    bad_segments();
}
