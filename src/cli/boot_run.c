/*
 * The run of a PC: its files are opened, a host and a PC are made, and one poll() waits for the
 * host, the keys, the output and signals. The console goes out as far as the output takes it; while
 * it takes nothing, the guest waits as on a serial line.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/boot.h"
#include "cli/say.h"

#define OUTPUT_HIGH (256u << 10)

static void leave(struct boot *boot)
{
    boot->over = true;
    boot->status = BOOT_LEFT;
}

/* ---- what the host tells -----------------------------------------------------------------------
 */

static void on_console(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct boot *boot = data;

    output_bytes(&boot->output, bytes, count);
    output_flush(&boot->output);
    if (output_pending(&boot->output) > OUTPUT_HIGH)
        halter_pc_hold(pc, true);
}

static void on_log(struct halter_pc *pc, enum halter_level level, const char *text, void *data)
{
    (void)pc, (void)level, (void)data;
    say("%s", text);
}

static void on_end(struct halter_pc *pc, const struct halter_pc_end *end, void *data)
{
    (void)pc;
    boot_ended(data, end);
}

/* What a helper wrote to its standard error comes from its own bugs, or the C library's. */
static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    (void)host, (void)data;
    if (event->type == HALTER_EVENT_STDERR)
        say("%s", event->text);
}

static void on_report(struct halter_pc *pc, const char *wrong, const char *json, void *data)
{
    (void)pc, (void)data;
    if (wrong)
        say("no state: %s", wrong);
    else
        boot_print_report(json);
}

/* ---- making it ---------------------------------------------------------------------------------
 */

static bool open_file(const char *path, int flags, int *fd)
{
    if (!path)
        return true;
    *fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0666);
    if (*fd < 0)
        say("%s: %s", path, strerror(errno));
    return *fd >= 0;
}

static bool open_files(struct boot_config *config)
{
    struct halter_pc_options *pc = &config->pc;

    return open_file(config->kernel, O_RDONLY, &pc->kernel_fd) &&
           open_file(config->initrd, O_RDONLY, &pc->initrd_fd) &&
           open_file(config->resume, O_RDONLY, &pc->resume_fd) &&
           open_file(config->save, O_WRONLY | O_CREAT | O_TRUNC, &pc->save_fd);
}

static void close_files(struct boot_config *config)
{
    int fds[] = {config->pc.kernel_fd, config->pc.initrd_fd, config->pc.resume_fd,
                 config->pc.save_fd};

    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Signals become a descriptor; a reader that leaves becomes an error of write(). */
static bool take_over_signals(struct boot *boot)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    boot->signals_fd = -1;
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        boot->signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (boot->signals_fd < 0)
        say("signals cannot be taken over: %s", strerror(errno));
    return boot->signals_fd >= 0;
}

static bool make_pc(struct boot *boot)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    struct halter_pc_options *pc = &boot->config.pc;

    options.spares = 0;
    options.on_event = on_event;
    pc->on_console = on_console;
    pc->on_log = on_log;
    pc->on_end = on_end;
    pc->data = boot;
    int status = halter_create(&options, &boot->host);
    if (status == HALTER_ESYSTEM && errno == ENOENT)
        say("halter-launcher was not found beside this program or where it is installed; "
            "HALTER_LAUNCHER can name it");
    else if (status != HALTER_OK)
        say("the launcher cannot be started: %s",
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    if (status != HALTER_OK)
        return false;
    status = halter_pc_create(boot->host, pc, &boot->pc);
    if (status != HALTER_OK)
        say("the PC cannot be made: %s",
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return status == HALTER_OK;
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

static void take_keys(struct boot *boot)
{
    size_t count = sizeof boot->keys;
    enum terminal_command command = terminal_read(&boot->terminal, boot->keys, &count);

    boot->keys_start = 0;
    boot->keys_count = count;
    if (command == TERMINAL_LEAVE)
        leave(boot);
    else if (command == TERMINAL_STATE && halter_pc_report(boot->pc, on_report, boot) != HALTER_OK)
        say("no state now: the PC is starting, or is being asked already");
    else if (command == TERMINAL_HELP)
        say_plain("\nCtrl-A x leaves, c shows the machine's state, Ctrl-A is the key itself\n");
}

static void send_keys(struct boot *boot)
{
    if (!boot->keys_count || boot->over)
        return;
    long sent = halter_pc_send(boot->pc, boot->keys + boot->keys_start, boot->keys_count);
    if (sent > 0) {
        boot->keys_start += (size_t)sent;
        boot->keys_count -= (size_t)sent;
    }
}

static void write_out(struct boot *boot)
{
    output_flush(&boot->output);
    if (output_pending(&boot->output) <= OUTPUT_HIGH)
        halter_pc_hold(boot->pc, false);
}

enum { FD_HOST, FD_SIGNALS, FD_OUTPUT, FD_KEYS, FD_COUNT };

static void wait_once(struct boot *boot)
{
    bool listen = !boot->terminal.eof && !boot->keys_count;
    struct pollfd fds[FD_COUNT] = {
        [FD_HOST] = {.fd = halter_fd(boot->host), .events = POLLIN},
        [FD_SIGNALS] = {.fd = boot->signals_fd, .events = POLLIN},
        [FD_OUTPUT] = {.fd = boot->output.blocked ? boot->output.fd : -1, .events = POLLOUT},
        [FD_KEYS] = {.fd = listen ? boot->terminal.in : -1, .events = POLLIN},
    };

    if (poll(fds, FD_COUNT, -1) < 0)
        return;
    if (fds[FD_OUTPUT].revents)
        write_out(boot);
    if (fds[FD_HOST].revents)
        halter_dispatch(boot->host, 0);
    if (fds[FD_KEYS].revents && !boot->over)
        take_keys(boot);
    send_keys(boot);
    if (!boot->over && (fds[FD_SIGNALS].revents || boot->output.broken || boot->output.error))
        leave(boot);
}

/* The last words of a PC that ended by itself wait for whoever reads them, but not for a signal. */
static void drain(struct boot *boot)
{
    while (output_pending(&boot->output) && !boot->output.broken && !boot->output.error) {
        struct pollfd fds[] = {{.fd = boot->output.fd, .events = POLLOUT},
                               {.fd = boot->signals_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) > 0 && fds[1].revents)
            return;
        output_flush(&boot->output);
    }
}

int boot_run(struct boot *boot)
{
    struct boot_config *config = &boot->config;

    if (!open_files(config))
        return BOOT_NOT_STARTED;
    if (!take_over_signals(boot) || !output_open(&boot->output, NULL))
        return BOOT_HALTER;
    boot->status = BOOT_HALTER;
    if (make_pc(boot)) {
        terminal_init(&boot->terminal, STDIN_FILENO);
        while (!boot->over)
            wait_once(boot);
        halter_pc_destroy(boot->pc);
        drain(boot);
        terminal_finish(&boot->terminal);
    }
    halter_destroy(boot->host);
    close_files(config);
    output_close(&boot->output);
    close(boot->signals_fd);
    return boot->status;
}
