/*
 * The run of a PC: its files are opened, a host and a PC are made, and one poll() waits for the
 * host, the input, the outputs and signals. What the guest prints goes out as far as the output
 * takes it; while it takes nothing, the guest waits as on a serial line.
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
#include "cli/start.h"

#define OUTPUT_HIGH (256u << 10)

static void leave(struct boot *boot)
{
    boot->over = true;
    boot->status = BOOT_LEFT;
}

/* ---- what the host tells -----------------------------------------------------------------------
 */

static bool has_command(const struct boot *boot)
{
    return boot->config.words != NULL;
}

/* Holds the guest back while the outputs do not take what it prints, and lets it go on. */
static void hold_or_go_on(struct boot *boot)
{
    bool full = output_pending(&boot->output) > OUTPUT_HIGH ||
                (has_command(boot) && output_pending(&boot->command.errors) > OUTPUT_HIGH);

    halter_pc_hold_port(boot->pc, has_command(boot) ? HALTER_PC_CHANNEL : HALTER_PC_CONSOLE, full);
}

static void flush(struct boot *boot)
{
    output_flush(&boot->output);
    if (has_command(boot))
        output_flush(&boot->command.errors);
    if (!boot->over)
        hold_or_go_on(boot);
}

static void on_console(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct boot *boot = data;

    (void)pc;
    if (has_command(boot)) {
        command_console(&boot->command, bytes, count);
        if (boot->config.pc.verbose)
            say_plain("%.*s", (int)count, (const char *)bytes);
        return;
    }
    output_bytes(&boot->output, bytes, count);
    flush(boot);
}

/* The guest that was booted for a command is kept, so that the next one need not be. */
static void on_kept(struct halter_pc *pc, const char *wrong, const char *json, void *data)
{
    struct boot *boot = data;

    (void)pc, (void)json;
    cache_end(&boot->cache, wrong == NULL);
    if (wrong && boot->config.pc.verbose)
        say("the snapshot for the next run is not kept: %s", wrong);
    command_begin(&boot->command);
}

static void on_channel(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct boot *boot = data;
    struct command *command = &boot->command;
    bool booted = command->state == COMMAND_BOOTS;

    if (!command_receive(command, bytes, count)) {
        say("what the guest says on its second serial port is not what an agent says");
        boot->over = true;
        boot->status = BOOT_FAILED;
        return;
    }
    if (booted && command->state == COMMAND_WAITS) {
        int fd = boot->config.fresh ? -1 : cache_begin(&boot->cache);
        if (fd < 0 || halter_pc_save(pc, fd, on_kept, boot) != HALTER_OK)
            command_begin(command);
    }
    if (command->state == COMMAND_ENDED) {
        boot->over = true;
        boot->status = command->status;
    }
    flush(boot);
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

static void on_restart(struct halter_pc *pc, const struct halter_death *death, uint64_t lost_ms,
                       void *data)
{
    struct boot *boot = data;

    (void)pc;
    boot_print_death(boot, death);
    say("it goes on from where it was %.1f s ago", (double)lost_ms / 1e3);
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

/* A replay's machine is as large as the recording says, behind its magic, format and model. */
static bool find_ram(struct halter_pc_options *pc)
{
    uint8_t header[24];

    if (pc->replay_fd >= 0 && pread(pc->replay_fd, header, sizeof header, 0) == sizeof header)
        pc->ram_mb = (uint32_t)header[18] >> 4 | (uint32_t)header[19] << 4;
    return true;
}

static bool open_files(struct boot_config *config)
{
    struct halter_pc_options *pc = &config->pc;

    if (!config->kernel && !config->resume && !config->replay && !guest_find(config))
        return false;
    return disks_open(config) &&
           open_file(config->record, O_WRONLY | O_CREAT | O_TRUNC, &pc->record_fd) &&
           open_file(config->replay, O_RDONLY, &pc->replay_fd) && find_ram(pc) &&
           open_file(config->kernel, O_RDONLY, &pc->kernel_fd) &&
           open_file(config->initrd, O_RDONLY, &pc->initrd_fd) &&
           open_file(config->resume, O_RDONLY, &pc->resume_fd) &&
           open_file(config->save, O_WRONLY | O_CREAT | O_TRUNC, &pc->save_fd);
}

static void close_files(struct boot_config *config)
{
    int fds[] = {config->pc.kernel_fd, config->pc.initrd_fd, config->pc.resume_fd,
                 config->pc.save_fd,   config->pc.record_fd, config->pc.replay_fd};

    disks_close(config);
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static bool make_host(struct boot *boot)
{
    struct halter_options options = HALTER_OPTIONS_INIT;

    options.spares = 0;
    options.on_event = on_event;
    return start_host(&options, &boot->host);
}

static bool make_pc(struct boot *boot)
{
    struct halter_pc_options *pc = &boot->config.pc;

    pc->on_console = on_console;
    pc->on_channel = has_command(boot) ? on_channel : NULL;
    pc->on_log = on_log;
    pc->on_end = on_end;
    pc->on_restart = on_restart;
    pc->data = boot;
    boot->over = boot->again = false;
    int status = halter_pc_create(boot->host, pc, &boot->pc);
    if (status != HALTER_OK)
        say("the PC cannot be made: %s",
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return status == HALTER_OK;
}

/* A guest that goes on from a snapshot has said already that it is ready. */
static void prepare_command(struct boot *boot)
{
    struct command *command = &boot->command;

    command->words = boot->config.words;
    command->output = &boot->output;
    output_adopt(&command->errors, STDERR_FILENO, "<stderr>");
    if (!boot->config.resume && !boot->config.fresh && !boot->config.pc.ndisks)
        cache_open(&boot->config, &boot->cache);
    if (boot->config.pc.resume_fd >= 0) {
        command->state = COMMAND_WAITS;
        command_begin(command);
    }
}

/* The snapshot of the cache is of another build, or damaged: it makes way for a new one. */
static void forget_snapshot(struct boot *boot)
{
    cache_discard(&boot->cache);
    boot->cache.resumed = false;
    close(boot->config.pc.resume_fd);
    boot->config.pc.resume_fd = -1;
    boot->command.state = COMMAND_BOOTS;
    boot->command.out.used = 0;
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

/* Whether there is something to read our input for. */
static bool listens(const struct boot *boot)
{
    if (has_command(boot))
        return command_wants(&boot->command) > 0;
    return !boot->terminal.eof && !boot->keys_count;
}

static void take_input(struct boot *boot)
{
    if (has_command(boot))
        command_input(&boot->command, STDIN_FILENO);
    else
        take_keys(boot);
}

static void send_input(struct boot *boot)
{
    if (has_command(boot))
        command_send(&boot->command, boot->pc);
    else
        send_keys(boot);
}

/* Ctrl-C is the command's, as long as there is one; the second time it is ours. */
static void take_signal(struct boot *boot)
{
    struct signalfd_siginfo info;

    if (read(boot->signals_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (has_command(boot) && info.ssi_signo == SIGINT && !boot->interrupted &&
        boot->command.state == COMMAND_RUNS) {
        boot->interrupted = true;
        command_signal(&boot->command, SIGINT);
        return;
    }
    leave(boot);
    if (has_command(boot))
        boot->status = EXIT_SIGNALED + (int)info.ssi_signo;
}

/* Nobody reads what is printed: as in any pipeline. */
static void take_loss(struct boot *boot)
{
    leave(boot);
    if (has_command(boot))
        boot->status = EXIT_SIGNALED + SIGPIPE;
}

static int output_fd(const struct output *output)
{
    return output->blocked ? output->fd : -1;
}

enum { FD_HOST, FD_SIGNALS, FD_OUTPUT, FD_ERRORS, FD_INPUT, FD_COUNT };

static void wait_once(struct boot *boot)
{
    struct pollfd fds[FD_COUNT] = {
        [FD_HOST] = {.fd = halter_fd(boot->host), .events = POLLIN},
        [FD_SIGNALS] = {.fd = boot->signals_fd, .events = POLLIN},
        [FD_OUTPUT] = {.fd = output_fd(&boot->output), .events = POLLOUT},
        [FD_ERRORS] = {.fd = has_command(boot) ? output_fd(&boot->command.errors) : -1,
                       .events = POLLOUT},
        [FD_INPUT] = {.fd = listens(boot) ? STDIN_FILENO : -1, .events = POLLIN},
    };

    if (poll(fds, FD_COUNT, -1) < 0)
        return;
    if (fds[FD_OUTPUT].revents || fds[FD_ERRORS].revents)
        flush(boot);
    if (fds[FD_HOST].revents)
        halter_dispatch(boot->host, 0);
    if (fds[FD_INPUT].revents && !boot->over)
        take_input(boot);
    if (!boot->over)
        send_input(boot);
    if (!boot->over && fds[FD_SIGNALS].revents)
        take_signal(boot);
    if (!boot->over && (boot->output.broken || boot->output.error))
        take_loss(boot);
}

/* The last words wait for whoever reads them, but not for a signal. */
static void drain(struct boot *boot, struct output *output)
{
    output_flush(output);
    while (output_pending(output) && !output->broken && !output->error) {
        struct pollfd fds[] = {{.fd = output->fd, .events = POLLOUT},
                               {.fd = boot->signals_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) > 0 && fds[1].revents)
            return;
        output_flush(output);
    }
}

static void run_pc(struct boot *boot)
{
    boot->status = BOOT_HALTER;
    if (!make_pc(boot))
        return;
    if (!has_command(boot))
        terminal_init(&boot->terminal, STDIN_FILENO);
    while (!boot->over)
        wait_once(boot);
    halter_pc_destroy(boot->pc);
    terminal_finish(&boot->terminal);
}

/* Of this program's own statuses, those that a command might have too become one. */
static int status(const struct boot *boot)
{
    bool ended = boot->command.state == COMMAND_ENDED || boot->status >= BOOT_TIMEOUT;

    return has_command(boot) && !ended ? BOOT_FAILED : boot->status;
}

int boot_run(struct boot *boot)
{
    struct boot_config *config = &boot->config;

    boot->cache = (struct guest_cache){.folder = -1, .fd = -1};
    boot->signals_fd = -1;
    boot->status = BOOT_NOT_STARTED;
    if (!open_files(config) || (boot->signals_fd = start_signals()) < 0 ||
        !output_open(&boot->output, NULL))
        return status(boot);
    if (has_command(boot))
        prepare_command(boot);
    boot->status = BOOT_HALTER;
    if (make_host(boot)) {
        run_pc(boot);
        if (boot->again) {
            forget_snapshot(boot);
            run_pc(boot);
        }
        drain(boot, &boot->output);
        if (has_command(boot))
            drain(boot, &boot->command.errors);
    }
    halter_destroy(boot->host);
    cache_close(&boot->cache);
    close_files(config);
    if (has_command(boot))
        command_finish(&boot->command);
    output_close(&boot->output);
    close(boot->signals_fd);
    return status(boot);
}
