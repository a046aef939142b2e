/*
 * The wall caps: the last word over a helper's time, which holds while the application is not
 * dispatching at all. The rules are those of wire/control.h, "The shared page".
 *
 * Two things keep a helper alive past its time. One is an answer that the host has not read: then
 * it is the application that is late. The other is a moment's patience (GRACE_NS), because a host
 * that has just taken the answer out of the socket needs some microseconds to disarm the slot.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "launcher/launcher.h"
#include "wire/frame.h"

#define TICK_NS     (CONTROL_TICK_MS * 1000000ll)
#define GRACE_NS    2000000u
#define CPU_FREE_NS 10000000u /* what a spared helper may use to go to sleep after its answer */
#define CPU_SHARE   50        /* and then one part in as many */
#define PEEK_MAX    (8u << 20)

static uint64_t cpu_time_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static bool is_answer(const struct wire_frame *frame, uint64_t call_id)
{
    return frame->id == call_id && (frame->type == WIRE_VALUE || frame->type == WIRE_UNDEFINED ||
                                    frame->type == WIRE_ERROR || frame->type == WIRE_LOADED);
}

/* Walks frames from header to header. A frame is an answer as soon as its header is there. */
static bool walk(const uint8_t *bytes, size_t length, uint64_t call_id)
{
    struct wire_frame frame;
    while (length >= WIRE_HEADER_BYTES) {
        wire_header_decode(&frame, bytes);
        if (wire_type_limit(frame.type, WIRE_DIR_OUT, UINT32_MAX) < 0)
            return false;
        if (is_answer(&frame, call_id))
            return true;
        if (frame.length >= length - WIRE_HEADER_BYTES)
            return false;
        bytes += WIRE_HEADER_BYTES + frame.length;
        length -= WIRE_HEADER_BYTES + frame.length;
    }
    return false;
}

/* Looks, without taking anything, whether the answer to a call waits in the host's socket. */
static bool answer_waits(int host_end, uint64_t call_id)
{
    int waiting = 0;
    if (ioctl(host_end, FIONREAD, &waiting) < 0 || waiting < WIRE_HEADER_BYTES)
        return false;
    size_t room = (size_t)waiting < PEEK_MAX ? (size_t)waiting : PEEK_MAX;
    uint8_t *bytes = malloc(room);
    if (!bytes)
        return false;
    ssize_t got = recv(host_end, bytes, room, MSG_PEEK | MSG_DONTWAIT);
    bool found = got > 0 && walk(bytes, (size_t)got, call_id);
    free(bytes);
    return found;
}

/* Its time has come: spares it, waits a moment, or kills it. */
static void judge(struct helper *helper, uint64_t kill_at, bool answered, uint64_t now)
{
    struct overdue *overdue = &helper->overdue;
    if (overdue->kill_at_ns != kill_at)
        *overdue = (struct overdue){.kill_at_ns = kill_at, .since_ns = now};
    if (answered) {
        uint64_t cpu = cpu_time_ns(helper->pid);
        if (!overdue->spared) {
            overdue->spared = true;
            overdue->cpu_ns = cpu;
            overdue->since_ns = now;
        } else if (cpu - overdue->cpu_ns > CPU_FREE_NS + (now - overdue->since_ns) / CPU_SHARE) {
            helper_kill(helper, CONTROL_CAUSE_WALL_CAP);
        }
    } else if (overdue->spared) {
        *overdue = (struct overdue){.kill_at_ns = kill_at, .since_ns = now};
    } else if (now - overdue->since_ns >= GRACE_NS) {
        helper_kill(helper, CONTROL_CAUSE_WALL_CAP);
    }
}

int64_t wallcap_look(struct launcher *launcher, uint64_t now_ns)
{
    int64_t sleep_ns = -1;
    for (struct helper *helper = launcher->helpers; helper; helper = helper->next) {
        uint64_t kill_at = launcher->page->slots[helper->slot].kill_at_ns;
        if (!helper->pid || helper->cause || !kill_at)
            continue;
        int64_t wanted = TICK_NS;
        if (kill_at > now_ns) {
            if (kill_at - now_ns < (uint64_t)TICK_NS)
                wanted = (int64_t)(kill_at - now_ns);
        } else {
            uint64_t call_id = launcher->page->slots[helper->slot].call_id;
            bool answered = launcher->page->slots[helper->slot].answering ||
                            answer_waits(helper->host_end, call_id);
            judge(helper, kill_at, answered, now_ns);
            if (!helper->overdue.spared)
                wanted = GRACE_NS;
        }
        if (sleep_ns < 0 || wanted < sleep_ns)
            sleep_ns = wanted;
    }
    return sleep_ns;
}
