/* The one reason for a death: see death.h. */
#include "host/death.h"

#include <signal.h>
#include <stddef.h>

struct syscall_entry {
    int number;
    const char *name;
};

static const struct syscall_entry syscalls[] = {
#include "syscall_names.inc"
};

const char *syscall_name(int number)
{
    for (size_t i = 0; i < sizeof(syscalls) / sizeof(*syscalls); i++)
        if (syscalls[i].number == number)
            return syscalls[i].name;
    return NULL;
}

static int precedence(enum halter_death_reason reason)
{
    switch (reason) {
    case HALTER_DEATH_NONE:
        return 0;
#define HALTER_DEATH_REASON(name, number, word, order, evidence)                                   \
    case HALTER_DEATH_##name:                                                                      \
        return order;
#include "halter/death.def"
#undef HALTER_DEATH_REASON
    }
    return 0;
}

static enum halter_death_reason stronger(enum halter_death_reason a, enum halter_death_reason b)
{
    return precedence(b) > precedence(a) ? b : a;
}

/* What the exit status alone says. */
static enum halter_death_reason from_status(const struct evidence *e)
{
    if (e->code == CLD_EXITED)
        return HALTER_DEATH_EXIT;
    if (e->status == SIGSYS)
        return HALTER_DEATH_SYSCALL;
    if (e->status == SIGXCPU)
        return HALTER_DEATH_CPU;
    if (e->status == SIGKILL && e->cpu_limit_seconds &&
        e->cpu_ns >= e->cpu_limit_seconds * 1000000000ull)
        return HALTER_DEATH_CPU;
    return HALTER_DEATH_SIGNAL;
}

enum halter_death_reason death_reason(const struct evidence *e)
{
    enum halter_death_reason reason = e->decided;

    if (e->spawn_error)
        reason = stronger(reason, HALTER_DEATH_SPAWN);
    if (e->launcher_lost)
        reason = stronger(reason, HALTER_DEATH_LAUNCHER);
    if (!e->reported)
        return reason;
    if (e->cause == CONTROL_CAUSE_WALL_CAP)
        reason = stronger(reason, HALTER_DEATH_WALL_CAP);
    if (e->oom_kills && e->code != CLD_EXITED && e->status == SIGKILL)
        reason = stronger(reason, HALTER_DEATH_MEMORY);
    if (e->hung_up && e->code != CLD_EXITED && e->status == SIGKILL)
        reason = stronger(reason, HALTER_DEATH_PROTOCOL);
    return stronger(reason, from_status(e));
}

int death_status(enum halter_death_reason reason)
{
    return reason == HALTER_DEATH_NONE ? HALTER_OK : -(31 + (int)reason);
}

const char *halter_death_text(enum halter_death_reason reason)
{
    switch (reason) {
    case HALTER_DEATH_NONE:
        return "none";
#define HALTER_DEATH_REASON(name, number, word, order, evidence)                                   \
    case HALTER_DEATH_##name:                                                                      \
        return word;
#include "halter/death.def"
#undef HALTER_DEATH_REASON
    }
    return "unknown";
}
