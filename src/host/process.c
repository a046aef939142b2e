/*
 * One helper process: made, asked of the launcher, killed, buried. The states are in process_table.c,
 * its clocks in process_clock.c, what it is sent in process_send.c, what it says in process_read.c;
 * what a guest makes of its process is in guest.c and call.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/internal.h"

/* From the end of a socket to the report of a death; what lives longer only hung up. */
#define LINGER_MS 250
#define PROCESS_TIMERS 3 /* deadline, memory_look and share_look */

static int make_descriptors(struct process *process)
{
    int pair[2], errors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    process->socket.fd = pair[0];
    process->launcher_ends[0] = pair[1];
    process->launcher_ends[1] = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
    if (process->launcher_ends[1] < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        return -1;
    /* Not a pipe: its reader may have to wait for a writer that is in the middle of it. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, errors) < 0)
        return -1;
    process->errors.fd = errors[0];
    process->launcher_ends[2] = errors[1];
    return fcntl(errors[0], F_SETFL, O_NONBLOCK) < 0 ? -1 : 0;
}

struct process *process_create(struct halter_host *host, const struct control_profile *profile,
                               const struct process_use *use)
{
    if (host_need_timers(host, PROCESS_TIMERS) < 0)
        return NULL;
    struct process *process = calloc(1, sizeof(*process));
    if (!process) {
        host_drop_timers(host, PROCESS_TIMERS);
        return NULL;
    }
    list_init(&process->link);
    list_init(&process->pool_link);
    list_init(&process->requests);
    list_init(&process->sent);
    list_init(&process->cork_link);
    process->host = host;
    process->use = use;
    process->state = PROCESS_STARTING;
    process->profile = *profile;
    process->generation = ++host->last_generation;
    process->pidfd = -1;
    process->socket = (struct watch){.kind = WATCH_SOCKET, .fd = -1, .owner = process};
    process->errors = (struct watch){.kind = WATCH_STDERR, .fd = -1, .owner = process};
    for (int i = 0; i < 3; i++)
        process->launcher_ends[i] = -1;
    process->slot = UINT32_MAX;
    process->evidence.syscall_number = -1;
    process->evidence.cpu_limit_seconds = profile->cpu_seconds;
    process_clocks_init(process);
    share_process_init(process);
    wire_reader_init(&process->reader, WIRE_DIR_OUT, host->cap, false);
    wire_writer_init(&process->writer);
    list_append(&host->processes, &process->link);

    if (make_descriptors(process) < 0 || launcher_take_slot(host, &process->slot) != 0 ||
        host_watch(host, &process->socket, EPOLLIN) < 0 ||
        host_watch(host, &process->errors, EPOLLIN) < 0 || launcher_spawn(host, process) != 0) {
        int saved = errno;
        process_free(process);
        errno = saved;
        return NULL;
    }
    process->born_ns = monotonic_ns();
    timer_arm(&host->timers, &process->deadline,
              process->born_ns + host->spawn_deadline_ms * NS_PER_MS);
    return process;
}

void process_free(struct process *process)
{
    struct halter_host *host = process->host;

    list_remove(&process->link);
    list_remove(&process->pool_link);
    list_remove(&process->cork_link);
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    timer_cancel(&host->timers, &process->share_look);
    requests_orphan(process);
    host_unwatch(host, &process->socket);
    host_unwatch(host, &process->errors);
    for (int i = 0; i < 3; i++)
        if (process->launcher_ends[i] >= 0)
            close(process->launcher_ends[i]);
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->slot != UINT32_MAX)
        launcher_give_slot(host, process->slot);
    wire_reader_finish(&process->reader);
    wire_writer_finish(&process->writer);
    host_drop_timers(host, PROCESS_TIMERS);
    free(process);
}

/* ---- its end ---------------------------------------------------------------------------------- */

void process_sigkill(struct process *process)
{
    /* A pidfd names this process and no other, however long it has been dead. */
    if (process->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
    else if (process->asked)
        launcher_kill(process->host, process);
}

static void hang_up(struct process *process)
{
    struct halter_host *host = process->host;

    pool_withdraw(process);
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    timer_cancel(&host->timers, &process->share_look);
    launcher_disarm(host, process);
    requests_orphan(process);
    list_remove(&process->cork_link);
    host_unwatch(host, &process->socket);
}

void process_event(struct process *process, enum process_event event)
{
    struct halter_host *host = process->host;
    struct process_step step = process_step(process->state, event);
    unsigned actions = step.actions;

    if (actions & PROCESS_WRONG)
        return; /* it cannot come in this state (the table's test says so): it changes nothing */
    if (event == PROCESS_EVENT_LOST)
        process->evidence.launcher_lost = true;
    if (process->state == PROCESS_STARTING && step.next != PROCESS_STARTING && !process->use)
        pool_for(host, &process->profile)->starting--;
    process->state = step.next;

    if (actions & PROCESS_SIGKILL)
        process_sigkill(process);
    if (actions & PROCESS_HANG_UP)
        hang_up(process);
    if (actions & PROCESS_LINGER)
        timer_arm(&host->timers, &process->deadline, monotonic_ns() + LINGER_MS * NS_PER_MS);
    if (actions & PROCESS_FINAL) {
        timer_cancel(&host->timers, &process->deadline);
        process_errors_readable(process); /* its last words */
        process_flush_line(process);
        host_unwatch(host, &process->errors);
        list_remove(&process->link);
        list_append(&host->buried, &process->link);
    }
    if (actions & PROCESS_OFFER) {
        if (process->use)
            process->use->offered(process);
        else
            pool_offer(process);
    }
    if (actions & PROCESS_DECEASED) {
        if (process->guest)
            guest_bereaved(process->guest, process);
        else if (process->use)
            process->use->bereaved(process);
        else if (!process->mourned)
            pool_bereaved(process);
        process->mourned = true;
    }
    if (actions & PROCESS_FINAL)
        event_death(process);
}

void process_kill(struct process *process, enum halter_death_reason reason, const char *detail)
{
    if (process->evidence.decided == HALTER_DEATH_NONE) {
        process->evidence.decided = reason;
        if (detail)
            snprintf(process->detail, sizeof(process->detail), "%s", detail);
    }
    if (process->state == PROCESS_STARTING && !process->asked) {
        /* The launcher has never heard of it and will not report it. */
        process->evidence.spawn_error = ECANCELED;
        process_event(process, PROCESS_EVENT_LOST);
        return;
    }
    process_event(process, PROCESS_EVENT_KILL);
}

void process_condemn(struct process *process, enum halter_death_reason reason, const char *detail)
{
    if (process->state >= PROCESS_DYING || process->condemned)
        return;
    if (process->evidence.decided == HALTER_DEATH_NONE) {
        process->evidence.decided = reason;
        snprintf(process->detail, sizeof(process->detail), "%s", detail ? detail : "");
    }
    process->condemned = true;
    process_sigkill(process);
    host_defer(process->host);
}

void process_run_condemned(struct process *process)
{
    if (!process->condemned)
        return;
    process->condemned = false;
    process_kill(process, process->evidence.decided, NULL);
}

void process_spawned(struct process *process, int pid, int pidfd, int error)
{
    if (error) {
        if (pidfd >= 0)
            close(pidfd);
        process->evidence.spawn_error = error;
        snprintf(process->detail, sizeof(process->detail), "the launcher could not fork: %s",
                 strerror(error));
        if (process->state != PROCESS_REAPED)
            process_event(process, PROCESS_EVENT_EXITED);
        return;
    }
    process->pid = pid;
    process->pidfd = pidfd;
    if (process->state == PROCESS_DYING && process->evidence.decided != HALTER_DEATH_NONE)
        process_sigkill(process);
}

void process_exited(struct process *process, const struct control_message *message)
{
    struct evidence *e = &process->evidence;

    /* What it said before it died is read first: an answer may be among it. */
    if (process->socket.fd >= 0)
        for (int i = 0; i < READS_AT_DEADLINE && process->socket.fd >= 0; i++)
            process_readable(process);
    if (process->state == PROCESS_REAPED)
        return;
    e->reported = true;
    e->code = message->exited.code;
    e->status = message->exited.status;
    e->cause = (enum control_cause)message->exited.cause;
    e->syscall_number = message->exited.syscall_number;
    e->oom_kills = message->exited.oom_kills;
    e->cpu_ns = message->exited.user_ns + message->exited.system_ns;
    if (message->exited.peak_bytes > e->peak_bytes)
        e->peak_bytes = message->exited.peak_bytes;
    e->lived_ns = message->exited.exited_ns - message->exited.spawned_ns;
    process_event(process, PROCESS_EVENT_EXITED);
}
