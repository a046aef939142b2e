/*
 * Figures of a run: added up over the guests, written as one JSON object or shown as a table.
 */
#include "cli/run_stats.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/say.h"

static const char *ending_word(const struct run *run)
{
    switch (run->ending) {
    case ENDING_NONE:
        return "complete";
    case ENDING_STOP:
        return "stopped at a failure";
    case ENDING_PLUGIN:
        return "no usable guest";
    case ENDING_SIGNAL:
        return "signal";
    case ENDING_BROKEN:
        return "the output's reader left";
    case ENDING_IO:
        return "input or output failed";
    case ENDING_HALTER:
        break;
    }
    return "halter failed";
}

void run_figures(struct run *run, struct run_figures *figures)
{
    *figures = (struct run_figures){0};
    for (unsigned i = 0; i < run->config.jobs; i++) {
        struct halter_stats stats = HALTER_STATS_INIT;
        if (!run->jobs[i].guest || halter_guest_stats(run->jobs[i].guest, &stats) != HALTER_OK)
            continue;
        for (unsigned b = 0; b < HALTER_HISTOGRAM_BUCKETS; b++)
            figures->latency[b] += stats.latency[b];
        for (unsigned r = 0; r < 16; r++)
            figures->deaths[r] += stats.deaths[r];
        figures->restarts += stats.restarts;
        figures->cpu_ns += stats.cpu_ns;
        figures->log_lines += stats.log_lines;
        figures->log_dropped += stats.log_dropped;
        figures->requests += stats.requests;
        for (unsigned k = 0; k < HALTER_REQUEST_KINDS; k++)
            figures->by_kind[k] += stats.requests_by_kind[k];
        figures->denials += stats.denials;
        if (stats.peak_bytes > figures->peak_bytes)
            figures->peak_bytes = stats.peak_bytes;
        if (stats.latency_max_ns > figures->max_ns)
            figures->max_ns = stats.latency_max_ns;
    }
    for (unsigned r = 1; r < 16; r++)
        figures->deaths_total += r == HALTER_DEATH_KILLED ? 0 : figures->deaths[r];
    figures->p50_ns = halter_histogram_quantile(figures->latency, 0.50);
    figures->p95_ns = halter_histogram_quantile(figures->latency, 0.95);
    figures->p99_ns = halter_histogram_quantile(figures->latency, 0.99);
}

static void key_object(struct buffer *out, const char *key)
{
    buffer_key(out, key);
    buffer_byte(out, '{');
}

static void write_records(struct run *run, struct buffer *out)
{
    const struct tally *tally = &run->tally;
    double seconds = (double)(now_ns() - run->started_ns) / 1e9;
    key_object(out, "records");
    buffer_key_number(out, "read", tally->read);
    buffer_key_number(out, "written", tally->written);
    buffer_key_number(out, "dropped", tally->dropped);
    buffer_key_number(out, "failed", tally->failed);
    buffer_key_number(out, "unfinished", run->next - run->head);
    buffer_byte(out, '}');
    key_object(out, "bytes");
    buffer_key_number(out, "in", tally->bytes_in);
    buffer_key_number(out, "out", tally->bytes_out);
    buffer_byte(out, '}');
    buffer_key_real(out, "seconds", seconds);
    buffer_key_real(out, "records_per_second", seconds > 0 ? (double)(run->head) / seconds : 0.0);
    key_object(out, "failures");
    for (int i = 1; i < 64; i++)
        if (tally->by_status[i])
            buffer_key_number(out, halter_status_name(-i), tally->by_status[i]);
    buffer_byte(out, '}');
}

/* Reverse calls by what was asked for. */
static void write_kinds(struct buffer *out, const uint64_t by_kind[HALTER_REQUEST_KINDS])
{
    key_object(out, "requests_by_kind");
    for (unsigned k = 0; k < HALTER_REQUEST_KINDS; k++)
        if (by_kind[k])
            buffer_key_number(out, halter_request_kind_text((enum halter_request_kind)k), by_kind[k]);
    buffer_byte(out, '}');
}

static void write_figures(const struct run_figures *figures, struct buffer *out)
{
    key_object(out, "latency_ms");
    buffer_key_real(out, "p50", (double)figures->p50_ns / 1e6);
    buffer_key_real(out, "p95", (double)figures->p95_ns / 1e6);
    buffer_key_real(out, "p99", (double)figures->p99_ns / 1e6);
    buffer_key_real(out, "max", (double)figures->max_ns / 1e6);
    buffer_byte(out, '}');
    key_object(out, "deaths");
    for (int r = 1; r < 16; r++)
        if (figures->deaths[r])
            buffer_key_number(out, halter_death_text((enum halter_death_reason)r),
                              figures->deaths[r]);
    buffer_byte(out, '}');
    buffer_key_number(out, "restarts", figures->restarts);
    buffer_key_real(out, "cpu_seconds", (double)figures->cpu_ns / 1e9);
    buffer_key_number(out, "peak_bytes", figures->peak_bytes);
    buffer_key_number(out, "log_lines", figures->log_lines);
    buffer_key_number(out, "log_lines_dropped", figures->log_dropped);
    buffer_key_number(out, "requests", figures->requests);
    buffer_key_number(out, "denials", figures->denials);
    write_kinds(out, figures->by_kind);
}

static void write_guests(struct run *run, struct buffer *out)
{
    buffer_key(out, "guests");
    buffer_byte(out, '[');
    for (unsigned i = 0; i < run->config.jobs; i++) {
        struct halter_stats stats = HALTER_STATS_INIT;
        struct halter_guest *guest = run->jobs[i].guest;
        if (!guest || halter_guest_stats(guest, &stats) != HALTER_OK)
            continue;
        buffer_text(out, i ? ",{" : "{");
        buffer_key_text(out, "state", halter_guest_state_text(halter_guest_state(guest)));
        buffer_key_number(out, "calls", stats.calls);
        buffer_key_number(out, "succeeded", stats.succeeded);
        buffer_key_number(out, "failed", stats.failed);
        buffer_key_number(out, "restarts", stats.restarts);
        buffer_key_real(out, "cpu_seconds", (double)stats.cpu_ns / 1e9);
        buffer_key_number(out, "resident_bytes", stats.resident_bytes);
        buffer_key_number(out, "peak_bytes", stats.peak_bytes);
        write_kinds(out, stats.requests_by_kind);
        buffer_byte(out, '}');
    }
    buffer_byte(out, ']');
}

static void write_host(struct buffer *out)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    key_object(out, "host");
    buffer_key_real(out, "cpu_seconds", cpu);
    buffer_key_number(out, "peak_bytes", (uint64_t)usage.ru_maxrss * 1024);
    buffer_byte(out, '}');
}

bool run_write_stats(struct run *run)
{
    struct run_figures figures;
    struct buffer out = {0};
    run_figures(run, &figures);
    buffer_byte(&out, '{');
    buffer_key_text(&out, "plugin", run->config.plugin);
    buffer_key_text(&out, "ended", ending_word(run));
    write_records(run, &out);
    write_figures(&figures, &out);
    write_guests(run, &out);
    write_host(&out);
    buffer_text(&out, "}\n");
    bool fine = true;
    if (run->config.stats_path) {
        fine = run_write_file(&run->stats, run->config.stats_path, &out);
    } else {
        buffer_byte(&out, '\0');
        say_plain("%s", out.bytes);
    }
    buffer_finish(&out);
    return fine;
}

static void row(const char *label, const char *text)
{
    if (say_has_colour()) /* say_plain() would make the escapes visible */
        dprintf(STDERR_FILENO, "  \x1b[2m%-10s\x1b[0m %s\n", label, text);
    else
        say_plain("  %-10s %s\n", label, text);
}

static void add(char *line, size_t capacity, const char *format, uint64_t number, const char *word)
{
    size_t used = strlen(line);
    if (used && used + 4 < capacity) {
        strcpy(line + used, " · ");
        used = strlen(line);
    }
    snprintf(line + used, capacity - used, format, number, word);
}

void run_say_summary(struct run *run)
{
    const struct tally *tally = &run->tally;
    struct run_figures figures;
    run_figures(run, &figures);
    double seconds = (double)(now_ns() - run->started_ns) / 1e9;
    char line[512] = "";
    snprintf(line, sizeof line,
             "%" PRIu64 " read · %" PRIu64 " written · %" PRIu64 " dropped · %" PRIu64 " failed",
             tally->read, tally->written, tally->dropped, tally->failed);
    row("records", line);
    line[0] = '\0';
    for (int i = 1; i < 64; i++)
        if (tally->by_status[i])
            add(line, sizeof line, "%" PRIu64 " × %s", tally->by_status[i], halter_strerror(-i));
    if (line[0])
        row("failed", line);
    line[0] = '\0';
    for (int r = 1; r < 16; r++)
        if (figures.deaths[r])
            add(line, sizeof line, "%" PRIu64 " × %s", figures.deaths[r],
                halter_death_text((enum halter_death_reason)r));
    if (line[0])
        row("deaths", line);
    snprintf(line, sizeof line, "%.2f s · %.0f records/s · p50 %.2f ms · p95 %.2f ms · p99 %.2f ms",
             seconds, seconds > 0 ? (double)run->head / seconds : 0.0, (double)figures.p50_ns / 1e6,
             (double)figures.p95_ns / 1e6, (double)figures.p99_ns / 1e6);
    row("time", line);
    snprintf(line, sizeof line, "%u, restarted %" PRIu64 " times · largest %.1f MiB · CPU %.2f s",
             run->config.jobs, figures.restarts, (double)figures.peak_bytes / 1048576.0,
             (double)figures.cpu_ns / 1e9);
    row("guests", line);
    line[0] = '\0';
    for (int k = 0; k < HALTER_REQUEST_KINDS; k++)
        if (figures.by_kind[k])
            add(line, sizeof line, "%" PRIu64 " × %s", figures.by_kind[k],
                halter_request_kind_text((enum halter_request_kind)k));
    if (line[0])
        row("host calls", line);
}
