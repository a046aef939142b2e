/*
 * Messages of wire/control.h: reads what the host asks for, sends what it is told. Nothing here
 * waits for the host, which may not look for minutes: reports queue up in the structs that they
 * are about (two a helper, so the queue is bounded), and no death is ever left unreported.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/launcher.h"

#define READ_AT_ONCE 64 /* messages, so that a host that floods keeps no signal waiting */

void control_queue(struct launcher *launcher, struct report *report)
{
    report->message.version = CONTROL_VERSION;
    report->next = NULL;
    if (launcher->first)
        launcher->last->next = report;
    else
        launcher->first = report;
    launcher->last = report;
}

static ssize_t send_report(int control, struct report *report)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } fds = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {.iov_base = &report->message, .iov_len = sizeof(report->message)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (report->fd >= 0) {
        memcpy(CMSG_DATA(&fds.header), &report->fd, sizeof(int));
        message.msg_control = &fds;
        message.msg_controllen = CMSG_SPACE(sizeof(int));
    }
    return sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A report is in the host's hands. */
static void finish_report(struct launcher *launcher, struct report *report)
{
    if (report->fd >= 0)
        close(report->fd);
    report->fd = -1;
    if (report == &launcher->refusal) {
        launcher->refusing = false;
    } else if (report->message.type == CONTROL_EXITED) {
        for (struct helper *helper = launcher->helpers; helper; helper = helper->next) {
            if (report == &helper->exited) {
                helper_free(launcher, helper);
                break;
            }
        }
    }
}

void control_flush(struct launcher *launcher)
{
    while (launcher->first && !launcher->send_later) {
        struct report *report = launcher->first;
        if (send_report(launcher->control, report) < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EPIPE || errno == ECONNRESET)
                launcher->stop = true;
            else if (errno != EAGAIN && errno != EWOULDBLOCK)
                launcher->send_later = true; /* memory, or too many descriptors on their way */
            return;
        }
        launcher->first = report->next;
        finish_report(launcher, report);
    }
}

/* One message and its descriptors; unused ones are -1. The size, 0 at the end, -1 for none now. */
static ssize_t receive(int control, struct control_message *into, int fds[SPAWN_FDS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * SPAWN_FDS)];
    } room;
    struct iovec part = {.iov_base = into, .iov_len = sizeof(*into)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &room,
        .msg_controllen = sizeof(room),
    };
    for (int i = 0; i < SPAWN_FDS; i++)
        fds[i] = -1;
    ssize_t size;
    do {
        size = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size <= 0)
        return size;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    return size;
}

static void kill_generation(struct launcher *launcher, uint64_t generation)
{
    for (struct helper *helper = launcher->helpers; helper; helper = helper->next)
        if (helper->generation == generation)
            helper_kill(helper, CONTROL_CAUSE_KILL);
}

static void obey(struct launcher *launcher, const struct control_message *message,
                 const int fds[SPAWN_FDS])
{
    if (message->type == CONTROL_SPAWN) {
        spawn(launcher, message, fds);
        return;
    }
    for (int i = 0; i < SPAWN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (message->type == CONTROL_KILL)
        kill_generation(launcher, message->generation);
    /* A WAKE has done its work by arriving. */
}

static void end(struct launcher *launcher, int exit_code)
{
    launcher->exit_code = exit_code;
    launcher->stop = true;
}

void control_read(struct launcher *launcher)
{
    for (int i = 0; i < READ_AT_ONCE && !launcher->stop && !launcher->refusing; i++) {
        struct control_message message = {0};
        int fds[SPAWN_FDS];
        ssize_t size = receive(launcher->control, &message, fds);
        if (size < 0 &&
            (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMEM || errno == ENOBUFS))
            return; /* where memory lacked, the message is still there for the next round */
        if (size <= 0) {
            end(launcher,
                size == 0 || errno == ECONNRESET ? LAUNCHER_EXIT_HOST_GONE : LAUNCHER_EXIT_BROKEN);
        } else if (size != (ssize_t)sizeof(message) || message.version != CONTROL_VERSION) {
            for (int f = 0; f < SPAWN_FDS; f++)
                if (fds[f] >= 0)
                    close(fds[f]);
            end(launcher, LAUNCHER_EXIT_VERSION);
        } else {
            obey(launcher, &message, fds);
        }
    }
}
