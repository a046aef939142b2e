/*
 * PCs as guests of the library, with a kernel of a hundred bytes: it prints "hi", echoes what is typed,
 * and does what some letters say: power off, reset, triple fault, print for ever, answer a byte of
 * its second port with the next one. What is tested is
 * everything around it: the console in both directions, the heartbeat, each way to end, nothing left.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define LOAD_AT 0x100000u

/* Flat 32-bit code at LOAD_AT; offsets in the comments. */
static const uint8_t code[] = {
    0xba, 0xf8, 0x03, 0x00, 0x00, /* 00 mov edx, 3f8h */
    0xb0, 'h',  0xee,             /* 05 out 'h' */
    0xb0, 'i',  0xee,             /* 08 out 'i' */
    0xba, 0xfd, 0x03, 0x00, 0x00, /* 0b poll: mov edx, 3fdh */
    0xec,                         /* 10 in al, dx */
    0xa8, 0x01,                   /* 11 test al, 1 */
    0x74, 0xf6,                   /* 13 jz poll */
    0xba, 0xf8, 0x03, 0x00, 0x00, /* 15 mov edx, 3f8h */
    0xec,                         /* 1a in al, dx */
    0x3c, 'q',  0x74, 0x13,       /* 1b cmp al,'q'; je off (32) */
    0x3c, 'p',  0x74, 0x11,       /* 1f cmp al,'p'; je print (34) */
    0x3c, 'r',  0x74, 0x12,       /* 23 cmp al,'r'; je reset (39) */
    0x3c, 't',  0x74, 0x18,       /* 27 cmp al,'t'; je triple (43) */
    0x3c, '=',  0x74, 0x1d,       /* 2b cmp al,'='; je channel (4c) */
    0xee,                         /* 2f out dx, al */
    0xeb, 0xd9,                   /* 30 jmp poll */
    0xfa, 0xf4,                   /* 32 off: cli; hlt */
    0xb0, '.',  0xee, 0xeb, 0xfb, /* 34 print: mov al,'.'; out; jmp print */
    0xba, 0xf9, 0x0c, 0x00, 0x00, /* 39 reset: mov edx, cf9h */
    0xb0, 0x06, 0xee,             /* 3e out 6 */
    0xeb, 0xfe,                   /* 41 jmp $ */
    0x31, 0xc0, 0x50, 0x50,       /* 43 triple: xor eax,eax; push eax; push eax */
    0x0f, 0x01, 0x1c, 0x24,       /* 47 lidt [esp] */
    0xcc,                         /* 4b int3 */
    0xba, 0xfd, 0x02, 0x00, 0x00, /* 4c channel: mov edx, 2fdh */
    0xec,                         /* 51 wait: in al, dx */
    0xa8, 0x01, 0x74, 0xfb,       /* 52 test al, 1; jz wait */
    0xba, 0xf8, 0x02, 0x00, 0x00, /* 56 mov edx, 2f8h */
    0xec, 0xfe, 0xc0, 0xee,       /* 5b in al, dx; inc al; out dx, al */
    0xeb, 0xaa,                   /* 5f jmp poll */
};

static int kernel_file(void)
{
    struct {
        Elf32_Ehdr header;
        Elf32_Phdr segment;
        uint8_t code[sizeof(code)];
    } elf = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_EXEC, .e_machine = EM_386, .e_version = EV_CURRENT,
                   .e_entry = LOAD_AT, .e_phoff = sizeof(Elf32_Ehdr),
                   .e_ehsize = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 1},
        .segment = {.p_type = PT_LOAD, .p_offset = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
                    .p_vaddr = LOAD_AT, .p_paddr = LOAD_AT, .p_filesz = sizeof(code),
                    .p_memsz = 4096, .p_flags = PF_R | PF_X | PF_W, .p_align = 1},
    };
    memcpy(elf.code, code, sizeof(code));
    int fd = memfd_create("kernel", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
    return fd;
}

struct seen {
    char console[256]; /* the beginning of it */
    size_t bytes;
    unsigned ends, logs;
    enum halter_pc_reason reason;
    enum halter_death_reason death;
    char detail[256], report[4096];
    bool destroy_at_end;
    char channel[64];
    size_t channel_bytes;
    unsigned answers, restarts;
    uint64_t lost_ms;
    char wrong[256], answer[16384];
};

static struct fixture f;
static struct seen seen;
static int kernel;

static void on_console(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct seen *s = data;
    (void)pc;
    assert_true(count > 0);
    for (size_t i = 0; i < count && s->bytes + i < sizeof(s->console) - 1; i++)
        s->console[s->bytes + i] = ((const char *)bytes)[i];
    s->bytes += count;
}

static void on_log(struct halter_pc *pc, enum halter_level level, const char *text, void *data)
{
    (void)pc;
    (void)level;
    assert_non_null(text);
    ((struct seen *)data)->logs++;
}

static void on_end(struct halter_pc *pc, const struct halter_pc_end *end, void *data)
{
    struct seen *s = data;
    s->ends++;
    s->reason = end->reason;
    s->death = end->death ? end->death->reason : HALTER_DEATH_NONE;
    snprintf(s->detail, sizeof(s->detail), "%s", end->detail);
    snprintf(s->report, sizeof(s->report), "%s", end->report_json);
    if (s->destroy_at_end)
        halter_pc_destroy(pc);
}

static void on_channel(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct seen *s = data;
    (void)pc;
    assert_true(s->channel_bytes + count < sizeof(s->channel));
    memcpy(s->channel + s->channel_bytes, bytes, count);
    s->channel_bytes += count;
}

static void on_answer(struct halter_pc *pc, const char *wrong, const char *json, void *data)
{
    struct seen *s = data;
    (void)pc;
    s->answers++;
    snprintf(s->wrong, sizeof(s->wrong), "%s", wrong ? wrong : "");
    snprintf(s->answer, sizeof(s->answer), "%s", json);
}

static struct halter_pc *start(const struct halter_pc_options *base)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    struct halter_pc *pc = NULL;
    if (base)
        o = *base;
    o.kernel_fd = kernel;
    o.ram_mb = o.ram_mb ? o.ram_mb : 8;
    o.on_console = on_console;
    o.on_log = on_log;
    o.on_end = on_end;
    o.data = &seen;
    assert_int_equal(halter_pc_create(f.host, &o, &pc), HALTER_OK);
    return pc;
}

static int open_all(void **state)
{
    (void)state;
    kernel = kernel_file();
    memset(&seen, 0, sizeof(seen));
    fixture_open(&f, REAL_LAUNCHER, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    close(kernel);
    return 0;
}

static void until_console(const char *text)
{
    uint64_t until = now_ns() + 60000000000ull;
    while (!strstr(seen.console, text)) {
        if (now_ns() > until || seen.ends)
            fail_msg("the console says '%s', the end is %d '%s'", seen.console, seen.reason,
                     seen.detail);
        dispatch(&f, 100);
    }
}

static void until_end(void)
{
    uint64_t until = now_ns() + 60000000000ull;
    while (!seen.ends) {
        if (now_ns() > until)
            fail_msg("no end within a minute");
        dispatch(&f, 100);
    }
}

static void type(struct halter_pc *pc, const char *keys)
{
    size_t left = strlen(keys);
    while (left) {
        long n = halter_pc_send(pc, keys, left);
        assert_true(n >= 0);
        keys += n;
        left -= (size_t)n;
        if (left)
            dispatch(&f, 100);
    }
}

static void ends_with(const char *keys, const struct halter_pc_options *base,
                      enum halter_pc_reason reason)
{
    struct halter_pc *pc = start(base);
    until_console("hi");
    type(pc, keys);
    until_end();
    assert_int_equal(seen.reason, reason);
    assert_int_equal(halter_pc_send(pc, "x", 1), HALTER_ECLOSED);
    assert_int_equal(halter_pc_pid(pc), 0);
    halter_pc_destroy(pc);
    run_for(&f, 50);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

static void it_echoes_and_powers_off(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    type(pc, "abcdefg");
    until_console("hiabcdefg");
    type(pc, "q");
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    assert_non_null(strstr(seen.report, "\"insns\":"));
    halter_pc_destroy(pc);
}

static void a_reset_ends_it_when_asked(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.no_reboot = true;
    ends_with("r", &o, HALTER_PC_RESET);
}

static void a_reset_boots_it_again(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    type(pc, "r");
    until_console("hihi");
    type(pc, "q");
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    assert_non_null(strstr(seen.report, "\"boots\":2"));
    halter_pc_destroy(pc);
}

static void a_triple_fault_says_where(void **state)
{
    (void)state;
    ends_with("t", NULL, HALTER_PC_TRIPLE_FAULT);
    assert_non_null(strstr(seen.report, "10004b")); /* the int3 */
}

static void a_script_runs_it(void **state)
{
    static const struct halter_pc_step steps[] = {{"hi", "ab"}, {"ab", "c\\x64"}, {"cd", NULL}};
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.steps = steps;
    o.nsteps = 3;
    struct halter_pc *pc = start(&o);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_UNTIL);
    assert_string_equal(seen.console, "hiabcd");
    halter_pc_destroy(pc);
}

static void the_time_runs_out(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.timeout_ms = 200;
    uint64_t began = now_ns();
    struct halter_pc *pc = start(&o);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_TIMEOUT);
    assert_true(now_ns() - began >= 200000000ull);
    halter_pc_destroy(pc);
}

/* Two deterministic runs are the same machine to the last bit; another is another. */
static void hash_of_run(const char *send, char hash[64])
{
    const struct halter_pc_step steps[] = {{"hi", send}};
    struct halter_pc_options o = HALTER_PC_INIT;
    o.steps = steps;
    o.nsteps = 1;
    o.icount_ns_q16 = 5 << 16;
    o.hash = true;
    memset(&seen, 0, sizeof(seen));
    struct halter_pc *pc = start(&o);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    const char *at = strstr(seen.report, "\"hash\":\"");
    assert_non_null(at);
    snprintf(hash, 64, "%.16s", at + 8);
    halter_pc_destroy(pc);
}

static void deterministic_runs_are_the_same(void **state)
{
    char a[64], b[64], c[64];
    (void)state;
    hash_of_run("xyzq", a);
    hash_of_run("xyzq", b);
    hash_of_run("xyyq", c);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
}

/* It prints for ever: while the application holds, the guest waits, and the host's memory is flat. */
static void a_console_that_is_held(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    type(pc, "p");
    while (seen.bytes < 300000)
        dispatch(&f, 100);
    halter_pc_hold(pc, true);
    run_for(&f, 100);
    size_t held = seen.bytes;
    run_for(&f, 200);
    assert_int_equal(seen.bytes, held);
    halter_pc_hold(pc, false);
    while (seen.bytes < held + 200000)
        dispatch(&f, 100);
    assert_int_equal(seen.ends, 0);
    halter_pc_destroy(pc);
}

static void a_helper_that_stops_is_killed(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.heartbeat_ms = 200;
    struct halter_pc *pc = start(&o);
    until_console("hi");
    run_for(&f, 600); /* it lives on beats */
    assert_int_equal(seen.ends, 0);
    kill(halter_pc_pid(pc), SIGSTOP);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_DIED);
    assert_int_equal(seen.death, HALTER_DEATH_DEADLINE);
    assert_string_equal(seen.detail, "its heartbeat stopped");
    halter_pc_destroy(pc);
}

static void a_helper_that_dies_is_reported(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    kill(halter_pc_pid(pc), SIGKILL);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_DIED);
    assert_int_equal(seen.death, HALTER_DEATH_SIGNAL);
    halter_pc_destroy(pc);
}

static void what_is_no_kernel(void **state)
{
    (void)state;
    close(kernel);
    kernel = memfd_create("junk", MFD_CLOEXEC);
    assert_int_equal(write(kernel, "this is no kernel", 17), 17);
    struct halter_pc *pc = start(NULL);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_NOT_STARTED);
    assert_true(strlen(seen.detail) > 0);
    halter_pc_destroy(pc);
}

static void destroyed_by_its_own_callback(void **state)
{
    (void)state;
    seen.destroy_at_end = true;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    type(pc, "q");
    until_end();
    run_for(&f, 50);
    assert_int_equal(seen.ends, 1);
}

static void destroyed_at_any_moment(void **state)
{
    (void)state;
    for (unsigned ms = 0; ms < 40; ms += 4) {
        struct halter_pc *pc = start(NULL);
        run_for(&f, ms);
        halter_pc_destroy(pc);
    }
    halter_pc_destroy(NULL);
    struct halter_pc *left = start(NULL); /* to be ended with the host */
    assert_non_null(left);
}

static void beside_plugins(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_pc *pc = start(NULL);
    struct halter_guest *guest = guest_of(&f, "echo", "transform = (raw) => raw", NULL);
    until_console("hi");
    type(pc, "p"); /* as loud as it can be */
    for (int i = 0; i < 20 || seen.bytes < 1000; i++) {
        ask(&f, guest, "[1]", &outcome);
        assert_int_equal(outcome.status, HALTER_OK);
    }
    halter_pc_destroy(pc);
}

static void its_second_port_is_a_channel(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.on_channel = on_channel;
    struct halter_pc *pc = start(&o);
    until_console("hi");
    assert_true(halter_pc_room_port(pc, HALTER_PC_CHANNEL) > 0);
    assert_int_equal(halter_pc_send_port(pc, HALTER_PC_CHANNEL, "a0", 2), 2);
    type(pc, "==");
    while (seen.channel_bytes < 2)
        dispatch(&f, 100);
    assert_memory_equal(seen.channel, "b1", 2);
    assert_int_equal(halter_pc_send_port(pc, (enum halter_pc_port)2, "a", 1), HALTER_EINVAL);
    halter_pc_destroy(pc);
}

static void nothing_is_plugged_into_a_channel_that_is_not_asked_for(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    assert_int_equal(halter_pc_room_port(pc, HALTER_PC_CHANNEL), 0);
    assert_int_equal(halter_pc_send_port(pc, HALTER_PC_CHANNEL, "a", 1), 0);
    halter_pc_destroy(pc);
}

static void until_answer(unsigned answers)
{
    uint64_t until = now_ns() + 60000000000ull;
    while (seen.answers < answers) {
        if (now_ns() > until)
            fail_msg("no answer within a minute");
        dispatch(&f, 100);
    }
}

/* A snapshot of the running machine, and one that goes on from it without a kernel. */
static void it_is_saved_while_it_runs_and_goes_on(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    int file = memfd_create("snapshot", MFD_CLOEXEC);
    (void)state;
    struct halter_pc *pc = start(NULL);
    until_console("hi");
    type(pc, "abc");
    until_console("hiabc");
    assert_int_equal(halter_pc_save(pc, file, on_answer, &seen), HALTER_OK);
    assert_int_equal(halter_pc_save(pc, file, on_answer, &seen), HALTER_EBUSY);
    until_answer(1);
    assert_string_equal(seen.wrong, "");
    assert_true(lseek(file, 0, SEEK_END) > 1000);
    type(pc, "q");
    until_end();
    halter_pc_destroy(pc);
    int had = kernel;
    kernel = -1;
    memset(&seen, 0, sizeof(seen));
    o.resume_fd = file;
    o.no_reboot = true;
    pc = start(&o);
    type(pc, "xyz");
    until_console("xyz"); /* and no "hi": it does not start anew */
    assert_string_equal(seen.console, "xyz");
    type(pc, "q");
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    halter_pc_destroy(pc);
    kernel = had;
    close(file);
}

static void a_snapshot_that_does_not_fit_is_refused(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    const struct halter_pc_step steps[] = {{"hi", NULL}};
    int file = memfd_create("snapshot", MFD_CLOEXEC);
    (void)state;
    o.save_fd = file;
    o.steps = steps;
    o.nsteps = 1;
    struct halter_pc *pc = start(&o);
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_UNTIL);
    halter_pc_destroy(pc);
    static const struct {
        uint32_t ram_mb;
        enum halter_pc_model model;
        off_t cut;
        const char *says;
    } cases[] = {
        {16, HALTER_PC_PENTIUM_M, 0, "another amount of RAM"},
        {8, HALTER_PC_P6, 0, "another processor"},
        {8, HALTER_PC_PENTIUM_M, 5000, "is damaged"},
        {8, HALTER_PC_PENTIUM_M, 10, "not a snapshot"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        o = (struct halter_pc_options)HALTER_PC_INIT;
        memset(&seen, 0, sizeof(seen));
        if (cases[i].cut)
            assert_int_equal(ftruncate(file, cases[i].cut), 0);
        o.ram_mb = cases[i].ram_mb;
        o.model = cases[i].model;
        o.resume_fd = file;
        pc = start(&o);
        until_end();
        assert_int_equal(seen.reason, HALTER_PC_NOT_STARTED);
        if (!strstr(seen.detail, cases[i].says))
            fail_msg("case %u says '%s'", i, seen.detail);
        halter_pc_destroy(pc);
    }
    close(file);
}

static void its_state_is_told(void **state)
{
    (void)state;
    struct halter_pc *pc = start(NULL);
    assert_int_equal(halter_pc_report(pc, on_answer, &seen), HALTER_EBUSY); /* not started yet */
    until_console("hi");
    assert_int_equal(halter_pc_report(pc, on_answer, &seen), HALTER_OK);
    until_answer(1);
    assert_non_null(strstr(seen.answer, "{\"report\":["));
    assert_non_null(strstr(seen.answer, "eax"));
    assert_int_equal(halter_pc_report(pc, on_answer, &seen), HALTER_OK);
    kill(halter_pc_pid(pc), SIGKILL);
    until_end();
    assert_int_equal(seen.answers, 2); /* answered, or told that it will not be */
    assert_int_equal(halter_pc_report(pc, on_answer, &seen), HALTER_ECLOSED);
    halter_pc_destroy(pc);
}

static void on_restart(struct halter_pc *pc, const struct halter_death *death, uint64_t lost_ms,
                       void *data)
{
    struct seen *s = data;
    s->restarts++;
    s->death = death->reason;
    s->lost_ms = lost_ms;
    if (s->destroy_at_end)
        halter_pc_destroy(pc);
}

static void until_restarts(unsigned restarts)
{
    uint64_t until = now_ns() + 60000000000ull;
    while (seen.restarts < restarts) {
        if (now_ns() > until || seen.ends)
            fail_msg("%u restarts, the end is %d '%s'", seen.restarts, seen.reason, seen.detail);
        dispatch(&f, 100);
    }
}

/* The kernel says "hi" once: a PC that goes on from a snapshot does not say it again. It may die before
 * there is one: then it does, and dies again. */
static void it_goes_on_when_its_helper_dies(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    unsigned went_on = 0;
    (void)state;
    o.snapshot_every_ms = 20;
    o.restarts = 1000;
    o.on_restart = on_restart;
    struct halter_pc *pc = start(&o);
    until_console("hi");
    for (unsigned i = 1; went_on < 5; i++) {
        assert_true(i < 200);
        run_for(&f, 100);
        kill(halter_pc_pid(pc), SIGKILL);
        until_restarts(i);
        assert_int_equal(seen.death, HALTER_DEATH_SIGNAL);
        memset(seen.console, 0, sizeof(seen.console));
        seen.bytes = 0;
        while (!halter_pc_room(pc))
            dispatch(&f, 100);
        type(pc, "ab");
        until_console("ab");
        went_on += strcmp(seen.console, "ab") == 0;
    }
    assert_int_equal(seen.ends, 0);
    type(pc, "q");
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    halter_pc_destroy(pc);
}

static void it_starts_anew_while_there_is_no_snapshot(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.restarts = 2;
    o.on_restart = on_restart;
    struct halter_pc *pc = start(&o);
    for (unsigned i = 0; i < 3; i++) {
        until_console("hi");
        memset(seen.console, 0, sizeof(seen.console));
        seen.bytes = 0;
        kill(halter_pc_pid(pc), SIGKILL);
        if (i < 2)
            until_restarts(i + 1);
    }
    until_end(); /* the third time is the last */
    assert_int_equal(seen.reason, HALTER_PC_DIED);
    assert_int_equal(seen.restarts, 2);
    halter_pc_destroy(pc);
}

static void a_script_goes_on_behind_a_restart(void **state)
{
    static const struct halter_pc_step steps[] = {{"hi", "x"}, {"uvwxyz", "q"}};
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.snapshot_every_ms = 50;
    o.restarts = 1;
    o.on_restart = on_restart;
    o.steps = steps;
    o.nsteps = 2;
    struct halter_pc *pc = start(&o);
    until_console("hix");
    run_for(&f, 500);
    kill(halter_pc_pid(pc), SIGKILL);
    until_restarts(1);
    while (!halter_pc_room(pc))
        dispatch(&f, 100);
    type(pc, "uvwxyz"); /* echoed: the second step's turn, not the first one's */
    until_end();
    assert_int_equal(seen.reason, HALTER_PC_OFF);
    halter_pc_destroy(pc);
}

static void destroyed_when_it_would_go_on(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    (void)state;
    o.restarts = 1;
    o.on_restart = on_restart;
    seen.destroy_at_end = true;
    struct halter_pc *pc = start(&o);
    until_console("hi");
    kill(halter_pc_pid(pc), SIGKILL);
    until_restarts(1);
    run_for(&f, 100);
    assert_int_equal(seen.ends, 0);
}

static void bad_arguments(void **state)
{
    struct halter_pc_options o = HALTER_PC_INIT;
    struct halter_pc *pc = NULL;
    (void)state;
    assert_int_equal(halter_pc_create(f.host, &o, &pc), HALTER_EINVAL);
    o.kernel_fd = kernel;
    o.ram_mb = 5000;
    assert_int_equal(halter_pc_create(f.host, &o, &pc), HALTER_EINVAL);
    o.ram_mb = 4;
    o.kernel_fd = 999;
    assert_int_equal(halter_pc_create(f.host, &o, &pc), HALTER_ESYSTEM);
    assert_null(pc);
    assert_int_equal(halter_pc_send(NULL, "", 1), HALTER_EINVAL);
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOST(it_echoes_and_powers_off),
        WITH_HOST(a_reset_ends_it_when_asked),
        WITH_HOST(a_reset_boots_it_again),
        WITH_HOST(a_triple_fault_says_where),
        WITH_HOST(a_script_runs_it),
        WITH_HOST(the_time_runs_out),
        WITH_HOST(deterministic_runs_are_the_same),
        WITH_HOST(a_console_that_is_held),
        WITH_HOST(a_helper_that_stops_is_killed),
        WITH_HOST(a_helper_that_dies_is_reported),
        WITH_HOST(what_is_no_kernel),
        WITH_HOST(destroyed_by_its_own_callback),
        WITH_HOST(destroyed_at_any_moment),
        WITH_HOST(beside_plugins),
        WITH_HOST(its_second_port_is_a_channel),
        WITH_HOST(nothing_is_plugged_into_a_channel_that_is_not_asked_for),
        WITH_HOST(it_is_saved_while_it_runs_and_goes_on),
        WITH_HOST(a_snapshot_that_does_not_fit_is_refused),
        WITH_HOST(its_state_is_told),
        WITH_HOST(it_goes_on_when_its_helper_dies),
        WITH_HOST(it_starts_anew_while_there_is_no_snapshot),
        WITH_HOST(a_script_goes_on_behind_a_restart),
        WITH_HOST(destroyed_when_it_would_go_on),
        WITH_HOST(bad_arguments),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("PCs", tests, NULL, NULL);
}
