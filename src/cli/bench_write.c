/*
 * The whole run as one JSON object: machine, samples, quantiles, verdicts.
 */
#include <errno.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

static void comma(struct buffer *out)
{
    if (out->used && out->bytes[out->used - 1] == '}')
        buffer_byte(out, ',');
}

static void write_series(struct buffer *out, struct series *series)
{
    double low, high;
    comma(out);
    buffer_byte(out, '{');
    buffer_key_text(out, "name", series->name);
    buffer_key_text(out, "unit", series->unit);
    buffer_key(out, "peer");
    buffer_text(out, series->peer ? "true" : "false");
    series_confidence(series, &low, &high);
    buffer_key_number(out, "n", series->count);
    buffer_key_real(out, "p50", series_at(series, 0.5));
    buffer_key_real(out, "p95", series_at(series, 0.95));
    buffer_key_real(out, "p99", series_at(series, 0.99));
    buffer_key_real(out, "max", series_at(series, 1.0));
    buffer_key_real(out, "p50_low", low);
    buffer_key_real(out, "p50_high", high);
    buffer_key(out, "samples");
    buffer_byte(out, '[');
    for (unsigned i = 0; i < series->count; i++)
        buffer_format(out, "%s%.6g", i ? "," : "", series->values[i]);
    buffer_text(out, "]}");
}

static void write_experiment(struct buffer *out, struct experiment *experiment)
{
    static const char *const kinds[] = {"control", "at least", "aim"};
    comma(out);
    buffer_byte(out, '{');
    buffer_key_text(out, "id", experiment->id);
    buffer_key_text(out, "title", experiment->title);
    buffer_key_text(out, "method", experiment->method);
    buffer_key(out, "complete");
    buffer_text(out, experiment->failed ? "false" : "true");
    buffer_key(out, "series");
    buffer_byte(out, '[');
    for (unsigned i = 0; i < experiment->nseries; i++)
        if (experiment->series[i].count)
            write_series(out, &experiment->series[i]);
    buffer_byte(out, ']');
    buffer_key(out, "verdicts");
    buffer_byte(out, '[');
    for (unsigned i = 0; i < experiment->nverdicts; i++) {
        const struct verdict *verdict = &experiment->verdicts[i];
        comma(out);
        buffer_byte(out, '{');
        buffer_key_text(out, "kind", kinds[verdict->kind]);
        buffer_key(out, "holds");
        buffer_text(out, verdict->holds ? "true" : "false");
        buffer_key_text(out, "text", verdict->text);
        buffer_byte(out, '}');
    }
    buffer_text(out, "]}");
}

static void write_survivals(struct buffer *out, const struct bench *bench)
{
    buffer_key(out, "survival");
    buffer_byte(out, '[');
    for (unsigned i = 0; i < bench->nsurvivals; i++) {
        comma(out);
        buffer_byte(out, '{');
        buffer_key_text(out, "name", bench->survivals[i].name);
        for (int h = 0; h < BENCH_HARMS; h++)
            buffer_key_text(out, bench_harms[h], bench->survivals[i].fate[h]);
        buffer_byte(out, '}');
    }
    buffer_byte(out, ']');
}

static bool write_file(const char *path, const struct buffer *out)
{
    FILE *file = fopen(path, "we");
    bool fine = file && fwrite(out->bytes, 1, out->used, file) == out->used;
    if (file)
        fine &= fclose(file) == 0;
    if (!fine)
        say("%s: %s", path, strerror(errno));
    return fine;
}

bool bench_write_json(struct bench *bench, const char *path)
{
    struct buffer out = {0};
    buffer_text(&out, "{\"machine\":{");
    buffer_key_text(&out, "processor", bench->machine);
    buffer_key_number(&out, "processors", bench->processors);
    buffer_key_text(&out, "kernel", bench->kernel);
    buffer_key_text(&out, "engine", bench->engine_version);
    buffer_key_real(&out, "load_before", bench->load_before);
    buffer_key_real(&out, "load_after", bench->load_after);
    buffer_byte(&out, '}');
    buffer_key_text(&out, "halter", halter_version());
    buffer_key_text(&out, "date", bench->date);
    buffer_key(&out, "experiments");
    buffer_byte(&out, '[');
    for (size_t i = 0; i < bench->nexperiments; i++)
        if (bench->experiments[i].ran)
            write_experiment(&out, &bench->experiments[i]);
    buffer_byte(&out, ']');
    write_survivals(&out, bench);
    buffer_text(&out, "}\n");
    bool fine = write_file(path, &out);
    buffer_finish(&out);
    return fine;
}
