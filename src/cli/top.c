/*
 * `halter top SOCKET`: the guests of a program that has opened a status socket (halter run --status,
 * halter_status_listen), as a table that refreshes, once, or as the JSON or Prometheus text itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "cli/buffer.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "halter/halter.h"

#define GUESTS_MAX 4096

enum { TOP_JSON, TOP_PROMETHEUS, TOP_ONCE, TOP_SORT, TOP_INTERVAL };

static const struct option_spec top_options[] = {
    [TOP_JSON] = {"json", 0, NULL, "print the status as JSON and end"},
    [TOP_PROMETHEUS] = {"prometheus", 0, NULL, "print it as Prometheus text and end"},
    [TOP_ONCE] = {"once", '1', NULL, "print the table once and end"},
    [TOP_SORT] = {"sort", 's', "COLUMN", "memory, cpu, calls, p95, kills, denials or name"},
    [TOP_INTERVAL] = {"interval", 'i', "TIME", "between two looks; default 1s"},
    {0},
};

static const char *const sorts[] = {"memory", "cpu", "calls", "p95", "kills", "denials", "name", NULL};
enum { SORT_MEMORY, SORT_CPU, SORT_CALLS, SORT_P95, SORT_KILLS, SORT_DENIALS, SORT_NAME };

struct row {
    uint64_t number, resident, cpu_ns, calls, failed, deaths, denials;
    double p95_ms;
    char state[24], asked[256], name[96];
};

struct top {
    const char *path;
    int sort;
    uint32_t interval_ms;
    struct row rows[GUESTS_MAX];
    unsigned nrows, chosen;
    uint64_t chosen_number;
    char note[128];
};

/* One request, one reply without its head; false is said. */
static bool ask(const char *path, const char *method, const char *what, struct buffer *reply)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char request[160];
    if (strlen(path) >= sizeof address.sun_path) {
        say("%s: the path of a socket has less than %zu bytes", path, sizeof address.sun_path);
        return false;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5}; /* the program may not be dispatching */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int length = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n\r\n", method, what);
    ssize_t n = -1;
    buffer_reset(reply, 1 << 20);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, request, (size_t)length, MSG_NOSIGNAL) == length)
        do {
            buffer_reserve(reply, 65536);
            n = recv(fd, reply->bytes + reply->used, 65535, 0);
            reply->used += n > 0 ? (size_t)n : 0;
        } while (n > 0);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    buffer_byte(reply, '\0');
    char *body = strstr(reply->bytes, "\r\n\r\n");
    if (n < 0 || !body) {
        say("%s: %s", path, n < 0 ? strerror(saved) : "no answer: is it another user's?");
        return false;
    }
    bool fine = strncmp(reply->bytes, "HTTP/1.0 200", 12) == 0;
    reply->used -= (size_t)(body + 4 - reply->bytes) + 1;
    memmove(reply->bytes, body + 4, reply->used + 1);
    return fine;
}

static int compare(const void *first, const void *second, void *data)
{
    const struct row *a = first, *b = second;
    double x = 0, y = 0;
    switch (*(int *)data) {
    case SORT_NAME:
        return strcmp(a->name, b->name);
    case SORT_MEMORY:
        x = (double)a->resident, y = (double)b->resident;
        break;
    case SORT_CPU:
        x = (double)a->cpu_ns, y = (double)b->cpu_ns;
        break;
    case SORT_CALLS:
        x = (double)a->calls, y = (double)b->calls;
        break;
    case SORT_P95:
        x = a->p95_ms, y = b->p95_ms;
        break;
    case SORT_KILLS:
        x = (double)a->deaths, y = (double)b->deaths;
        break;
    case SORT_DENIALS:
        x = (double)a->denials, y = (double)b->denials;
        break;
    }
    if (x != y)
        return x < y ? 1 : -1;
    return a->number < b->number ? -1 : 1;
}

static bool refresh(struct top *top, struct buffer *reply)
{
    if (!ask(top->path, "GET", "/status.tsv", reply))
        return false;
    top->nrows = 0;
    char *rest = reply->bytes, *line;
    while ((line = strsep(&rest, "\n")) && top->nrows < GUESTS_MAX) {
        struct row *row = &top->rows[top->nrows];
        int at = 0;
        if (sscanf(line,
                   "%" SCNu64 "\t%23[^\t]\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64
                   "\t%lf\t%" SCNu64 "\t%" SCNu64 "\t%255[^\t]\t%n",
                   &row->number, row->state, &row->resident, &row->cpu_ns, &row->calls, &row->failed,
                   &row->p95_ms, &row->deaths, &row->denials, row->asked, &at) < 10 ||
            !at)
            continue;
        halter_printable(row->name, sizeof row->name, line + at, strlen(line + at), false);
        top->nrows++;
    }
    qsort_r(top->rows, top->nrows, sizeof *top->rows, compare, &top->sort);
    for (unsigned i = 0; i < top->nrows; i++)
        if (top->rows[i].number == top->chosen_number)
            top->chosen = i;
    if (top->chosen >= top->nrows)
        top->chosen = top->nrows ? top->nrows - 1 : 0;
    return true;
}

static void print_table(const struct top *top, unsigned most, bool screen)
{
    const char *end = screen ? "\x1b[K\n" : "\n";
    printf("%6s %-12s %9s %9s %10s %8s %10s %6s %8s  %s%s", "", "state", "MiB", "CPU s", "calls",
           "failed", "p95 ms", "kills", "denials", "name", end);
    for (unsigned i = 0; i < top->nrows && i < most; i++) {
        const struct row *row = &top->rows[i];
        bool marked = screen && i == top->chosen;
        printf("%s%6" PRIu64 " %-12s %9.1f %9.2f %10" PRIu64 " %8" PRIu64 " %10.3f %6" PRIu64
               " %8" PRIu64 "  %s%s%s",
               marked ? "\x1b[7m" : "", row->number, row->state, (double)row->resident / 1048576.0,
               (double)row->cpu_ns / 1e9, row->calls, row->failed, row->p95_ms, row->deaths,
               row->denials, row->name, marked ? "\x1b[0m" : "", end);
        /* What it asked of its host: of the chosen one on a screen, which has not the room for all. */
        if (strcmp(row->asked, "-") != 0 && (marked || !screen))
            printf("%6s host calls: %s%s", "", row->asked, end);
    }
}

static void draw(const struct top *top)
{
    struct winsize size = {.ws_row = 24};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    printf("\x1b[H%u guests, by %s  \x1b[2marrows choose · s sort · k kill · r reload · q end\x1b[0m"
           "  %s\x1b[K\n",
           top->nrows, sorts[top->sort], top->note);
    print_table(top, size.ws_row > 5 ? size.ws_row - 4u : 1, true);
    printf("\x1b[J");
    fflush(stdout);
}

static void act(struct top *top, const char *verb, struct buffer *reply)
{
    char what[64];
    if (!top->nrows)
        return;
    const struct row *row = &top->rows[top->chosen];
    snprintf(what, sizeof what, "/guests/%" PRIu64 "/%s", row->number, verb);
    bool done = ask(top->path, "POST", what, reply);
    snprintf(top->note, sizeof top->note, "%s of %.60s: %s", verb, row->name,
             done ? "done" : "refused");
}

/* False at the end. */
static bool obey(struct top *top, struct buffer *reply)
{
    char keys[16];
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0 || keys[0] == 'q' || keys[0] == 3)
        return false;
    if (keys[0] == 's')
        top->sort = (top->sort + 1) % (SORT_NAME + 1);
    else if (keys[0] == 'k')
        act(top, "kill", reply);
    else if (keys[0] == 'r')
        act(top, "reload", reply);
    else if (count >= 3 && keys[2] == 'A' && top->chosen > 0)
        top->chosen--;
    else if (count >= 3 && keys[2] == 'B' && top->chosen + 1 < top->nrows)
        top->chosen++;
    top->chosen_number = top->nrows ? top->rows[top->chosen].number : 0;
    return true;
}

static int live(struct top *top, struct buffer *reply)
{
    struct termios before, raw;
    if (tcgetattr(STDIN_FILENO, &before) < 0) {
        say("standard input is no terminal; --once, --json and --prometheus need none");
        return EXIT_USAGE;
    }
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    printf("\x1b[?1049h\x1b[?25l");
    bool alive;
    while ((alive = refresh(top, reply))) {
        draw(top);
        struct pollfd key = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&key, 1, (int)top->interval_ms) > 0 && !obey(top, reply))
            break;
    }
    printf("\x1b[?25h\x1b[?1049l");
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    return alive ? EXIT_OK : EXIT_IO;
}

static int top_main(const struct verb *verb, int argc, char **argv)
{
    static struct top top = {.interval_ms = 1000};
    struct options options;
    struct buffer reply = {0};
    const char *page = NULL;
    bool once = false;
    int option, status = EXIT_OK;
    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) >= 0) {
        if (option == TOP_JSON)
            page = "/status.json";
        else if (option == TOP_PROMETHEUS)
            page = "/metrics";
        else if (option == TOP_ONCE)
            once = true;
        else if (option == TOP_SORT ? !option_word("sort", options.value, sorts, &top.sort)
                                    : !option_ms("interval", options.value, &top.interval_ms))
            return EXIT_USAGE;
    }
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return EXIT_OK;
    }
    if (option == OPTIONS_WRONG || options.noperands != 1) {
        if (option != OPTIONS_WRONG)
            say("name one status socket: that of halter run --status, or an application's own");
        return EXIT_USAGE;
    }
    top.path = options.operands[0];
    if (page) {
        status = ask(top.path, "GET", page, &reply) ? EXIT_OK : EXIT_IO;
        if (status == EXIT_OK)
            fwrite(reply.bytes, 1, reply.used, stdout);
    } else if (once) {
        status = refresh(&top, &reply) ? EXIT_OK : EXIT_IO;
        if (status == EXIT_OK)
            print_table(&top, GUESTS_MAX, false);
    } else {
        status = live(&top, &reply);
    }
    buffer_finish(&reply);
    return status;
}

const struct verb top_verb = {
    .name = "top",
    .summary = "show the guests of a running program and what they cost",
    .synopsis = "SOCKET",
    .description = "Shows the guests of a program that has opened a status socket, as halter run\n"
                   "--status SOCKET does, or any application with halter_status_listen().",
    .options = top_options,
    .main = top_main,
};
