/*
 * halter: run plugins that you do not trust, or cannot wait for, beside your application.
 *
 *   1. halter_create()        one host; add halter_fd() to your event loop (readable = work to do)
 *   2. halter_plugin_create() one guest a plugin; it loads in a helper process of its own
 *   3. halter_call()          JSON in; your callback gets JSON out, or the exact reason why not
 *   4. halter_dispatch()      when the descriptor is readable: callbacks run here, nowhere else
 *
 * Rules that hold for every function:
 *   - A call that returns an error never runs its callback; one that was accepted runs it exactly
 *     once, from halter_dispatch(), halter_call_wait() or the destroy functions.
 *   - Nothing blocks unless its name says `wait` or it was given a timeout.
 *   - Inside a callback every function is allowed except halter_dispatch(), halter_call_wait()
 *     and halter_destroy(); closing the guest or canceling the call that the callback is about is.
 *   - One host belongs to one thread. Only halter_wakeup() may be called from another.
 *   - Texts passed in are copied; texts handed to a callback live until it returns.
 *   - No threads, no signal handlers, no SIGCHLD, no output, no globals: your process is yours.
 *   - Options structs start with their size: set it with the initializer macro of that struct.
 *
 * halter(3) is the manual, examples/embed.c a whole host.
 */
#ifndef HALTER_HALTER_H
#define HALTER_HALTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
# define HALTER_API __attribute__((visibility("default")))
#else
# define HALTER_API
#endif

#define HALTER_VERSION_MAJOR 0
#define HALTER_VERSION_MINOR 1
#define HALTER_VERSION_PATCH 0

/* ---- status ---------------------------------------------------------------------------------- */

enum halter_status {
    HALTER_OK = 0,
#define HALTER_ERROR(name, number, text) HALTER_##name = number,
#include "halter/errors.def"
#undef HALTER_ERROR
};

/* The text of a status, static and never NULL. */
HALTER_API const char *halter_strerror(int status);
/* Its name, e.g. "EDEADLINE"; "OK" for 0, "UNKNOWN" for a number that is none. */
HALTER_API const char *halter_status_name(int status);
/* "0.1.0", of the library that runs, which may be newer than this header. */
HALTER_API const char *halter_version(void);

struct halter_host;
struct halter_guest;
struct halter_request;

/* ---- deaths and errors ------------------------------------------------------------------------ */

enum halter_death_reason {
    HALTER_DEATH_NONE = 0,
#define HALTER_DEATH_REASON(name, number, word, precedence, evidence) HALTER_DEATH_##name = number,
#include "halter/death.def"
#undef HALTER_DEATH_REASON
};
HALTER_API const char *halter_death_text(enum halter_death_reason reason);

/* How one helper process ended. A value of -1 or 0 in a field that does not apply. */
struct halter_death {
    enum halter_death_reason reason;
    int exit_status;       /* when it exited, else -1 */
    int signal;            /* that ended it, else 0 */
    int syscall_number;    /* the forbidden system call, else -1 */
    const char *syscall;   /* its name, or NULL */
    const char *detail;    /* one line for people: what broke, which layer is missing, ... or "" */
    uint64_t generation;   /* which process it was, counted over the host's life */
    int pid;               /* it had; reused by now, perhaps: for logs only */
    uint64_t call;         /* the last call it was sent, 0 for none */
    bool loading;          /* it died while the plugin was being loaded */
    bool final;            /* the process is reaped and the figures below are known */
    uint64_t cpu_ns;       /* user and system time of its life */
    uint64_t peak_bytes;   /* its peak resident memory */
    uint64_t lived_ns;     /* from fork to death */
};

/* What a script got wrong. Texts are UTF-8, never NULL, untrusted: see halter_printable(). */
struct halter_script_error {
    const char *name;    /* e.g. "TypeError" */
    const char *message;
    const char *stack;   /* lines, innermost first, "" when there is none */
    const char *file;    /* the plugin's path, or "" */
    unsigned line, column; /* from 1; 0 is unknown */
    const char *path;    /* of the offending value in a result, e.g. "$.items[3]"; else "" */
};

/* ---- the host --------------------------------------------------------------------------------- */

struct halter_event;
typedef void (*halter_event_fn)(struct halter_host *host, const struct halter_event *event,
                                void *data);

struct halter_options {
    size_t size;               /* set by HALTER_OPTIONS_INIT */
    const char *launcher_path; /* halter-launcher; NULL: $HALTER_LAUNCHER, else beside the running
                                  program or its library, else where it was installed */
    const char *locale;        /* BCP 47, for ctx.locale; NULL: from LC_ALL, LC_MESSAGES or LANG */
    const char *time_zone;     /* IANA name; NULL: from TZ or /etc/localtime */
    unsigned spares;           /* helpers kept ready beyond those in use; default 1, at most 64 */
    uint32_t frame_cap_bytes;  /* the largest JSON in or out; default 64 MiB, 16 KiB to 1 GiB */
    uint32_t required_layers;  /* of confinement, bits (1u << HALTER_LAYER_…); 0: the floor */
    uint32_t spawn_deadline_ms; /* fork to hello; default 5000 */
    halter_event_fn on_event;  /* may be NULL */
    void *data;                /* handed to on_event */
    const char *state_path;    /* the file that host.state is kept in, one for all plugins; made when
                                  it is not there. NULL: there is no state */
    bool audit;                /* each use of a built-in capability is an event: HALTER_EVENT_AUDIT */
    const char *ca_file;       /* certificates of the authorities that host.fetch trusts for https, PEM,
                                  in place of the system's; NULL: the system's */
};
#define HALTER_OPTIONS_INIT {.size = sizeof(struct halter_options), .spares = 1}

/*
 * Makes a host and starts its launcher. `options` may be NULL. On success *out is the host, to be
 * destroyed with halter_destroy(); on failure *out is untouched.
 * EINVAL, ENOMEM, ESYSTEM (errno is set; ENOENT: no launcher was found).
 */
HALTER_API int halter_create(const struct halter_options *options, struct halter_host **out);
/*
 * Ends every guest (callbacks of accepted calls run with ECLOSED), kills and reaps all processes,
 * closes all descriptors. Waits for the launcher to end, one second at the most. NULL is fine.
 */
HALTER_API void halter_destroy(struct halter_host *host);
/* One descriptor for poll(), readable when halter_dispatch() has work. Owned by the host. */
HALTER_API int halter_fd(const struct halter_host *host);
/*
 * Does what there is to do, running callbacks; waits up to `timeout_ms` for something (0: never
 * blocks, -1: for ever). Returns the number of callbacks and events that ran, or EINVAL, EBUSY
 * (called from a callback), ESYSTEM.
 */
HALTER_API int halter_dispatch(struct halter_host *host, int timeout_ms);
/* Makes a halter_dispatch() that waits return. From any thread, and from a signal handler. NULL is
   fine. */
HALTER_API void halter_wakeup(struct halter_host *host);

/* ---- guests ----------------------------------------------------------------------------------- */

enum halter_guest_state {
    HALTER_GUEST_LOADING = 1,     /* a process is being had, or is loading the source */
    HALTER_GUEST_READY = 2,       /* waits for a call */
    HALTER_GUEST_BUSY = 3,        /* a call is in flight */
    HALTER_GUEST_BACKOFF = 4,     /* died without a success in between: waits before it tries again */
    HALTER_GUEST_QUARANTINED = 5, /* died so too often: waits for halter_guest_reset() */
    HALTER_GUEST_CLOSED = 6,
    HALTER_GUEST_FAILED = 7,      /* its source does not load: waits for halter_guest_reload() */
};
HALTER_API const char *halter_guest_state_text(enum halter_guest_state state);

struct halter_plugin_options {
    size_t size;             /* set by HALTER_PLUGIN_INIT */
    const char *name;        /* for events, logs and errors; host.state is kept under it. Default: its
                                manifest's, else the path, or "plugin" */
    const char *path;        /* the file, read when source is NULL; else only named in errors */
    const char *source;      /* UTF-8 */
    size_t source_bytes;     /* 0: source is terminated by NUL */
    const char *const *grants; /* what the user allows, ended by NULL; NULL: nothing. Each is the
                                  name of a capability (see halter_provide) or a text such as
                                  "state:read" or "network:https://api.example.org": see
                                  halter-permissions(5). With a manifest, what it does not ask for does not
                                  hold, granted or not */
    uint32_t load_deadline_ms; /* default 2000 */
    uint32_t deadline_ms;    /* of a call, unless the call says; default 1000 */
    uint32_t wall_cap_ms;    /* of a call or load, host's work included; default 10 × the deadline */
    uint32_t queue_max;      /* calls accepted and not finished; default 64 */
    uint32_t backoff_min_ms; /* the wait after the second death in a row with no call answered in
                                between (after the first it restarts at once); doubles; default 50 */
    uint32_t backoff_max_ms; /* default 10000 */
    uint32_t quarantine_after; /* such deaths in a row; default 5, UINT32_MAX: never */
    uint64_t memory_bytes;   /* limit of resident memory, default 512 MiB, UINT64_MAX: none */
    uint32_t cpu_seconds;    /* limit of a process's CPU time; 0: none */
    uint32_t log_lines_per_second; /* of console, host.log and stderr together; default 1000 */
    bool no_jit;             /* the kernel-enforced interpreter */
    bool own_address_layout; /* execute the helper instead of forking it (slower to start) */
    void *data;              /* the guest's, see halter_guest_data() */
    const char *manifest;    /* the text of its plugin.json; NULL: none. Where a limit is in both, the
                                lower one holds; its name is used where `name` is NULL */
    size_t manifest_bytes;   /* 0: manifest is terminated by NUL */
    char *why;               /* for EMANIFEST: one line for people is written here; may be NULL */
    size_t why_bytes;        /* room there */
    uint64_t state_bytes;    /* quota of host.state; default 10 MiB */
    uint32_t requests_per_second; /* reverse calls, more fail with a QuotaError; default 10000 */
    uint32_t output_bytes;   /* the largest result; 0: the host's frame cap */
    uint32_t cpu_percent;    /* its share of one processor, over 10 seconds; what uses more is killed and
                                waits until it may go on. 0: no limit, at most 6400 */
};
#define HALTER_PLUGIN_INIT {.size = sizeof(struct halter_plugin_options)}

/*
 * Makes a guest and starts to load its plugin; calls may be queued at once. A load that fails is an
 * event (HALTER_EVENT_LOAD_FAILED) and fails the queued calls with ELOAD; the guest then waits for
 * halter_guest_reload(). On failure *out is untouched.
 * EINVAL, ENOMEM, ESYSTEM (the file cannot be read), ETOOBIG, ECLOSED, EMANIFEST (`why` says what).
 */
HALTER_API int halter_plugin_create(struct halter_host *host,
                                    const struct halter_plugin_options *options,
                                    struct halter_guest **out);
/*
 * Kills its process; callbacks of accepted calls run with ECLOSED before this returns, unless it is
 * called from a callback: then from the dispatch that runs it. The handle is gone. NULL is fine.
 */
HALTER_API void halter_guest_destroy(struct halter_guest *guest);

/*
 * Replaces the source. The new one is loaded in a second process while the old one serves; when it
 * has loaded, calls go to it and the old process ends after the call in flight. No queued call is
 * lost or run twice. If it does not load, the old one stays. The outcome is an event: RELOADED or
 * RELOAD_FAILED. `source` NULL: the guest's path is read again.
 * EINVAL, ENOMEM, ESYSTEM, ETOOBIG, EBUSY (a reload is under way), ECLOSED.
 */
HALTER_API int halter_guest_reload(struct halter_guest *guest, const char *source,
                                   size_t source_bytes);
/*
 * Changes what the user allows, for example when they have been asked and have answered. `grants` is as in
 * the options, and replaces what it was. What is taken away is refused at once; names appear and vanish
 * with the next process, for which the guest is reloaded as by halter_guest_reload(). On EMANIFEST a
 * line for people is written to `why`, which may be NULL; nothing has changed.
 * EINVAL, ENOMEM, EMANIFEST, EBUSY (a reload is under way), ECLOSED.
 */
HALTER_API int halter_guest_grant(struct halter_guest *guest, const char *const *grants, char *why,
                                  size_t why_bytes);
/*
 * Replaces the plugin's manifest, the grants, and the source with it: that of the guest's path, read
 * again, where it has one. Permissions and limits hold from now on, those of a process (memory, JIT,
 * CPU seconds) with the next one, for which the guest is reloaded as by halter_guest_reload(). The
 * options that the guest was made with hold as before. On EMANIFEST a line for people is written to
 * `why`, which may be NULL; on any failure nothing has changed. A guest that has its name from its
 * manifest keeps it: another is EMANIFEST.
 * EINVAL, ENOMEM, ESYSTEM (the path cannot be read), ETOOBIG, EMANIFEST, EBUSY (a reload is under
 * way), ECLOSED.
 */
HALTER_API int halter_guest_manifest(struct halter_guest *guest, const char *manifest,
                                     size_t manifest_bytes, const char *const *grants, char *why,
                                     size_t why_bytes);
/* Kills the process at once. The call in flight fails with EKILLED; the guest restarts. */
HALTER_API int halter_guest_kill(struct halter_guest *guest);
/* Ends backoff, quarantine or failure: loads again at once. EBUSY in any other state. */
HALTER_API int halter_guest_reset(struct halter_guest *guest);

HALTER_API enum halter_guest_state halter_guest_state(const struct halter_guest *guest);
HALTER_API const char *halter_guest_name(const struct halter_guest *guest);
HALTER_API void *halter_guest_data(const struct halter_guest *guest);
HALTER_API struct halter_host *halter_guest_host(const struct halter_guest *guest);
/* The helper's pid for people and tests, 0 when there is none now. Never signal it. */
HALTER_API int halter_guest_pid(const struct halter_guest *guest);

/* ---- calls ------------------------------------------------------------------------------------ */

enum halter_kind {
    HALTER_KIND_NONE = 0,      /* no result: see status */
    HALTER_KIND_VALUE = 1,     /* json */
    HALTER_KIND_UNDEFINED = 2, /* transform returned undefined, or nothing */
};

/* What a call came to. Everything in it is borrowed until the callback returns. */
struct halter_result {
    int status; /* HALTER_OK, or why there is no result */
    enum halter_kind kind;
    const char *json; /* terminated; checked to be one JSON value in UTF-8. "" unless VALUE */
    size_t json_bytes;
    const struct halter_script_error *error; /* for ELOAD, ESCRIPT, ERESULT, EPENDING, EJSON, or NULL */
    const struct halter_death *death; /* for the statuses of deaths, or NULL */
    uint64_t call;       /* its number */
    uint64_t waited_ns;  /* in the queue */
    uint64_t ran_ns;     /* from sending to the answer */
    uint64_t host_ns;    /* of these, the host's own work on reverse calls: not on the deadline */
};
typedef void (*halter_result_fn)(struct halter_guest *guest, const struct halter_result *result,
                                 void *data);

struct halter_call_options {
    size_t size;          /* set by HALTER_CALL_INIT */
    uint32_t deadline_ms; /* 0: the guest's */
    uint32_t wall_cap_ms; /* 0: the guest's */
    const int *fds;       /* descriptors to pass: ctx.files[0…] in the script. Borrowed: they are
                             duplicated, and stay yours to close */
    unsigned nfds;        /* at most HALTER_FDS_MAX */
};
#define HALTER_FDS_MAX 8
#define HALTER_CALL_INIT {.size = sizeof(struct halter_call_options)}

/*
 * Queues transform(json). The deadline's clock (monotonic) starts when the call is sent, covers the
 * script, its promises, the conversion of the result and the reporting of errors, and pauses while
 * the host works on a reverse call; the wall cap covers everything. `options` may be NULL; *call,
 * when not NULL, gets the call's number for halter_cancel().
 * `json_bytes` 0: json is terminated by NUL.
 *
 * A passed descriptor gives what it was opened for and no more: a file for reading is read, a
 * directory is listed, nothing is opened below it and nothing is opened anew. It shares its offset
 * with yours: open one for the purpose.
 * EINVAL, ENOMEM, EQUEUE, ETOOBIG, EJSON (no UTF-8), EQUARANTINED, ELOAD (it does not load),
 * ECLOSED, ESYSTEM (a descriptor cannot be duplicated: errno).
 */
HALTER_API int halter_call(struct halter_guest *guest, const char *json, size_t json_bytes,
                           const struct halter_call_options *options, halter_result_fn callback,
                           void *data, uint64_t *call);
/*
 * Cancels a call: one in the queue leaves it, one in flight is killed with its process. Either way
 * its callback runs with ECANCELED from the next dispatch. EINVAL: no such call is pending.
 */
HALTER_API int halter_cancel(struct halter_guest *guest, uint64_t call);
/*
 * The same for small programs: dispatches until this call is finished and returns its status. Other
 * guests' callbacks and events run meanwhile. *result stays valid until the next function called
 * on this guest. EBUSY from a callback.
 */
HALTER_API int halter_call_wait(struct halter_guest *guest, const char *json, size_t json_bytes,
                                const struct halter_call_options *options,
                                struct halter_result *result);

/* ---- reverse calls: what a guest may ask of its host -------------------------------------------- */

/*
 * The application answers host.NAME(args): now, or later through the same request. `args` is a JSON
 * array, checked. Called from dispatch. Unanswered requests end with the guest's process: the
 * request then answers nothing, and must still be given back with one of the three functions below.
 */
typedef void (*halter_provide_fn)(struct halter_guest *guest, struct halter_request *request,
                                  const char *args, size_t args_bytes, void *data);
/*
 * Offers a capability. `name` is dotted identifiers, e.g. "ai.respond": host.ai.respond(…) gives a
 * promise and host.ai.respond.sync(…) blocks the script. Guests made later with the name among
 * their grants have it; in others it does not exist. EINVAL (a bad or taken name), ENOMEM.
 * fetch, open, list and all below state are built in: halter-permissions(5) has their grants.
 */
HALTER_API int halter_provide(struct halter_host *host, const char *name, halter_provide_fn fn,
                              void *data);
/* Answers with JSON. EJSON (the request is still open), ENOMEM. The request is gone on success. */
HALTER_API int halter_answer(struct halter_request *request, const char *json, size_t json_bytes);
/* The same with descriptors, which become the answer's files; they are duplicated. Also ESYSTEM. */
HALTER_API int halter_answer_fds(struct halter_request *request, const char *json,
                                 size_t json_bytes, const int *fds, unsigned nfds);
/* Fails it: the script gets an Error with this message. `denied` makes it a denial (an event). */
HALTER_API int halter_refuse(struct halter_request *request, bool denied, const char *message);
HALTER_API struct halter_guest *halter_request_guest(const struct halter_request *request);

/* ---- events ----------------------------------------------------------------------------------- */

enum halter_event_type {
    HALTER_EVENT_LOADED = 1,        /* a process has loaded the plugin */
    HALTER_EVENT_LOAD_FAILED = 2,   /* error: what the script got wrong */
    HALTER_EVENT_RELOADED = 3,
    HALTER_EVENT_RELOAD_FAILED = 4, /* error or death says why; the old version serves on */
    HALTER_EVENT_DEATH = 5,         /* death: a process has ended and its figures are known (a
                                       call that failed of it was told when the reason was) */
    HALTER_EVENT_RESTARTING = 6,    /* delay_ms until it is tried again */
    HALTER_EVENT_QUARANTINED = 7,   /* death: the last one */
    HALTER_EVENT_LOG = 8,           /* level, text: one line from console or host.log */
    HALTER_EVENT_STDERR = 9,        /* text: one line the helper wrote to its standard error */
    HALTER_EVENT_DROPPED = 10,      /* count: lines dropped over the rate since the last such event */
    HALTER_EVENT_DENIED = 11,       /* name, text: a reverse call that policy refused */
    HALTER_EVENT_LAUNCHER_LOST = 12, /* the launcher died and is being replaced; guest is NULL */
    HALTER_EVENT_AUDIT = 13,        /* name, text: what a guest did with a built-in capability, or was
                                       denied (level: INFO or WARN) */
};

enum halter_level { HALTER_DEBUG = 0, HALTER_INFO = 1, HALTER_WARN = 2, HALTER_ERR = 3 };

struct halter_event {
    enum halter_event_type type;
    struct halter_guest *guest;  /* NULL when it concerns the host, or a guest that is gone */
    const struct halter_death *death;
    const struct halter_script_error *error;
    enum halter_level level;
    const char *name;
    const char *text;  /* UTF-8, one line, already safe for a terminal */
    uint64_t count;
    uint32_t delay_ms;
};

/* ---- PCs ---------------------------------------------------------------------------------------- */

/*
 * The other kind of guest: a whole 32-bit x86 computer, emulated in a helper that is confined as a
 * plugin's is. It boots an unmodified kernel; its first serial port is a stream of bytes.
 */
struct halter_pc;

/* How a PC's run ended. */
enum halter_pc_reason {
    HALTER_PC_OFF = 1,          /* the guest halted with interrupts off: powered off */
    HALTER_PC_RESET = 2,        /* it asked for a reset, and no_reboot was set */
    HALTER_PC_TRIPLE_FAULT = 3, /* report_json says where */
    HALTER_PC_UNTIL = 4,        /* the last text of the script was seen */
    HALTER_PC_TIMEOUT = 5,      /* timeout_ms passed */
    HALTER_PC_NOT_STARTED = 6,  /* detail says why */
    HALTER_PC_DIED = 7,         /* its process died: death says of what */
};

struct halter_pc_end {
    enum halter_pc_reason reason;
    const char *detail;       /* one line, or "" */
    const char *report_json;  /* what the machine says at the end: instructions, times, the state
                                 after a triple fault; "{}" when it could not */
    const struct halter_death *death; /* or NULL */
};

/* Borrowed until it returns. Bytes of the console, as they come. */
typedef void (*halter_pc_console_fn)(struct halter_pc *pc, const void *bytes, size_t count,
                                     void *data);
typedef void (*halter_pc_log_fn)(struct halter_pc *pc, enum halter_level level, const char *text,
                                 void *data);
typedef void (*halter_pc_end_fn)(struct halter_pc *pc, const struct halter_pc_end *end, void *data);

/* What a PC was asked came to: `wrong` is NULL, or one line that says why not; `json` is its answer. */
typedef void (*halter_pc_answer_fn)(struct halter_pc *pc, const char *wrong, const char *json,
                                    void *data);

/* A helper has died, and another one goes on from where the PC was `lost_ms` ago. */
typedef void (*halter_pc_restart_fn)(struct halter_pc *pc, const struct halter_death *death,
                                     uint64_t lost_ms, void *data);

/* Its serial ports: the first is its console, the second a channel for programs. */
enum halter_pc_port { HALTER_PC_CONSOLE = 0, HALTER_PC_CHANNEL = 1 };

enum halter_pc_model { HALTER_PC_P6 = 0, HALTER_PC_PENTIUM3 = 1, HALTER_PC_PENTIUM_M = 2 };

/* One step of a script: wait for a text on the console, then type keys. Either may be NULL.
 * \n \r \t \e \\ and \xNN are understood in both. */
struct halter_pc_step {
    const char *until, *send;
};

/* A disk: /dev/vda is the first one. */
struct halter_pc_disk {
    int fd;         /* a regular file of whole sectors of 512 bytes, open for reading, and for writing
                       unless it is read-only or kept; duplicated */
    bool read_only; /* the guest cannot write */
    bool keep;      /* the file stays as it is: what the guest writes is gone when the PC is, but for
                       snapshots */
};
#define HALTER_PC_DISKS 3

struct halter_pc_options {
    size_t size;             /* set by HALTER_PC_INIT */
    const char *name;        /* for people; default "pc" */
    int kernel_fd;           /* a bzImage or a 32-bit ELF kernel, open for reading; duplicated. -1:
                                none, where resume_fd is given; a reset then ends the run */
    int initrd_fd;           /* or -1 */
    const char *append;      /* the kernel's command line; NULL: none */
    uint32_t ram_mb;         /* 2 to 3072; default 128 */
    enum halter_pc_model model;
    uint64_t rtc_seconds;    /* the date at power-on, seconds since 1970; UINT64_MAX: now */
    uint32_t icount_ns_q16;  /* guest time an instruction in 1/65536 ns: a deterministic run; 0: time
                                follows the host's clock */
    bool no_reboot;          /* a reset ends the run */
    bool verbose;            /* what the machine has to say is logged too */
    bool hash;               /* report_json has a hash of the whole machine */
    uint32_t trace;          /* bits: 1 ports, 2 interrupts */
    uint32_t heartbeat_ms;   /* a helper that echoes nothing for so long is killed; default 5000 */
    uint32_t timeout_ms;     /* of the run; 0: none */
    const struct halter_pc_step *steps; /* a script; when the last step only waits, it ends the run */
    unsigned nsteps;
    halter_pc_console_fn on_console;
    halter_pc_log_fn on_log; /* may be NULL */
    halter_pc_end_fn on_end; /* exactly once, unless the PC is destroyed first; may be NULL */
    void *data;
    int resume_fd;           /* a snapshot to go on from, open for reading, of a PC with the same RAM
                                and processor; or -1 */
    int save_fd;             /* an empty file where a snapshot is left at the end of the run; or -1 */
    uint64_t slice_insns;    /* the length of deterministic slices, which changes nothing else; 0: as
                                it comes */
    halter_pc_console_fn on_channel; /* what the guest sends on its second serial port. NULL: nothing
                                is plugged in there */
    uint32_t snapshot_every_ms; /* a snapshot is kept in memory, so often; 0: none is */
    uint32_t restarts;       /* a helper that dies is replaced by one that goes on from the last
                                snapshot, or from the start while there is none: so many times in a row
                                without a new snapshot in between; 0: its death is the PC's end */
    halter_pc_restart_fn on_restart; /* each time; may be NULL */
    const struct halter_pc_disk *disks; /* copied; HALTER_PC_DISKS at the most */
    unsigned ndisks;
    int overlay_fd;          /* an empty file open for reading and writing, for what disks must keep
                                from their files: that of `keep`, and all that is written after a
                                snapshot was saved or resumed; or -1 when all disks are read-only */
};
#define HALTER_PC_INIT                                                                             \
    {.size = sizeof(struct halter_pc_options), .kernel_fd = -1, .initrd_fd = -1,                   \
     .model = HALTER_PC_PENTIUM_M, .rtc_seconds = UINT64_MAX, .resume_fd = -1, .save_fd = -1,  \
     .overlay_fd = -1}

/* Makes a PC and switches it on. EINVAL, ENOMEM, ESYSTEM, ETOOBIG (the script), ECLOSED. */
HALTER_API int halter_pc_create(struct halter_host *host, const struct halter_pc_options *options,
                                struct halter_pc **out);
/*
 * Types bytes on its serial line. Returns how many were taken: at most 64 KiB wait for the guest,
 * and more are taken when it has read some (the descriptor is then readable). EINVAL, ECLOSED.
 */
HALTER_API long halter_pc_send(struct halter_pc *pc, const void *bytes, size_t count);
/* How many bytes halter_pc_send() would take now. */
HALTER_API size_t halter_pc_room(const struct halter_pc *pc);
/* Stops taking console output, so that the guest waits as on a serial line, or goes on. */
HALTER_API void halter_pc_hold(struct halter_pc *pc, bool hold);
/* The same for either serial port. */
HALTER_API long halter_pc_send_port(struct halter_pc *pc, enum halter_pc_port port,
                                    const void *bytes, size_t count);
HALTER_API size_t halter_pc_room_port(const struct halter_pc *pc, enum halter_pc_port port);
HALTER_API void halter_pc_hold_port(struct halter_pc *pc, enum halter_pc_port port, bool hold);
/*
 * Writes a snapshot of the running PC into `fd`, an empty file, which stays yours: it may be closed
 * at once. `fn` runs exactly once, unless the PC is destroyed first; a file of which it says that
 * something was wrong is of no use. EINVAL, EBUSY (one is under way, or the PC has not started yet),
 * ENOMEM, ECLOSED.
 */
HALTER_API int halter_pc_save(struct halter_pc *pc, int fd, halter_pc_answer_fn fn, void *data);
/* Asks for its state, for people: {"report": [lines]}. As halter_pc_save(). */
HALTER_API int halter_pc_report(struct halter_pc *pc, halter_pc_answer_fn fn, void *data);
/* Kills it; no callback. NULL is fine. */
HALTER_API void halter_pc_destroy(struct halter_pc *pc);
/* The helper's pid for people and tests, 0 when there is none now. */
HALTER_API int halter_pc_pid(const struct halter_pc *pc);

/* ---- accounts --------------------------------------------------------------------------------- */

#define HALTER_HISTOGRAM_BUCKETS 128

enum halter_request_kind {
#define HALTER_REQUEST_KIND(name, number, word) HALTER_REQUEST_##name = number,
#include "halter/requests.def"
#undef HALTER_REQUEST_KIND
};
#define HALTER_REQUEST_KINDS 16 /* room in the accounts; those not named yet are 0 */
/* "fetch", "state.get", ... ; "" for a number that is none. */
HALTER_API const char *halter_request_kind_text(enum halter_request_kind kind);

struct halter_stats {
    size_t size;           /* set by HALTER_STATS_INIT */
    uint64_t calls;        /* accepted */
    uint64_t succeeded, failed; /* finished; the rest are pending */
    uint64_t deaths[16];   /* by enum halter_death_reason */
    uint64_t restarts;     /* processes that loaded the plugin after the first */
    uint64_t log_lines, log_dropped;
    uint64_t requests, denials; /* reverse calls */
    uint64_t bytes_in, bytes_out; /* of JSON, to and from the plugin */
    uint64_t cpu_ns;       /* of the dead processes and, sampled now, the living one */
    uint64_t resident_bytes; /* now; 0 without a process */
    uint64_t peak_bytes;   /* the largest of all its processes that are reaped or sampled */
    uint64_t latency_sum_ns, latency_max_ns; /* of ran_ns over successes */
    uint64_t latency[HALTER_HISTOGRAM_BUCKETS]; /* bucket b: below halter_histogram_bound(b) */
    uint64_t requests_by_kind[HALTER_REQUEST_KINDS]; /* by enum halter_request_kind */
};
#define HALTER_STATS_INIT {.size = sizeof(struct halter_stats)}
/* Fills *stats: one look at /proc. EINVAL. */
HALTER_API int halter_guest_stats(struct halter_guest *guest, struct halter_stats *stats);
/* Upper bound of a bucket in ns: four buckets to each doubling, from 1 µs. */
HALTER_API uint64_t halter_histogram_bound(unsigned bucket);
/* The bound below which `fraction` (0 to 1) of a histogram's calls lie, in ns; 0 when it is empty. */
HALTER_API uint64_t halter_histogram_quantile(const uint64_t latency[HALTER_HISTOGRAM_BUCKETS],
                                              double fraction);

/*
 * Opens a socket at `path`, of mode 0600 and for this user only, that tells what the guests cost, in
 * HTTP: /status.json, /metrics (for Prometheus), and POST /guests/NUMBER/kill, reload or reset.
 * `halter top PATH` shows it. It is served by halter_dispatch() and removed by halter_destroy(). A
 * socket that nobody listens on any more is replaced.
 * EINVAL (path too long), EBUSY (there is one), ENOMEM, ESYSTEM (errno; EADDRINUSE: somebody does).
 */
HALTER_API int halter_status_listen(struct halter_host *host, const char *path);

/* ---- confinement ------------------------------------------------------------------------------- */

/* The layers of a compartment; HALTER_LAYER_BIT(x) in required_layers. confine.def describes them. */
enum halter_layer {
    HALTER_LAYER_NO_NEW_PRIVS = 0,
    HALTER_LAYER_SECCOMP = 1,
    HALTER_LAYER_LANDLOCK_FS = 2,
    HALTER_LAYER_LANDLOCK_NET = 3,
    HALTER_LAYER_LANDLOCK_SCOPE = 4,
    HALTER_LAYER_MDWE = 5,
    HALTER_LAYER_RLIMITS = 6,
    HALTER_LAYER_NO_CAPS = 7,
    HALTER_LAYER_UNPRIVILEGED_UID = 8,
    HALTER_LAYER_CLOSED_FDS = 9,
    HALTER_LAYER_EMPTY_ENV = 10,
    HALTER_LAYER_CGROUP_MEMORY = 11,
    HALTER_LAYER_NAMESPACES = 12,
    HALTER_LAYER_COUNT = 13,
};
#define HALTER_LAYER_BIT(layer) (1u << (layer))
/* What a helper must have in any case, whatever required_layers says. */
#define HALTER_LAYER_FLOOR                                                                         \
    (HALTER_LAYER_BIT(HALTER_LAYER_NO_NEW_PRIVS) | HALTER_LAYER_BIT(HALTER_LAYER_SECCOMP) |        \
     HALTER_LAYER_BIT(HALTER_LAYER_LANDLOCK_FS))
/* What the guest's process reported in its hello, bits; 0 when there is no process. */
HALTER_API uint32_t halter_guest_layers(const struct halter_guest *guest);

/* ---- text ------------------------------------------------------------------------------------- */

/*
 * Copies untrusted text so that it is safe on a terminal: control characters, invalid UTF-8 and
 * characters that hide or reorder others come out as visible escapes (\x1b, \u{202e}). New lines and
 * tabs stay when `multiline`. Always terminates; returns the length of the whole result, which may
 * be more than was written (as snprintf does). `out` may be NULL when `capacity` is 0.
 */
HALTER_API size_t halter_printable(char *out, size_t capacity, const char *text, size_t bytes,
                                   bool multiline);

#ifdef __cplusplus
}
#endif
#endif
