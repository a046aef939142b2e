/*
 * paging.c: translation and its faults (SDM 3A 4): rights, write protection, accessed and dirty
 * bits, large and global pages, PAE and no-execute, reserved bits, and page faults of crossing
 * accesses.
 */
#include "rom.h"

enum { P = 1, W = 2, U = 4, A = 0x20, D = 0x40, PS = 0x80, G = 0x100 };
enum { CR4_PSE = 0x10, CR4_PAE = 0x20, CR4_PGE = 0x80 };

static uint32_t page_number(void)
{
    return (uint32_t)test_page >> 12;
}

/* The page table entry of the first test page. */
static void entry(uint32_t flags)
{
    page_table[0][page_number()] = ((uint32_t)test_page & ~0xfffu) | flags;
    __asm__ volatile("mov eax, cr3\n\tmov cr3, eax" ::: "eax", "memory");
}

static void told(void)
{
    also("pte", page_table[0][page_number()] & 0xfff);
}

static void set_wp(void)
{
    __asm__ volatile("mov eax, cr0\n\tor eax, 0x10000\n\tmov cr0, eax" ::: "eax");
}

#define ACCESS(ring, name, flags, text)                                                            \
    do {                                                                                           \
        paging_on(0);                                                                              \
        entry(flags);                                                                              \
        CASE_AND(ring, name, text, told());                                                        \
    } while (0)

#define READ  "mov eax, [test_page]"
#define WRITE "mov dword ptr [test_page], 5"

static void rights(void)
{
    ACCESS(RING0, "read sets accessed", P | W | U, READ);
    ACCESS(RING0, "write sets dirty", P | W | U, WRITE);
    ACCESS(RING0, "read of an absent page", W | U, READ);
    ACCESS(RING0, "write to an absent page", W | U, WRITE);
    ACCESS(RING3, "user read of an absent page", W | U, READ);
    ACCESS(RING3, "user read of a kernel page", P | W, READ);
    ACCESS(RING3, "user write to a read-only page", P | U, WRITE);
    ACCESS(RING0, "kernel write to a read-only page", P | U, WRITE);
    paging_on(0);
    set_wp();
    entry(P | U);
    CASE_AND(RING0, "kernel write with WP", WRITE, told());
    paging_on(0);
    set_wp();
    entry(P | U);
    CASE_AND(RING0, "kernel add with WP", "add dword ptr [test_page], 1", told());
    ACCESS(RING3, "user jump to an absent page", 0, "mov eax, offset test_page\n\tjmp eax");
    ACCESS(RING3, "user jump to a kernel page", P | W, "mov eax, offset test_page\n\tjmp eax");
    paging_on(0);
    page_directory[0] &= ~(uint32_t)W;
    CASE(RING3, "write where the directory forbids it", WRITE);
    paging_on(0);
    page_directory[1] = 0;
    CASE(RING0, "read through an absent table", "mov eax, [0x400000]");
}

static void large(void)
{
    paging_on(CR4_PSE);
    page_directory[1] = 0x400000 | P | W | U | PS;
    CASE_AND(RING0, "a large page", "mov dword ptr [0x400123], 7\n\tmov eax, [0x400123]",
             also("pde", page_directory[1]));
    paging_on(CR4_PSE);
    page_directory[1] = 0x402000 | P | W | U | PS;
    CASE(RING0, "a large page with a reserved bit", "mov eax, [0x400000]");
    paging_on(0);
    page_directory[1] = (uint32_t)page_table[1] | P | W | U | PS;
    CASE(RING0, "PS without PSE", "mov dword ptr [0x400000], 9\n\tmov eax, [0x400000]");
}

static void global(void)
{
    static const char both[] = "mov eax, [test_page]\n\t";
    (void)both;
    paging_on(CR4_PGE);
    entry(P | W | U | G);
    CASE(RING0, "a global page outlives CR3",
         "mov eax, [test_page]\n\tmov ecx, offset page_table\n\tmov edx, offset test_page\n\t"
         "shr edx, 12\n\tmov dword ptr [ecx + edx * 4], 0\n\tmov ecx, cr3\n\tmov cr3, ecx\n\t"
         "mov eax, [test_page]\n\txor ecx, ecx\n\txor edx, edx");
    paging_on(CR4_PGE);
    entry(P | W | U | G);
    CASE(RING0, "INVLPG drops a global page",
         "mov eax, [test_page]\n\tmov ecx, offset page_table\n\tmov edx, offset test_page\n\t"
         "shr edx, 12\n\tmov dword ptr [ecx + edx * 4], 0\n\tinvlpg [test_page]\n\t"
         "xor ecx, ecx\n\txor edx, edx\n\tmov eax, [test_page]");
    paging_on(CR4_PGE);
    entry(P | W | U | G);
    CASE(RING0, "CR4.PGE drops a global page",
         "mov eax, [test_page]\n\tmov ecx, offset page_table\n\tmov edx, offset test_page\n\t"
         "shr edx, 12\n\tmov dword ptr [ecx + edx * 4], 0\n\txor ecx, ecx\n\tmov cr4, ecx\n\t"
         "xor ecx, ecx\n\txor edx, edx\n\tmov eax, [test_page]");
}

/* ---- PAE ---------------------------------------------------------------------------------- */

static void pae_on(bool nx)
{
    for (unsigned i = 0; i < 4; i++)
        pae_pointers[i] = i ? 0 : (uint32_t)pae_directory | P;
    for (unsigned i = 0; i < 512; i++) {
        pae_table[i] = i << 12 | P | W | U;
        pae_directory[i] = i == 0 ? (uint32_t)pae_table | P | W | U : 0;
    }
    for (unsigned i = 1; i < 4; i++)
        pae_directory[i] = i << 21 | P | W | U | PS;
    __asm__ volatile("wrmsr" ::"c"(0xc0000080), "a"(nx ? 0x800 : 0), "d"(0));
    __asm__ volatile("mov cr4, %0\n\tmov cr3, %1\n\tmov eax, cr0\n\tor eax, 0x80000000\n\t"
                     "mov cr0, eax" ::"r"(CR4_PAE),
                     "r"(pae_pointers)
                     : "eax", "memory");
}

static void pae_entry(uint64_t flags)
{
    pae_table[page_number()] = ((uint32_t)test_page & ~0xfffu) | flags;
    __asm__ volatile("mov eax, cr3\n\tmov cr3, eax" ::: "eax", "memory");
}

#define NX 0x8000000000000000ull

static void pae(void)
{
    pae_on(true);
    pae_entry(P | W | U);
    CASE_AND(RING0, "PAE: a write", WRITE, also("pte", (uint32_t)pae_table[page_number()] & 0xfff));
    pae_on(true);
    pae_entry(P | W | U | NX);
    CASE(RING3, "PAE: read of a no-execute page", READ);
    pae_on(true);
    pae_entry(P | W | U | NX);
    CASE(RING3, "PAE: jump to a no-execute page", "mov eax, offset test_page\n\tjmp eax");
    pae_on(true);
    pae_entry(P | W | U | NX);
    CASE(RING0, "PAE: kernel jump to a no-execute page", "mov eax, offset test_page\n\tjmp eax");
    pae_on(true);
    pae_entry(0);
    CASE(RING3, "PAE: jump to an absent page with NXE", "mov eax, offset test_page\n\tjmp eax");
    pae_on(false);
    pae_entry(P | W | U | NX);
    CASE(RING0, "PAE: no-execute without NXE is reserved", READ);
    pae_on(true);
    pae_entry(P | W | U | 1ull << 61);
    CASE(RING0, "PAE: a reserved address bit", READ);
    pae_on(true);
    pae_directory[2] = 2 << 21 | P | W | U | PS | 1 << 14;
    CASE(RING0, "PAE: a large page with a reserved bit", "mov eax, [0x400000]");
    pae_on(true);
    CASE_AND(RING0, "PAE: a large page", "mov dword ptr [0x400010], 3\n\tmov eax, [0x400010]",
             also("pde", (uint32_t)pae_directory[2]));
    pae_on(true);
    CASE(RING0, "PAE: an absent pointer", "mov eax, [0x40000000]");
    pae_on(true);
    pae_pointers[1] = 0x100001;
    CASE(RING0, "PAE: pointers are read with CR3 only", "mov eax, [0x40000000]");
    pae_on(true);
    pae_pointers[1] = 3;
    CASE(RING0, "PAE: a pointer with a reserved bit", "mov ecx, cr3\n\tmov cr3, ecx");
    __asm__ volatile("wrmsr" ::"c"(0xc0000080), "a"(0), "d"(0));
}

/* ---- over two pages ----------------------------------------------------------------------- */

static void second_absent(void)
{
    paging_on(0);
    page_table[0][page_number() + 1] = 0;
    entry(P | W | U);
}

static void crossing(void)
{
    second_absent();
    CASE_AND(RING0, "a write over into an absent page changes nothing",
             "mov dword ptr [test_page + 0xffe], 0x12345678",
             also("bytes", *(uint32_t *)(void *)(test_page + 0xffc)));
    second_absent();
    with.esp = (uint32_t)test_page + 0x1002;
    CASE(RING3, "a push over into an absent page", "mov ecx, 0x5a5a5a5a\n\tpush ecx");
    second_absent();
    CASE(RING0, "an add over into an absent page", "add dword ptr [test_page + 0xffd], 1");
    second_absent();
    with.reg[7] = (uint32_t)test_page + 0xff0;
    with.reg[1] = 8;
    CASE(RING0, "rep stosd into an absent page", "mov eax, 0x01010101\n\trep stosd");
    second_absent();
    with.reg[6] = (uint32_t)test_page + 0xff8;
    with.reg[7] = (uint32_t)test_page + 0x100;
    with.reg[1] = 8;
    CASE(RING0, "rep movsd from an absent page", "rep movsd");
    second_absent();
    test_page[0xffe] = 0xb8; /* mov eax, imm32 */
    with.reg[3] = (uint32_t)test_page + 0xffe;
    CASE(RING3, "an instruction over into an absent page", "jmp ebx");
    second_absent();
    test_page[0xfff] = 0x90;
    with.reg[3] = (uint32_t)test_page + 0xfff;
    CASE(RING3, "execution runs on into an absent page", "jmp ebx");
    second_absent();
    with.esp = (uint32_t)test_page + 0x1008;
    CASE(RING3, "pusha into an absent page", "pushad");
    second_absent();
    with.esp = (uint32_t)test_page + 0xff4;
    CASE(RING3, "popa from an absent page", "popad");
    second_absent();
    with.esp = (uint32_t)test_page + 0x1004;
    with.reg[5] = (uint32_t)test_page + 0x800;
    CASE(RING3, "enter into an absent page", "enter 16, 0");
    second_absent();
    with.reg[3] = (uint32_t)test_page + 0xffc;
    CASE(RING0, "cmpxchg8b over into an absent page", "cmpxchg8b [ebx]");
    second_absent();
    with.reg[3] = (uint32_t)test_page + 0xffe;
    CASE(RING0, "a far pointer over into an absent page", "les eax, [ebx]");
    second_absent();
    CASE(RING0, "lgdt over into an absent page", "lgdt [test_page + 0xffe]");
}

void paging_cases(void)
{
    rights();
    large();
    global();
    pae();
    crossing();
}
