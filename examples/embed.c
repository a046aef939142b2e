/*
 * A whole host in one file: its own poll() loop, a heartbeat ten times a second, and three plugins.
 * One behaves. One hangs on every fifth call. One takes memory until its process is killed. The
 * heartbeat is what a user interface would be: it must never miss, whatever the plugins do, and
 * this program exits with 1 if it did.
 *
 *   cc embed.c $(pkg-config --cflags --libs halter) -o embed && ./embed [SECONDS]
 */
#include <errno.h>
#include <halter/halter.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 100

/* A plugin is a script that sets globalThis.transform. These come as text; files work the same. */
static const struct {
    const char *name;
    uint32_t deadline_ms;
    const char *source;
} scripts[] = {
    /* a status line from a list of tabs */
    {"polite", 250,
     "globalThis.transform = ({ tabs }) =>"
     "  `${tabs.length} tabs, ${tabs.filter(t => t.busy).length} busy`;"},
    /* on every fifth call, for ever */
    {"hangs", 250,
     "let calls = 0;"
     "globalThis.transform = raw => { if (++calls % 5 === 0) for (;;); return calls; };"},
    /* keeps a little more on each call, and after the tenth everything it can get */
    {"hog", 5000,
     "const kept = [];"
     "globalThis.transform = raw => {"
     "  do kept.push(new Uint8Array(8 << 20).fill(1)); while (kept.length > 10);"
     "  return `${kept.length * 8} MiB kept`; };"},
};
enum { PLUGINS = sizeof scripts / sizeof *scripts };

struct plugin {
    struct halter_guest *guest;
    unsigned answers, failures, deaths;
    bool asked; /* a call is pending */
    int last_status;
};

struct app {
    struct halter_host *host;
    struct plugin plugins[PLUGINS];
    int timer;
    unsigned beats, missed;
    int64_t started_ms, latest_ms; /* the latest a beat was */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Each call that was accepted ends here, once, with a result or with the reason why not. */
static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct plugin *plugin = data;
    plugin->asked = false;
    plugin->last_status = result->status;
    if (result->status == HALTER_OK) {
        plugin->answers++;
        return;
    }
    plugin->failures++;
    printf("%-7s call %llu failed: %s\n", halter_guest_name(guest),
           (unsigned long long)result->call, halter_strerror(result->status));
}

/* What happens beside calls: here, how each process died, once its figures are final. */
static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    (void)host;
    (void)data;
    if (event->type == HALTER_EVENT_LOAD_FAILED && event->error)
        printf("%-7s does not load: %s\n", halter_guest_name(event->guest), event->error->message);
    if (event->type != HALTER_EVENT_DEATH || !event->death->final || !event->guest)
        return;
    struct plugin *plugin = halter_guest_data(event->guest);
    plugin->deaths++;
    printf("%-7s process %d died: %s; it had used %.1f MiB and %.0f ms of CPU time\n",
           halter_guest_name(event->guest), event->death->pid,
           halter_death_text(event->death->reason), (double)event->death->peak_bytes / 1048576.0,
           (double)event->death->cpu_ns / 1e6);
}

static int make_plugins(struct app *app)
{
    for (int i = 0; i < PLUGINS; i++) {
        struct halter_plugin_options options = HALTER_PLUGIN_INIT;
        options.name = scripts[i].name;
        options.source = scripts[i].source;
        options.deadline_ms = scripts[i].deadline_ms;
        options.memory_bytes = 192u << 20;
        options.data = &app->plugins[i];
        int status = halter_plugin_create(app->host, &options, &app->plugins[i].guest);
        if (status != HALTER_OK)
            return status;
    }
    return HALTER_OK;
}

/* Asks each plugin that is not already at work. A failure to ask is a result like any other. */
static void ask(struct app *app)
{
    static const char tabs[] =
        "{\"tabs\":[{\"title\":\"build\",\"busy\":true},{\"title\":\"mail\"}]}";
    for (int i = 0; i < PLUGINS; i++) {
        struct plugin *plugin = &app->plugins[i];
        if (plugin->asked)
            continue;
        int status =
            halter_call(plugin->guest, tabs, sizeof tabs - 1, NULL, on_result, plugin, NULL);
        plugin->asked = status == HALTER_OK;
        plugin->last_status = status;
    }
}

/* One beat. The timer counts how many have passed since it was read: more than one is a miss. */
static void beat(struct app *app)
{
    uint64_t passed = 0;
    if (read(app->timer, &passed, sizeof passed) != (ssize_t)sizeof passed)
        return;
    app->beats += (unsigned)passed;
    app->missed += (unsigned)passed - 1;
    int64_t late = now_ms() - app->started_ms - (int64_t)app->beats * BEAT_MS;
    if (late > app->latest_ms)
        app->latest_ms = late;
    ask(app);
    if (app->beats % 10 != 0)
        return;
    printf("beat %-3u", app->beats);
    for (int i = 0; i < PLUGINS; i++)
        printf("  %s: %u answers, %s", scripts[i].name, app->plugins[i].answers,
               halter_guest_state_text(halter_guest_state(app->plugins[i].guest)));
    printf("  (%u missed)\n", app->missed);
    fflush(stdout);
}

/* The loop is the application's own: two descriptors here, a window and a network elsewhere. */
static int loop(struct app *app, int64_t seconds)
{
    while (now_ms() < app->started_ms + seconds * 1000) {
        struct pollfd fds[] = {
            {.fd = app->timer, .events = POLLIN},
            {.fd = halter_fd(app->host), .events = POLLIN},
        };
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return HALTER_ESYSTEM;
        if (fds[0].revents)
            beat(app);
        if (fds[1].revents) {
            int count = halter_dispatch(app->host, 0);
            if (count < 0)
                return count;
        }
    }
    return HALTER_OK;
}

static int start_heartbeat(struct app *app)
{
    struct itimerspec every = {
        .it_interval = {.tv_nsec = BEAT_MS * 1000000L},
        .it_value = {.tv_nsec = BEAT_MS * 1000000L},
    };
    app->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    app->started_ms = now_ms();
    return app->timer < 0 ? -1 : timerfd_settime(app->timer, 0, &every, NULL);
}

static int conclude(const struct app *app)
{
    const struct plugin *polite = &app->plugins[0], *hangs = &app->plugins[1],
                        *hog = &app->plugins[2];
    printf("\n%u heartbeats, %u missed, the latest %lld ms late\n", app->beats, app->missed,
           (long long)app->latest_ms);
    for (int i = 0; i < PLUGINS; i++)
        printf("%-7s %3u answers, %2u failures, %2u deaths\n", scripts[i].name,
               app->plugins[i].answers, app->plugins[i].failures, app->plugins[i].deaths);
    bool fine = app->missed == 0 && polite->answers > 0 && polite->failures == 0 &&
                hangs->answers > 0 && hangs->deaths > 0 && hog->answers > 0 && hog->deaths > 0;
    puts(fine ? "No plugin could stop this program." : "A promise was broken.");
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct app app = {.timer = -1};
    struct halter_options options = HALTER_OPTIONS_INIT;
    options.on_event = on_event;
    int status = halter_create(&options, &app.host);
    if (status == HALTER_OK)
        status = make_plugins(&app);
    if (status == HALTER_OK && start_heartbeat(&app) < 0)
        status = HALTER_ESYSTEM;
    if (status == HALTER_OK)
        status = loop(&app, argc > 1 ? atoi(argv[1]) : 5);
    if (status != HALTER_OK)
        fprintf(stderr, "embed: %s%s%s\n", halter_strerror(status),
                status == HALTER_ESYSTEM ? ": " : "",
                status == HALTER_ESYSTEM ? strerror(errno) : "");
    int result = status == HALTER_OK ? conclude(&app) : EXIT_FAILURE;
    halter_destroy(app.host); /* plugins and processes go with it */
    if (app.timer >= 0)
        close(app.timer);
    return result;
}
