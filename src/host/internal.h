/*
 * What the files of libhalter share: the structs behind the opaque handles, and who calls whom.
 *
 *   host.c      the descriptor, dispatch, and the order things happen in
 *   launcher.c  the link to halter-launcher and the page that holds wall caps
 *   process.c   one helper process: its birth and its death; process_clock.c its deadlines,
 *               process_send.c what it is sent, process_read.c what it says
 *   pool.c      spares, and guests that wait for one
 *   guest.c     one plugin: loading, reloading, death and what follows
 *   call.c      one call: queued, sent, answered, canceled
 *   pc.c        one PC: its console, its heartbeat, its end
 *   request.c   reverse calls      event.c  events, log lines and their rate
 *   permits.c   what a guest may do, from its manifest and grants
 *   share.c     a guest's share of a processor
 *   services.c  the link to halter-services
 *   caps.c cap_*.c  the built-in capabilities
 *
 * Objects that a callback may destroy are freed by the dispatch that ran it, never at once.
 */
#ifndef HALTER_HOST_INTERNAL_H
#define HALTER_HOST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "halter/halter.h"
#include "host/death.h"
#include "host/grants.h"
#include "host/guest_table.h"
#include "host/list.h"
#include "host/process_table.h"
#include "host/services.h"
#include "host/timers.h"
#include "wire/awake.h"
#include "wire/body.h"
#include "wire/control.h"
#include "wire/frame.h"

#define NS_PER_MS 1000000ull

/* What holds where struct halter_plugin_options says nothing; halter.h names the same numbers. */
#define DEFAULT_LOAD_DEADLINE_MS 2000u
#define DEFAULT_DEADLINE_MS      1000u
#define DEFAULT_WALL_CAP_TIMES   10u /* the deadline */
#define DEFAULT_MEMORY_BYTES     (512ull << 20)
#define DEFAULT_LOG_LINES        1000u
#define DEFAULT_REQUESTS         10000u
#define DEFAULT_STATE_BYTES      (10ull << 20)

/* One descriptor in the host's epoll set. */
enum watch_kind { WATCH_TIMER, WATCH_WAKEUP, WATCH_LAUNCHER, WATCH_SOCKET, WATCH_STDERR,
                  WATCH_STATUS, WATCH_CLIENT };
struct watch {
    enum watch_kind kind;
    int fd; /* -1 when there is none */
    uint32_t events;
    void *owner;
};

/* The launcher as the host sees it. */
struct launcher {
    struct watch watch; /* the control socket */
    int pidfd;
    int former;         /* the pidfd of a lost one that was not quite dead yet, or -1 */
    bool ready;         /* it has said so */
    uint32_t features;
    struct control_page *page;
    struct timer restart; /* the launcher's own backoff */
    unsigned failures;    /* launchers in a row that never became ready */
    char *path;
    char time_zone[128]; /* "TZ=…" or "" */
    uint64_t slots_used[CONTROL_SLOTS / 64];
};

/* At a deadline or a death: more than a socket's buffer can hold, so that no answer is missed. */
#define READS_AT_DEADLINE 64

/* A line of untrusted text that is still being received. */
struct line {
    char bytes[1024];
    size_t length;
};

/*
 * What a process is for. A plugin's has none: its guest and the pool are told; halter-services and
 * a PC say here who is told of them instead.
 */
struct process_use {
    uint32_t layers; /* of confinement that its hello must report; 0: what the host requires */
    void (*offered)(struct process *process);  /* a good hello has come */
    void (*bereaved)(struct process *process); /* it is dead or as good as dead */
    void (*frame)(struct process *process, const struct wire_frame *frame);
};

struct process {
    const struct process_use *use; /* NULL: a plugin's */
    struct halter_pc *pc;          /* whose it is, when it is a PC's */
    struct list link; /* in host->processes */
    struct list pool_link; /* in a pool's spares, while it is one */
    struct halter_host *host;
    enum process_state state;
    struct control_profile profile;
    uint64_t generation;
    int pid;
    int pidfd;
    uint32_t slot;
    struct watch socket, errors;
    int launcher_ends[3]; /* the descriptors that the launcher gets, until SPAWN is sent */
    bool asked;           /* SPAWN was sent */
    bool answering;       /* as the launcher was told, see wire/control.h */
    struct wire_reader reader;
    struct wire_writer writer;
    struct list cork_link; /* in host->corked: the writer waits for the end of the dispatch */
    struct line line;
    uint32_t layers; /* from its hello */
    uint64_t born_ns;

    struct halter_guest *guest; /* whose it is, NULL for none (a spare, or a dead one) */
    bool incoming;              /* it is the guest's next one, for a reload */
    bool retired;               /* a reload has replaced it: its end is no event */
    uint64_t load_id;           /* the LOAD it works on, or 0 */
    struct list sent;           /* the calls it was sent and has not answered; it works on the first */
    unsigned nsent;
    size_t sent_bytes;
    uint64_t last_call;         /* the number of the call it worked on last, or works on */
    struct list requests;       /* reverse calls not answered yet */
    uint64_t last_request_id;

    struct timer deadline;      /* of hello, load or call */
    uint64_t paused_left_ns;    /* while reverse calls hold the clock: what was left of it */
    uint64_t paused_since_ns;
    struct timer memory_look;   /* only where there is no cgroup */
    struct timer share_look;    /* only where the guest has a share */
    uint64_t cpu_charged_ns;    /* of its CPU time, against the guest's share */

    bool mourned;               /* whoever it concerned has been told of its death */
    bool condemned;             /* to be killed by the next dispatch; SIGKILL is on its way */
    struct evidence evidence;   /* what is known of its death */
    char detail[160];
};

struct call {
    struct list link; /* in guest->queue, process->sent or guest->finished */
    uint64_t id, tick;
    char *json; /* a copy; NULL when it went to an idle process at once and is never sent again */
    size_t json_bytes;
    uint32_t deadline_ms, wall_cap_ms;
    halter_result_fn callback; /* NULL: canceled after it was sent, its answer is dropped */
    void *data;
    uint64_t queued_ns, host_ns;
    uint64_t started_ns; /* when its clock started: it is the first of those sent */
    int status; /* of a call in guest->finished: why it never ran */
    unsigned nfds;
    int fds[HALTER_FDS_MAX]; /* duplicates, owned */
};

struct source {
    char *text;
    size_t bytes;
};

struct rate {
    uint32_t per_second;
    uint64_t tokens_ns; /* time credit: one line costs 1 s / per_second */
    uint64_t refilled_ns;
    uint64_t dropped;
};

/* Of one processor, in percent; see share.c. 0: no limit. */
struct cpu_share {
    uint32_t percent;
    int64_t credit_ns; /* CPU time that may be used now; below 0: in debt */
    uint64_t looked_ns;
};

struct halter_guest {
    struct list link;      /* in host->guests */
    struct list wait_link; /* in a pool's queue of guests that wait for a process */
    struct list incoming_wait_link; /* the same, for a reload */
    struct halter_host *host;
    uint64_t number; /* for the status socket: counted over the host's life */
    enum halter_guest_state state;
    bool closing;          /* destroyed from a callback: to be freed */
    char *name, *path;
    char *capabilities;    /* names separated by '\n' */
    struct source source, next_source, manifest;
    struct halter_plugin_options given; /* its numbers, for when the manifest changes; texts are NULL */
    bool named_by_manifest, read_from_path;
    struct control_profile profile;
    uint32_t load_deadline_ms, deadline_ms, wall_cap_ms, queue_max;
    uint64_t memory_bytes;
    struct guest_rules rules;
    struct guest_record record;
    void *data;

    struct process *process;  /* that serves, or is being loaded */
    struct process *incoming; /* of a reload */
    bool reloading, switch_ready; /* incoming has loaded and waits for the call in flight */
    unsigned loads;           /* processes that loaded the plugin */
    struct list queue, finished;
    unsigned pending;         /* calls accepted and not finished */
    struct timer backoff;
    struct permit permit;     /* what it may do */
    uint64_t state_bytes;
    uint32_t output_bytes;
    unsigned fetches;         /* under way */
    struct rate requests;     /* its reverse calls */
    struct cpu_share share;
    struct rate rate;
    struct timer dropped_report;
    int last_failure;         /* status for calls refused in QUARANTINED or FAILED */
    uint64_t ticks;
    uint64_t usual_ns; /* what a call takes of late: a moving average of ran_ns */
    uint64_t middle_ns; /* and about the median of it */

    struct halter_stats stats;
    struct halter_script_error load_error; /* of the last load that failed, for the calls it fails */
    char *load_error_storage;
    void *wait_buffer;        /* the result of the last halter_call_wait() */
};

struct provided {
    char *name;
    enum halter_request_kind kind;
    halter_provide_fn fn;
    void *data;
};

struct halter_request {
    struct list link;      /* in process->requests, while the process lives */
    struct list host_link; /* in host->requests */
    struct halter_host *host;
    struct halter_guest *guest; /* NULL once it is gone */
    struct process *process;    /* NULL once it is dead */
    const char *name;
    uint64_t id;
    /* A built-in capability at work: called when the process dies, and gives the request back. */
    void (*abandon)(struct halter_request *request);
    void *work;
};

struct pool {
    struct control_profile profile;
    unsigned guests;         /* that use this profile */
    struct list spares;      /* processes in PROCESS_SPARE */
    unsigned starting;       /* processes in PROCESS_STARTING */
    struct list waiting;     /* guests */
    struct list incoming;    /* guests that wait for a second process */
    unsigned failures;       /* processes in a row that died before they were anybody's */
    struct timer pause;      /* no spares are made while it is armed */
};

/* The status socket. */
struct monitor {
    struct watch watch;
    char *path; /* NULL: there is none */
    struct list clients, dropped;
    unsigned nclients;
};

struct halter_host {
    int epoll;
    struct watch timer, wakeup;
    uint64_t timer_armed_ns; /* what the timerfd is set to, 0 for nothing */
    struct timers timers;
    size_t timer_owners; /* timers that exist, armed or not: there is room for all of them */
    struct launcher launcher;
    char *locale;
    unsigned spares;
    uint32_t cap;
    uint32_t required_layers;
    uint32_t spawn_deadline_ms;
    halter_event_fn on_event;
    void *data;

    bool dispatching;
    struct list events; /* deferred_event: they came about outside a dispatch */
    struct list requests; /* reverse calls that the application has not given back */
    struct list corked; /* processes with frames that nothing is in a hurry for */
    struct list processes, guests, pcs;
    struct list buried; /* processes to be freed at the end of the dispatch */
    struct pool **pools;
    unsigned npools;
    struct provided *provided;
    unsigned nprovided;
    struct services services;
    bool audit;
    struct monitor monitor;
    uint64_t last_guest_number;
    uint64_t last_generation, last_call_id;
    unsigned depth;    /* > 0: inside a callback */
    unsigned progress; /* callbacks run in this dispatch */
    bool closing, woken, deferred;
    bool may_stay_awake;       /* there is more than one processor */
    struct wire_awake awake;   /* whether it has paid to */
    unsigned working;          /* processes with a call */
    uint64_t working_for_ns;   /* what the call that was sent last takes as a rule */
    bool unasked; /* a process waits for the launcher to take its SPAWN */
    struct call *free_calls; /* spare structs, linked by link.next */
    char *scratch;           /* for making text printable */
    size_t scratch_bytes;
};

/* host.c */
uint64_t monotonic_ns(void);
int host_watch(struct halter_host *host, struct watch *watch, uint32_t events);
void host_unwatch(struct halter_host *host, struct watch *watch); /* and closes it */
int host_want_write(struct halter_host *host, struct watch *watch, bool wanted);
/* Room for so many more timers: 0 or -1. host_drop_timers() when their owner is freed. */
int host_need_timers(struct halter_host *host, size_t count);
void host_drop_timers(struct halter_host *host, size_t count);
void host_defer(struct halter_host *host); /* something waits for the next dispatch */
static inline void host_enter(struct halter_host *host)
{
    host->depth++;
    host->progress++;
}
static inline void host_leave(struct halter_host *host)
{
    host->depth--;
}

/* launcher.c: 0 or a negative status */
int launcher_start(struct halter_host *host);
void launcher_stop(struct halter_host *host);
void launcher_readable(struct halter_host *host);
int launcher_spawn(struct halter_host *host, struct process *process);
void launcher_ask(struct halter_host *host); /* for the processes not asked for yet */
void launcher_kill(struct halter_host *host, struct process *process);
int launcher_take_slot(struct halter_host *host, uint32_t *slot);
void launcher_give_slot(struct halter_host *host, uint32_t slot);
void launcher_arm(struct halter_host *host, struct process *process, uint64_t kill_at_ns,
                  uint64_t call_id);
void launcher_disarm(struct halter_host *host, struct process *process);
/* Tells the launcher whether part of an answer has been read whose rest is still to come. */
void launcher_answering(struct halter_host *host, struct process *process, bool answering);

/* process.c, process_clock.c, process_send.c, process_read.c */
struct process *process_create(struct halter_host *host, const struct control_profile *profile,
                               const struct process_use *use);
void process_free(struct process *process);
void process_event(struct process *process, enum process_event event);
/* Kills it for a reason; `detail` may be NULL. The guest, if any, hears of it at once. */
void process_kill(struct process *process, enum halter_death_reason reason, const char *detail);
/* The same from outside a dispatch or from a callback: it dies now, its guest hears of it later. */
void process_condemn(struct process *process, enum halter_death_reason reason, const char *detail);
void process_run_condemned(struct process *process);
void process_spawned(struct process *process, int pid, int pidfd, int error);
void process_exited(struct process *process, const struct control_message *message);
void process_readable(struct process *process);
void process_writable(struct process *process); /* sends what waits, as far as it goes */
void process_errors_readable(struct process *process);
/* Sends a frame at once, as far as the socket takes it. 0, ENOMEM or ESYSTEM: nothing was sent. */
int process_send(struct process *process, const struct wire_frame *header,
                 const struct iovec *parts, unsigned nparts, const int *fds);
int process_load(struct process *process, struct halter_guest *guest, const struct source *source);
/* Sends a call, behind those that are not answered yet. 0 or ENOMEM. */
int process_send_call(struct process *process, struct call *call, const char *json);
/* The call it works on, or NULL. */
struct call *process_call(const struct process *process);
/* The first call is over: takes it out, stops its clock and starts that of the next. */
struct call *process_take_call(struct process *process, uint64_t now_ns, uint64_t *host_ns);
/* The clock stops while the host works on at least one reverse call. */
void process_pause(struct process *process, uint64_t now_ns);
void process_resume(struct process *process, uint64_t now_ns);
/* Stops the clock of a load or call that is over; returns what the host's own work took of it. */
uint64_t process_settle(struct process *process, uint64_t now_ns);
void process_clocks_init(struct process *process);
/* SIGKILL, and nothing else: the states are process_kill()'s. */
void process_sigkill(struct process *process);
/* Of the load or call `id`, which begins now. */
void process_start_clocks(struct process *process, uint64_t now, uint32_t deadline_ms,
                          uint32_t wall_cap_ms, uint64_t id);
/* The end of a line, as an event. */
void process_flush_line(struct process *process);

/* monitor.c */
void monitor_init(struct monitor *monitor);
void monitor_finish(struct halter_host *host);
void monitor_accept(struct halter_host *host);
void monitor_client(struct halter_host *host, struct watch *watch);
void monitor_bury(struct halter_host *host);

/* pool.c */
struct pool *pool_for(struct halter_host *host, const struct control_profile *profile);
void pool_join(struct pool *pool);
void pool_leave(struct halter_host *host, struct pool *pool);
/* Gives `guest` a process now, or when there is one; `incoming` for a reload. */
void pool_acquire(struct halter_host *host, struct halter_guest *guest, bool incoming);
void pool_forget(struct halter_guest *guest, bool incoming);
void pool_offer(struct process *process);
void pool_withdraw(struct process *process);
/* One died before it was anybody's. A guest that waits for it is bereaved; else spares pause. */
void pool_bereaved(struct process *process);
void pool_refill(struct halter_host *host);
void pools_finish(struct halter_host *host);

/* guest.c */
void guest_event(struct halter_guest *guest, enum guest_event event, uint32_t delay_ms);
void guest_adopt(struct halter_guest *guest, struct process *process, bool incoming);
void guest_loaded(struct halter_guest *guest, struct process *process);
void guest_load_error(struct halter_guest *guest, struct process *process,
                      const struct halter_script_error *error);
void guest_bereaved(struct halter_guest *guest, struct process *process);
void guest_unserved(struct halter_host *host, struct halter_guest *guest, bool incoming);
/* Lets the process of a finished reload take over, unless a call is in flight. */
void guest_switch(struct halter_guest *guest);
void guest_free(struct halter_guest *guest);

/* Takes limits over; `o` has been lowered to what the manifest says. */
void guest_set_limits(struct halter_guest *guest, const struct halter_plugin_options *o);
/* What its processes are made as under these options. */
struct control_profile guest_profile(const struct halter_guest *guest,
                                     const struct halter_plugin_options *o);
/* The text of its path or, without one, that it has: 0 or a status. */
int guest_reread(struct halter_guest *guest, struct source *out);
/* Loads what was read in a second process: *source is the guest's then. */
void guest_start_reload(struct halter_guest *guest, struct source *source);
/* permits.c: from the manifest and the grants; lowers the limits in *options. 0 or a status. */
int guest_permit(struct halter_guest *guest, struct halter_plugin_options *options);

/* pc.c: the PCs that came to their end, and what callbacks closed. */
void pcs_run_deferred(struct halter_host *host);
void pcs_finish(struct halter_host *host);

/* call.c */
/* Sends what may be sent: one call, or a few ahead of the first while they are quick. */
void call_next(struct halter_guest *guest);
/* The calls that were sent behind the first go back to the front of the queue. */
void calls_take_back(struct halter_guest *guest, struct process *process);
void call_answered(struct process *process, const struct wire_frame *frame);
void call_failed(struct halter_guest *guest, struct call *call, int status,
                 const struct halter_death *death);
void call_forget_kept(struct halter_guest *guest);
/* Its callback runs from the next dispatch. */
void call_finish_later(struct halter_guest *guest, struct call *call, int status);
void call_fail_queue(struct halter_guest *guest, int status);
void calls_run_finished(struct halter_guest *guest);
void calls_finish(struct halter_host *host);
/* Decodes an ERROR body: its texts, terminated, live in *storage, which the caller frees. */
bool script_error_read(struct halter_script_error *error, int *status, char **storage,
                       const struct wire_frame *frame);

/* Deep copy; the texts live in *storage, which is freed and made anew. Silent without memory. */
void script_error_copy(struct halter_script_error *to, char **storage,
                       const struct halter_script_error *from);

/* request.c */
void request_arrived(struct process *process, const struct wire_frame *frame);
/* As halter_provide, for names that are built in. */
int request_provide(struct halter_host *host, const char *name, halter_provide_fn fn, void *data);
/* As halter_refuse, with the kind of error; DENIED is an event. */
int request_refuse(struct halter_request *request, enum wire_error_kind kind, const char *message);
/* Gives it back unanswered: its process is dead. */
void request_drop(struct halter_request *request);
void requests_orphan(struct process *process);
void requests_disown(struct halter_guest *guest);

/* event.c */
/* Runs the application's callback; from outside a dispatch it is kept for the next one. */
void event_emit(struct halter_host *host, struct halter_event *event);
void events_run_deferred(struct halter_host *host);
void events_forget(struct halter_host *host, const struct halter_guest *guest); /* NULL: all */
void event_line(struct process *process, enum halter_event_type type, enum halter_level level,
                const char *text, size_t bytes);
void event_dropped(struct halter_guest *guest, uint64_t lines);
void event_death(struct process *process);
void death_describe(const struct process *process, struct halter_death *death);
void guest_rate_init(struct halter_guest *guest, uint32_t lines_per_second);
void rate_init(struct rate *rate, uint32_t per_second);
bool rate_may_pass(struct rate *rate);

/* stats.c */
void stats_latency(struct halter_stats *stats, uint64_t ns);
uint64_t process_resident_bytes(const struct process *process);
uint64_t process_cpu_ns(const struct process *process);

/* share.c */
void share_init(struct cpu_share *share, uint32_t percent);
void share_reset(struct cpu_share *share); /* as if it had used nothing */
void share_process_init(struct process *process);
/* From here on its CPU time is the guest's. */
void share_adopt(struct halter_guest *guest, struct process *process);
/* It has begun to work on something: its use is looked at soon, and then on and on. */
void share_working(struct process *process);
/* Takes what the process has used since the last look off the guest's credit. */
void share_charge(struct halter_guest *guest, struct process *process);
/* How long a guest in debt has to wait until it may have a process again; 0 when it is in none. */
uint32_t share_wait_ms(struct halter_guest *guest);

/* where.c: allocated, or NULL (no memory) */
char *where_launcher(const char *given);
char *where_absolute(const char *path);
char *where_locale(const char *given);
void where_time_zone(const char *given, char *out, size_t capacity);

#endif
