/*
 * The run as one page with nothing outside it: each experiment's distributions drawn on one
 * logarithmic axis (inline SVG), its figures, its verdicts. Light and dark follow the reader's system.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

#define LEFT   300.0 /* of the drawing: where the axis begins */
#define WIDTH  620.0
#define ROW    34.0
#define BINS   96

static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
    "content='width=device-width'><title>halter bench</title><style>\n"
    ":root{color-scheme:light dark;--ink:#1b1f24;--dim:#66707c;--line:#d9dde2;--page:#fff;"
    "--ours:#0f6cbd;--peer:#9a6700;--good:#1a7f37;--bad:#cf222e;--wait:#9a6700}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#98a2ad;--line:#333a42;"
    "--page:#14171b;--ours:#5aa9f0;--peer:#d9a441;--good:#4cc26a;--bad:#ff7b72;--wait:#d9a441}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);"
    "max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2.5rem 0 .2rem}p{margin:.2rem 0;color:var(--dim)}\n"
    "table{border-collapse:collapse;width:100%;font-size:13px;margin:.6rem 0}"
    "td,th{padding:.15rem .5rem;text-align:right;border-bottom:1px solid var(--line);"
    "font-variant-numeric:tabular-nums}td:first-child,th:first-child{text-align:left}\n"
    "ul{list-style:none;padding:0;font-size:14px}.good{color:var(--good)}.bad{color:var(--bad)}"
    ".wait{color:var(--wait)}\n"
    "svg{width:100%;height:auto;font-size:12px}svg text{fill:var(--ink)}.tick{stroke:var(--line)}"
    ".scale{fill:var(--dim)}.ours{fill:var(--ours)}.peer{fill:var(--peer)}"
    ".mark{stroke:var(--ink);stroke-width:1.5}\n"
    "</style>\n";

static void add_safe(struct buffer *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            buffer_text(out, "&lt;");
            break;
        case '&':
            buffer_text(out, "&amp;");
            break;
        case '\'':
            buffer_text(out, "&#39;");
            break;
        default:
            buffer_byte(out, *text);
        }
}

/* The axis of the series of one unit. */
struct axis {
    double low, high; /* logarithms to the base of 10 */
    const char *unit;
};

static double place(const struct axis *axis, double value)
{
    double at = (log10(value > 1e-9 ? value : 1e-9) - axis->low) / (axis->high - axis->low);
    return LEFT + WIDTH * fmin(fmax(at, 0.0), 1.0);
}

static bool belongs(const struct series *series, const struct axis *axis)
{
    return series->count > 0 && strcmp(series->unit, axis->unit) == 0;
}

static unsigned find_axis(struct experiment *experiment, struct axis *axis)
{
    unsigned rows = 0;
    double low = INFINITY, high = -INFINITY;
    for (unsigned i = 0; i < experiment->nseries; i++) {
        struct series *series = &experiment->series[i];
        if (!belongs(series, axis))
            continue;
        rows++;
        low = fmin(low, fmax(series_at(series, 0.0), 1e-3));
        high = fmax(high, fmax(series_at(series, 1.0), 1e-3));
    }
    axis->low = log10(low) - 0.05;
    axis->high = log10(high) + 0.05;
    return rows;
}

/* 1, 2 and 5 times the powers of ten, as long as they do not crowd each other. */
static void draw_scale(struct buffer *out, const struct axis *axis, double height)
{
    static const double steps[] = {1, 2, 5};
    bool wide = axis->high - axis->low > 2.5;
    for (int power = (int)floor(axis->low); power <= (int)ceil(axis->high); power++)
        for (int i = 0; i < (wide ? 1 : 3); i++) {
            double value = steps[i] * pow(10, power);
            if (log10(value) < axis->low || log10(value) > axis->high)
                continue;
            double x = place(axis, value);
            buffer_format(out,
                          "<line class=tick x1=%.1f x2=%.1f y1=0 y2=%.1f />"
                          "<text class=scale x=%.1f y=%.1f text-anchor=middle>%g</text>",
                          x, x, height, x, height + 14, value);
        }
    buffer_format(out, "<text class=scale x=%.1f y=%.1f text-anchor=end>%s</text>", LEFT - 8,
                  height + 14, axis->unit);
}

/* A histogram, its highest bar as high as the row; the p50 and the p95 as marks. */
static void draw_row(struct buffer *out, const struct axis *axis, struct series *series, double top)
{
    unsigned bins[BINS] = {0}, most = 1;
    for (unsigned i = 0; i < series->count; i++) {
        int bin = (int)((place(axis, series->values[i]) - LEFT) / WIDTH * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        if (++bins[bin] > most)
            most = bins[bin];
    }
    buffer_format(out, "<text x=%.1f y=%.1f text-anchor=end>", LEFT - 8, top + ROW - 10);
    char label[52];
    snprintf(label, sizeof label, "%.48s", series->name);
    add_safe(out, label);
    buffer_format(out, "</text><path class=%s d='", series->peer ? "peer" : "ours");
    for (int bin = 0; bin < BINS; bin++)
        if (bins[bin]) {
            double high = fmax((ROW - 8) * bins[bin] / most, 1.0), x = LEFT + WIDTH * bin / BINS;
            buffer_format(out, "M%.1f %.1fv-%.1fh%.1fv%.1fz", x, top + ROW - 4, high,
                          WIDTH / BINS - 0.6, high);
        }
    double p50 = place(axis, series_at(series, 0.5)), p95 = place(axis, series_at(series, 0.95));
    buffer_format(out,
                  "'/><line class=mark x1=%.1f x2=%.1f y1=%.1f y2=%.1f /><line class=mark "
                  "stroke-dasharray='2 2' x1=%.1f x2=%.1f y1=%.1f y2=%.1f />",
                  p50, p50, top + 2, top + ROW - 4, p95, p95, top + 2, top + ROW - 4);
}

static void draw(struct buffer *out, struct experiment *experiment, const char *unit)
{
    struct axis axis = {.unit = unit};
    unsigned rows = find_axis(experiment, &axis), row = 0;
    if (rows == 0)
        return;
    buffer_format(out, "<svg viewBox='0 0 %.0f %.0f' role=img>", LEFT + WIDTH + 20, rows * ROW + 20);
    draw_scale(out, &axis, rows * ROW);
    for (unsigned i = 0; i < experiment->nseries; i++)
        if (belongs(&experiment->series[i], &axis))
            draw_row(out, &axis, &experiment->series[i], ROW * row++);
    buffer_text(out, "</svg>\n");
}

static void add_figures(struct buffer *out, struct experiment *experiment)
{
    buffer_text(out, "<table><tr><th>figure<th>n<th>p50<th>p95<th>p99<th>max<th>unit"
                     "<th>95 % of p50\n");
    for (unsigned i = 0; i < experiment->nseries; i++) {
        struct series *series = &experiment->series[i];
        double low, high;
        if (!series->count)
            continue;
        series_confidence(series, &low, &high);
        buffer_text(out, "<tr><td>");
        add_safe(out, series->name);
        buffer_format(out, "<td>%u<td>%.4g<td>%.4g<td>%.4g<td>%.4g<td>%s<td>%.4g – %.4g\n",
                      series->count, series_at(series, 0.5), series_at(series, 0.95),
                      series_at(series, 0.99), series_at(series, 1.0), series->unit, low, high);
    }
    buffer_text(out, "</table>\n");
}

static void add_experiment(struct buffer *out, struct experiment *experiment)
{
    static const char *const units[] = {"µs", "MiB", "×"};
    static const char *const kinds[] = {"control", "at least", "aim"};
    buffer_format(out, "<h2>%s · ", experiment->id);
    add_safe(out, experiment->title);
    buffer_text(out, "</h2><p>");
    add_safe(out, experiment->method);
    buffer_text(out, "</p>\n");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        draw(out, experiment, units[i]);
    if (experiment->nseries)
        add_figures(out, experiment);
    buffer_text(out, "<ul>");
    for (unsigned i = 0; i < experiment->nverdicts; i++) {
        const struct verdict *verdict = &experiment->verdicts[i];
        bool aim = verdict->kind == VERDICT_AIM;
        buffer_format(out, "<li><span class=%s>%s</span> %s: ",
                      verdict->holds ? "good" : aim ? "wait" : "bad",
                      verdict->holds ? "holds" : aim ? "not yet" : "fails", kinds[verdict->kind]);
        add_safe(out, verdict->text);
        buffer_byte(out, '\n');
    }
    buffer_text(out, "</ul>\n");
}

static void add_survival(struct buffer *out, const struct bench *bench)
{
    if (!bench->nsurvivals)
        return;
    buffer_text(out, "<h2>What becomes of the host when its plugin means harm</h2><table><tr><th>");
    for (int h = 0; h < BENCH_HARMS; h++)
        buffer_format(out, "<th>%s", bench_harms[h]);
    for (unsigned i = 0; i < bench->nsurvivals; i++) {
        buffer_text(out, "<tr><td>");
        add_safe(out, bench->survivals[i].name);
        for (int h = 0; h < BENCH_HARMS; h++) {
            buffer_text(out, "<td>");
            add_safe(out, bench->survivals[i].fate[h]);
        }
        buffer_byte(out, '\n');
    }
    buffer_text(out, "</table>\n");
}

bool bench_write_html(struct bench *bench, const char *path)
{
    struct buffer out = {0};
    buffer_text(&out, head);
    buffer_text(&out, "<h1>halter bench</h1><p>");
    add_safe(&out, bench->machine);
    buffer_format(&out, ", %u processors · Linux ", bench->processors);
    add_safe(&out, bench->kernel);
    buffer_format(&out, " · %s · halter %s · %s · load %.2f before, %.2f after</p>"
                        "<p>Bars: where samples lie. Line: p50. Dashes: p95. Times of one run on one "
                        "machine: only ratios mean anything elsewhere.</p>\n",
                  bench->engine_version, halter_version(), bench->date, bench->load_before,
                  bench->load_after);
    for (size_t i = 0; i < bench->nexperiments; i++)
        if (bench->experiments[i].ran)
            add_experiment(&out, &bench->experiments[i]);
    add_survival(&out, bench);
    FILE *file = fopen(path, "we");
    bool fine = file && fwrite(out.bytes, 1, out.used, file) == out.used;
    if (file)
        fine &= fclose(file) == 0;
    if (!fine)
        say("%s: %s", path, strerror(errno));
    buffer_finish(&out);
    return fine;
}
