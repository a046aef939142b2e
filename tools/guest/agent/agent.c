/* agent.c: the default guest's end of `halter boot -- COMMAND`: it says on the second serial port
 * that it is ready, is told a command, runs it with its standard streams on pipes, and carries them
 * over the line until the command ends. One command, then it is done: init powers the machine off.
 *
 * What the host sends fits the credit that was granted, so nothing is ever lost in the kernel's
 * buffers, and a command that does not read stops the host and not the line. */
#include "cli/channel.h"
#include "sys.h"

#define INPUT_BYTES 32768 /* of standard input that may wait here: the credit */
#define CHUNK       4096

static int tty = -1;

void *memcpy(void *to, const void *from, size_t count)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    while (count--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int byte, size_t count)
{
    uint8_t *t = to;

    while (count--)
        *t++ = (uint8_t)byte;
    return to;
}

void *memmove(void *to, const void *from, size_t count)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    if (t <= f)
        return memcpy(to, from, count);
    while (count--)
        t[count] = f[count];
    return to;
}

static size_t length(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    return n;
}

static _Noreturn void leave(int status)
{
    for (;;)
        sys(SYS_exit, status);
}

/* ---- the line ----------------------------------------------------------------------------------
 */

static void put(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    while (count) {
        long n = sys(SYS_write, tty, at, count);

        if (n == -EINTR)
            continue;
        if (n <= 0)
            leave(1);
        at += n;
        count -= (size_t)n;
    }
}

/* Header and body in one write, so that a line of output is one burst. */
static void say(enum channel_type type, const void *body, size_t count)
{
    static uint8_t message[CHANNEL_HEADER + CHUNK];

    message[0] = (uint8_t)type;
    message[1] = (uint8_t)count;
    message[2] = (uint8_t)(count >> 8);
    memcpy(message + CHANNEL_HEADER, body, count);
    put(message, CHANNEL_HEADER + count);
}

static void open_line(const char *path)
{
    struct termios raw;

    tty = (int)sys(SYS_open, path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (tty < 0 || sys(SYS_ioctl, tty, TCGETS, &raw) < 0)
        leave(1);
    raw.iflag = raw.oflag = raw.lflag = 0;
    raw.cflag = CS8 | CREAD | CLOCAL | B115200;
    memset(raw.cc, 0, sizeof raw.cc);
    raw.cc[VMIN] = 1;
    sys(SYS_ioctl, tty, TCSETS, &raw);
}

/* What has come and is not a whole message yet; or the message at hand. */
static uint8_t inbox[CHANNEL_HEADER + CHANNEL_BODY];
static size_t inbox_count;

static bool fill(void)
{
    long n = sys(SYS_read, tty, inbox + inbox_count, sizeof inbox - inbox_count);

    if (n <= 0)
        return n == -EINTR;
    inbox_count += (size_t)n;
    return true;
}

/* The length of the message that the inbox begins with, without its header; -1: not all here. */
static long whole(void)
{
    size_t count = inbox_count < CHANNEL_HEADER ? 0 : inbox[1] | (size_t)inbox[2] << 8;

    return inbox_count < CHANNEL_HEADER + count || inbox_count < CHANNEL_HEADER ? -1 : (long)count;
}

static void drop(size_t count)
{
    inbox_count -= CHANNEL_HEADER + count;
    memmove(inbox, inbox + CHANNEL_HEADER + count, inbox_count);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static struct {
    long pid;
    int in, out, errors; /* our ends of its streams; -1 when closed */
    int chld;
    uint8_t waiting[INPUT_BYTES]; /* for its standard input */
    size_t waiting_count, consumed;
    bool eof;
} run;

static void set_clock(const uint8_t *body)
{
    int64_t when[2] = {0, 0};

    memcpy(&when[0], body, 8);
    memcpy(&when[1], body + 8, 4);
    sys(SYS_clock_settime64, 0, when);
}

/* Two machines of one snapshot must not draw the same numbers. */
static void stir(const uint8_t *seed)
{
    struct {
        int bits, bytes;
        uint8_t seed[CHANNEL_SEED];
    } pool = {CHANNEL_SEED * 8, CHANNEL_SEED, {0}};
    int fd = (int)sys(SYS_open, "/dev/urandom", O_RDWR | O_CLOEXEC);

    memcpy(pool.seed, seed, CHANNEL_SEED);
    sys(SYS_ioctl, fd, RNDADDENTROPY, &pool);
    sys(SYS_ioctl, fd, RNDRESEEDCRNG);
    sys(SYS_close, fd);
}

static void complain(const char *word, long error)
{
    const char *why = error == -ENOENT || error == -ENOTDIR ? ": not found\n"
                      : error == -EACCES                    ? ": it may not be executed\n"
                                                            : ": it cannot be executed\n";

    sys(SYS_write, 2, word, length(word));
    sys(SYS_write, 2, why, length(why));
}

/* In the child. The word itself when it has a slash, else looked for in the PATH below. */
static _Noreturn void execute(char **words)
{
    static char *const environment[] = {"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root",
                                        "TERM=dumb", NULL};
    static const char *const folders[] = {"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"};
    long error = -ENOENT;
    bool slash = false;
    char path[1024];

    for (const char *c = words[0]; *c; c++)
        slash |= *c == '/';
    if (slash)
        error = sys(SYS_execve, words[0], words, environment);
    for (unsigned i = 0; !slash && i < 4 && error == -ENOENT; i++) {
        size_t folder = length(folders[i]), word = length(words[0]);
        if (folder + word >= sizeof path)
            break;
        memcpy(path, folders[i], folder);
        memcpy(path + folder, words[0], word + 1);
        error = sys(SYS_execve, path, words, environment);
    }
    complain(words[0], error);
    leave(error == -ENOENT || error == -ENOTDIR ? 127 : 126);
}

static void become_command(char **words, int in, int out, int errors)
{
    uint32_t none[2] = {0, 0};

    sys(SYS_setsid, 0);
    sys(SYS_dup2, in, 0);
    sys(SYS_dup2, out, 1);
    sys(SYS_dup2, errors, 2);
    sys(SYS_rt_sigprocmask, SIG_SETMASK, none, 0, 8);
    sys(SYS_chdir, "/root");
    execute(words);
}

static void start(char **words)
{
    int in[2], out[2], errors[2];
    uint32_t chld[2] = {1u << (SIGCHLD - 1), 0};

    sys(SYS_rt_sigprocmask, SIG_BLOCK, chld, 0, 8);
    run.chld = (int)sys(SYS_signalfd4, -1, chld, 8, O_CLOEXEC);
    if (sys(SYS_pipe2, in, O_CLOEXEC) < 0 || sys(SYS_pipe2, out, O_CLOEXEC) < 0 ||
        sys(SYS_pipe2, errors, O_CLOEXEC) < 0)
        leave(1);
    run.pid = sys(SYS_fork, 0);
    if (run.pid == 0)
        become_command(words, in[0], out[1], errors[1]);
    if (run.pid < 0)
        leave(1);
    sys(SYS_close, in[0]);
    sys(SYS_close, out[1]);
    sys(SYS_close, errors[1]);
    run.in = in[1];
    run.out = out[0];
    run.errors = errors[0];
    sys(SYS_fcntl, run.in, F_SETFL, O_NONBLOCK);
    sys(SYS_fcntl, run.out, F_SETFL, O_NONBLOCK);
    sys(SYS_fcntl, run.errors, F_SETFL, O_NONBLOCK);
}

/* Waits for the command, and starts it. Its words stay in place until they are executed. */
static void begin(void)
{
    static char *words[CHANNEL_BODY / 2 + 1];
    const size_t fixed = 12 + CHANNEL_SEED;
    long count;
    unsigned n = 0;

    while ((count = whole()) < 0)
        if (!fill())
            leave(1);
    uint8_t *body = inbox + CHANNEL_HEADER;
    if (inbox[0] != CHANNEL_RUN || (size_t)count <= fixed || body[count - 1] != 0)
        leave(1);
    set_clock(body);
    stir(body + 12);
    for (size_t at = fixed; at < (size_t)count; at += length((char *)body + at) + 1)
        words[n++] = (char *)body + at;
    words[n] = NULL;
    start(words);
    drop((size_t)count);
}

/* ---- its streams --------------------------------------------------------------------------------
 */

static void grant(uint32_t bytes)
{
    uint8_t body[4] = {(uint8_t)bytes, (uint8_t)(bytes >> 8), (uint8_t)(bytes >> 16),
                       (uint8_t)(bytes >> 24)};

    say(CHANNEL_CREDIT, body, sizeof body);
}

static void close_input(void)
{
    if (run.in >= 0)
        sys(SYS_close, run.in);
    run.in = -1;
}

/* Input for a command that does not take any more is consumed and forgotten. */
static void feed(void)
{
    long n = (long)run.waiting_count;

    if (run.in >= 0 && run.waiting_count)
        n = sys(SYS_write, run.in, run.waiting, run.waiting_count);
    if (n == -EAGAIN || n == -EINTR)
        return;
    if (n < 0) {
        close_input();
        n = (long)run.waiting_count;
    }
    run.waiting_count -= (size_t)n;
    memmove(run.waiting, run.waiting + n, run.waiting_count);
    run.consumed += (size_t)n;
    if (run.consumed >= INPUT_BYTES / 2) {
        grant(run.consumed);
        run.consumed = 0;
    }
    if (run.eof && !run.waiting_count)
        close_input();
}

/* The messages that are all here. */
static void take_messages(void)
{
    long count;

    while ((count = whole()) >= 0) {
        const uint8_t *body = inbox + CHANNEL_HEADER;

        if (inbox[0] == CHANNEL_INPUT && (size_t)count <= sizeof run.waiting - run.waiting_count) {
            memcpy(run.waiting + run.waiting_count, body, (size_t)count);
            run.waiting_count += (size_t)count;
        } else if (inbox[0] == CHANNEL_EOF) {
            run.eof = true;
        } else if (inbox[0] == CHANNEL_SIGNAL && count == 1) {
            sys(SYS_kill, -run.pid, body[0]);
        } else {
            leave(1);
        }
        drop((size_t)count);
    }
    feed();
}

/* False at its end. */
static bool carry(int fd, enum channel_type type)
{
    static uint8_t chunk[CHUNK];
    long n = sys(SYS_read, fd, chunk, sizeof chunk);

    if (n > 0)
        say(type, chunk, (size_t)n);
    return n > 0 || n == -EAGAIN || n == -EINTR;
}

static void carry_or_close(int *fd, enum channel_type type)
{
    if (carry(*fd, type))
        return;
    sys(SYS_close, *fd);
    *fd = -1;
}

/* What the command left in its pipes, and how it ended. Something that it left running may still
 * hold them open: nobody waits for that. */
static void finish(int status)
{
    static uint8_t chunk[CHUNK];
    uint8_t how[2] = {(uint8_t)(status >> 8), status & 0x7f};
    long n;

    while (run.out >= 0 && (n = sys(SYS_read, run.out, chunk, sizeof chunk)) > 0)
        say(CHANNEL_OUTPUT, chunk, (size_t)n);
    while (run.errors >= 0 && (n = sys(SYS_read, run.errors, chunk, sizeof chunk)) > 0)
        say(CHANNEL_ERRORS, chunk, (size_t)n);
    sys(SYS_sync, 0);
    say(CHANNEL_EXIT, how, sizeof how);
}

/* Collects what has died; true when the command has. */
static bool ended(int *status)
{
    uint8_t info[128];
    long pid;

    sys(SYS_read, run.chld, info, sizeof info);
    while ((pid = sys(SYS_waitpid, -1, status, WNOHANG)) > 0)
        if (pid == run.pid)
            return true;
    return false;
}

static void serve(void)
{
    int status = 0;

    grant(INPUT_BYTES);
    take_messages();
    for (;;) {
        bool feeding = run.in >= 0 && run.waiting_count;
        struct pollfd fds[] = {{tty, POLLIN, 0},
                               {run.chld, POLLIN, 0},
                               {run.out, POLLIN, 0},
                               {run.errors, POLLIN, 0},
                               {feeding ? run.in : -1, POLLOUT, 0}};

        if (sys(SYS_poll, fds, 5, -1) < 0)
            continue;
        if (fds[2].revents)
            carry_or_close(&run.out, CHANNEL_OUTPUT);
        if (fds[3].revents)
            carry_or_close(&run.errors, CHANNEL_ERRORS);
        if (fds[4].revents)
            feed();
        if (fds[0].revents) {
            if (!fill())
                leave(1);
            take_messages();
        }
        if (fds[1].revents && ended(&status)) {
            finish(status);
            return;
        }
    }
}

__attribute__((used)) static _Noreturn void agent(const long *stack)
{
    const char *const *words = (const char *const *)(stack + 1);

    open_line(stack[0] > 1 ? words[1] : "/dev/ttyS1");
    say(CHANNEL_READY, CHANNEL_HELLO, sizeof CHANNEL_HELLO - 1);
    begin();
    serve();
    leave(0);
}

__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %esp, %eax\n"
        "    and $-16, %esp\n"
        "    sub $12, %esp\n"
        "    push %eax\n"
        "    call agent\n");
