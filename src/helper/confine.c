/*
 * The compartment, layer by layer. The order is not free:
 *
 *   before the engine   descriptors, environment, limits, uid and capabilities, no new privileges;
 *                       Landlock with the two files that the engine reads while it is made
 *   the engine is made  it maps its JIT memory and starts its threads
 *   after the engine    no more executable memory (MDWE; before the engine for `jit: off`),
 *                       Landlock with no file at all, seccomp on every thread
 *
 * PR_SET_DUMPABLE stays as it is: under an unprivileged host the helper can be measured by it
 * (/proc/<pid>/smaps_rollup), and under root the change of uid has cleared it. Core dumps are off
 * either way.
 *
 * A root host's helpers get a uid each, made of their pid, so that not even without the other
 * layers one could signal or trace another. Under an unprivileged host they share its uid: there
 * the filter (no kill, no ptrace, no process_vm_*) and Landlock (a domain each) keep them apart.
 */
#include "helper/confine.h"
#include "halter/halter.h"
#include "helper/confine_filter.h"
#include "helper/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of some systems that this is built on. */
#define SET_MDWE         65 /* PR_SET_MDWE, Linux 6.3 */
#define REFUSE_EXEC_GAIN 1u
#define NET_TCP_ALL      3u /* bind and connect: Landlock 4, Linux 6.7 */
#define SCOPE_ALL        3u /* abstract Unix sockets and signals: Landlock 6, Linux 6.12 */

#define UID_BASE   1900000000u /* above what distributions and containers hand out */
#define UID_NOBODY 65534u

/* As the kernel reads it: fields that an older one does not know must be 0. */
struct landlock_rules {
    uint64_t fs, net, scope;
};
struct landlock_beneath {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

#define LANDLOCK_READ_FILE (1u << 2)

static bool has(const struct helper_start *start, enum halter_layer layer)
{
    return !(start->profile.skip_layers & HALTER_LAYER_BIT(layer));
}

static void in_force(struct confinement *confinement, enum halter_layer layer)
{
    confinement->layers |= HALTER_LAYER_BIT(layer);
}

static bool cannot(const char *what)
{
    dprintf(STDERR_FILENO, "halter: cannot confine the helper: %s: %s\n", what, strerror(errno));
    return false;
}

/* ---- what was inherited --------------------------------------------------------------------- */

static void close_descriptors(struct confinement *confinement, int socket)
{
    bool below = socket <= 3 || close_range(3, (unsigned)socket - 1, 0) == 0;
    bool above = close_range(socket < 3 ? 3 : (unsigned)socket + 1, ~0u, 0) == 0;
    if (below && above)
        in_force(confinement, HALTER_LAYER_CLOSED_FDS);
}

/* TZ stays: without it local time would silently become UTC. */
static void empty_environment(struct confinement *confinement)
{
    const char *zone = getenv("TZ");
    char *copy = zone ? strdup(zone) : NULL;
    clearenv();
    if (copy)
        setenv("TZ", copy, 1);
    free(copy);
    in_force(confinement, HALTER_LAYER_EMPTY_ENV);
}

/* ---- limits --------------------------------------------------------------------------------- */

static bool limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        return false;
    struct rlimit then = {
        .rlim_cur = soft < now.rlim_max ? soft : now.rlim_max,
        .rlim_max = hard < now.rlim_max ? hard : now.rlim_max,
    };
    return setrlimit(resource, &then) == 0;
}

/*
 * Not RLIMIT_AS or RLIMIT_DATA: the engine reserves far more than it uses. Not RLIMIT_NPROC: it
 * counts the whole uid. Not RLIMIT_FSIZE: a granted file may be written. RLIMIT_CORE is 1 and not
 * 0, because 0 does not stop a dump into a pipe, and 1 byte stops both kinds (core(5)).
 */
static void set_limits(struct confinement *confinement, const struct helper_start *start)
{
    rlim_t descriptors = helper_max_files(start) + HELPER_OWN_FILES;
    bool done = limit(RLIMIT_CORE, 1, 1) && limit(RLIMIT_NOFILE, descriptors, descriptors) &&
                limit(RLIMIT_MEMLOCK, 0, 0) && limit(RLIMIT_MSGQUEUE, 0, 0) &&
                limit(RLIMIT_RTPRIO, 0, 0) && limit(RLIMIT_NICE, 0, 0);
    if (start->profile.cpu_seconds)
        done =
            limit(RLIMIT_CPU, start->profile.cpu_seconds, start->profile.cpu_seconds + 1u) && done;
    if (done)
        in_force(confinement, HALTER_LAYER_RLIMITS);
}

/* ---- who it is ------------------------------------------------------------------------------ */

/*
 * Empties the bounding set. It needs CAP_SETPCAP; without it nothing is lost, because no new
 * privileges already keeps an exec from gaining any.
 */
static void drop_bounding_set(void)
{
    for (int capability = 0; capability < 64; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return;
}

static bool change_user(uid_t uid)
{
    return setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0;
}

/*
 * A change of uid forgets the parent-death signal, which is set again. The parent may have died
 * meanwhile: then nobody is left to serve.
 */
static void leave_root(struct confinement *confinement)
{
    int signal_of_death = 0;
    if (geteuid() != 0) {
        in_force(confinement, HALTER_LAYER_UNPRIVILEGED_UID);
        return;
    }
    pid_t parent = getppid();
    prctl(PR_GET_PDEATHSIG, &signal_of_death);
    if (setgroups(0, NULL) == 0 &&
        (change_user(UID_BASE + (uid_t)getpid()) || change_user(UID_NOBODY)))
        in_force(confinement, HALTER_LAYER_UNPRIVILEGED_UID);
    if (signal_of_death) {
        prctl(PR_SET_PDEATHSIG, signal_of_death);
        if (getppid() != parent)
            _exit(HELPER_EXIT_EOF);
    }
}

static void drop_capabilities(struct confinement *confinement)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) == 0)
        in_force(confinement, HALTER_LAYER_NO_CAPS);
}

/* ---- Landlock ------------------------------------------------------------------------------- */

static uint64_t all_fs_rights(int abi)
{
    unsigned rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
    return (1u << rights) - 1;
}

static void allow_reading(int rules, const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    struct landlock_beneath rule = {.allowed = LANDLOCK_READ_FILE, .fd = fd};
    syscall(SYS_landlock_add_rule, rules, 1 /* beneath a path */, &rule, 0);
    close(fd);
}

static struct landlock_rules landlock_wanted(const struct helper_start *start, int abi)
{
    return (struct landlock_rules){
        .fs = has(start, HALTER_LAYER_LANDLOCK_FS) ? all_fs_rights(abi) : 0,
        .net = abi >= 4 && has(start, HALTER_LAYER_LANDLOCK_NET) ? NET_TCP_ALL : 0,
        .scope = abi >= 6 && has(start, HALTER_LAYER_LANDLOCK_SCOPE) ? SCOPE_ALL : 0,
    };
}

/* Binds this thread, and those that it will make. `paths` may be read, nothing else. */
static bool landlock_enter(const struct landlock_rules *wanted, const char *const *paths)
{
    int rules = (int)syscall(SYS_landlock_create_ruleset, wanted, sizeof(*wanted), 0);
    if (rules < 0)
        return false;
    for (; *paths && wanted->fs; paths++)
        allow_reading(rules, *paths);
    int entered = (int)syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
    return entered == 0;
}

static bool landlock_first(struct confinement *confinement, const struct helper_start *start)
{
    /* The engine seeds itself from the one and finds its stack in the other, or it aborts. */
    static const char *const paths[] = {"/dev/urandom", "/proc/self/maps", NULL};
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* ask for the version */);
    confinement->landlock_abi = abi > 0 ? (uint32_t)abi : 0;
    if (abi <= 0)
        return !has(start, HALTER_LAYER_LANDLOCK_FS) || cannot("Landlock");
    struct landlock_rules wanted = landlock_wanted(start, abi);
    if (!wanted.fs && !wanted.net && !wanted.scope)
        return true;
    if (!landlock_enter(&wanted, paths))
        return cannot("Landlock");
    if (wanted.net)
        in_force(confinement, HALTER_LAYER_LANDLOCK_NET);
    if (wanted.scope)
        in_force(confinement, HALTER_LAYER_LANDLOCK_SCOPE);
    return true;
}

/*
 * Only the file system: a second scope would part this thread from those that the engine has
 * made, which it has to signal when it collects. They keep the first layer, and the filter.
 */
static bool landlock_second(struct confinement *confinement, const struct helper_start *start)
{
    static const char *const none[] = {NULL};
    struct landlock_rules wanted = landlock_wanted(start, (int)confinement->landlock_abi);
    wanted.net = wanted.scope = 0;
    if (!wanted.fs)
        return true;
    if (!landlock_enter(&wanted, none))
        return cannot("Landlock, the second time");
    in_force(confinement, HALTER_LAYER_LANDLOCK_FS);
    return true;
}

/* ---- executable memory ---------------------------------------------------------------------- */

static void refuse_new_code(struct confinement *confinement)
{
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) == 0)
        in_force(confinement, HALTER_LAYER_MDWE);
}

/* Whether memory to compile into can be had now, whatever forbids it. */
static bool can_map_code(void)
{
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    munmap(page, 4096);
    return true;
}

/* ---- both halves ---------------------------------------------------------------------------- */

bool confine_before_engine(struct confinement *confinement, const struct helper_start *start)
{
    bool no_jit = start->profile.flags & CONTROL_NO_JIT;
    signal(SIGPIPE, SIG_IGN); /* a host that is gone is an error of writev */
    if (has(start, HALTER_LAYER_CLOSED_FDS))
        close_descriptors(confinement, start->socket);
    if (has(start, HALTER_LAYER_EMPTY_ENV))
        empty_environment(confinement);
    if (has(start, HALTER_LAYER_RLIMITS))
        set_limits(confinement, start);
    if (has(start, HALTER_LAYER_NO_CAPS))
        drop_bounding_set();
    if (has(start, HALTER_LAYER_UNPRIVILEGED_UID))
        leave_root(confinement);
    if (has(start, HALTER_LAYER_NO_CAPS))
        drop_capabilities(confinement);
    if (has(start, HALTER_LAYER_NO_NEW_PRIVS)) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
            return cannot("no new privileges");
        in_force(confinement, HALTER_LAYER_NO_NEW_PRIVS);
    }
    if (!landlock_first(confinement, start))
        return false;
    if (no_jit && has(start, HALTER_LAYER_MDWE))
        refuse_new_code(confinement);
    confinement->can_jit = !no_jit && can_map_code();
    return true;
}

bool confine_after_engine(struct confinement *confinement, const struct helper_start *start)
{
    if (has(start, HALTER_LAYER_MDWE))
        refuse_new_code(confinement);
    if (!landlock_second(confinement, start))
        return false;
    if (has(start, HALTER_LAYER_SECCOMP)) {
        if (!confine_filter_install(start->status))
            return cannot("seccomp");
        in_force(confinement, HALTER_LAYER_SECCOMP);
    }
    return true;
}
