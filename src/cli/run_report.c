/*
 * The accounts of a run: what is said about a record that failed, its dead letter, and the live
 * line. The figures at the end are in run_stats.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/run_stats.h"
#include "cli/say.h"

#define MESSAGES_PER_SECOND 20
#define LETTER_TEXT_MAX     (64u << 10) /* of a script's message or stack */

bool report_may_speak(struct run *run)
{
    uint64_t second = now_ns() / 1000000000u;
    if (second != run->message_second) {
        run->message_second = second;
        run->messages_this_second = 0;
    }
    if (run->messages_this_second++ < MESSAGES_PER_SECOND && !run->config.quiet)
        return true;
    run->tally.messages_withheld++;
    return false;
}

void report_position(struct run *run, char *out, size_t capacity)
{
    const struct input *input = &run->input;
    unsigned file = input->file;
    uint64_t line = input->line;
    if (run->head < run->next) {
        file = run_slot(run, run->head)->record.file;
        line = run_slot(run, run->head)->record.line;
    }
    if (file >= input->npaths)
        *out = '\0';
    else
        snprintf(out, capacity, "%s:%" PRIu64, input_name(input, file), line ? line : 1);
}

/* What went wrong with one record, in words; the place is in front already. */
static void describe(struct buffer *out, const struct slot *slot, int status,
                     const struct halter_result *result)
{
    const struct run_config *config = &slot->run->config;
    const struct halter_script_error *error = result ? result->error : NULL;
    const struct halter_death *death = result ? result->death : NULL;
    if (status == HALTER_ETOOBIG && !result) {
        buffer_format(out, "the record has %" PRIu64 " bytes, above the cap of %" PRIu64,
                      slot->record.true_bytes, config->cap_bytes);
        return;
    }
    buffer_text(out, halter_strerror(status));
    if (status == HALTER_EDEADLINE && config->deadline_ms)
        buffer_format(out, " (%" PRIu32 " ms)", config->deadline_ms);
    if (error) {
        buffer_format(out, ": %.100s: %.500s", error->name, error->message);
        if (error->path[0])
            buffer_format(out, " at %.200s", error->path);
        if (error->line && status != HALTER_EJSON)
            buffer_format(out, " (%.200s:%u:%u)", error->file[0] ? error->file : config->plugin,
                          error->line, error->column);
    }
    if (death && death->reason == HALTER_DEATH_SIGNAL)
        buffer_format(out, " (%s)", strsignal(death->signal));
    else if (death && death->reason == HALTER_DEATH_EXIT)
        buffer_format(out, " (status %d)", death->exit_status);
    else if (death && death->syscall_number >= 0)
        buffer_format(out, " (%s, number %d)", death->syscall ? death->syscall : "?",
                      death->syscall_number);
    /* Of a deadline all has been said; elsewhere the detail tells which limit, which layer. */
    if (death && death->detail[0] && status != HALTER_EDEADLINE && status != HALTER_EWALLCAP)
        buffer_format(out, ": %s", death->detail);
}

static void key_script_text(struct buffer *out, const char *key, const char *text)
{
    size_t length = strlen(text);
    buffer_key(out, key);
    buffer_json(out, text, length < LETTER_TEXT_MAX ? length : LETTER_TEXT_MAX);
}

static void letter_error(struct buffer *out, const struct halter_script_error *error)
{
    buffer_key(out, "error");
    buffer_byte(out, '{');
    key_script_text(out, "name", error->name);
    key_script_text(out, "message", error->message);
    key_script_text(out, "stack", error->stack);
    buffer_key_number(out, "line", error->line);
    buffer_key_number(out, "column", error->column);
    if (error->path[0])
        key_script_text(out, "path", error->path);
    buffer_byte(out, '}');
}

static void letter_death(struct buffer *out, const struct halter_death *death)
{
    buffer_key(out, "death");
    buffer_byte(out, '{');
    buffer_key_text(out, "reason", halter_death_text(death->reason));
    if (death->exit_status >= 0)
        buffer_key_number(out, "exit_status", (uint64_t)death->exit_status);
    if (death->signal > 0)
        buffer_key_number(out, "signal", (uint64_t)death->signal);
    if (death->syscall)
        buffer_key_text(out, "syscall", death->syscall);
    if (death->detail[0])
        buffer_key_text(out, "detail", death->detail);
    buffer_key_number(out, "pid", (uint64_t)death->pid);
    buffer_key_number(out, "generation", death->generation);
    if (death->final)
        buffer_key_number(out, "peak_bytes", death->peak_bytes);
    buffer_byte(out, '}');
}

/*
 * The record goes in as a string, its text as it was: so a record that is no JSON has a place too,
 * and `jq -r .record` gives back the lines to try again.
 */
static void write_letter(struct slot *slot, const char *message, const struct halter_result *result)
{
    const struct record *record = &slot->record;
    struct buffer *out = &slot->result;
    out->used = 0;
    buffer_byte(out, '{');
    buffer_key_text(out, "file", input_name(&slot->run->input, record->file));
    buffer_key_number(out, "line", record->line);
    buffer_key_text(out, "plugin", slot->run->config.plugin);
    buffer_key_text(out, "reason", halter_status_name(slot->status));
    buffer_key_text(out, "message", message);
    if (result && result->error)
        letter_error(out, result->error);
    if (result && result->death)
        letter_death(out, result->death);
    if (record->too_long)
        buffer_key_number(out, "record_bytes", record->true_bytes);
    buffer_key(out, "record");
    buffer_json(out, record->text, record->bytes);
    buffer_text(out, "}\n");
}

void report_failure(struct slot *slot, int status, const struct halter_result *result)
{
    struct buffer text = {0};
    describe(&text, slot, status, result);
    buffer_byte(&text, '\0');
    if (slot->run->dead_letter)
        write_letter(slot, text.bytes, result);
    if (asprintf(&slot->message, "%s:%" PRIu64 ": %s",
                 input_name(&slot->run->input, slot->record.file), slot->record.line,
                 text.bytes) < 0)
        die_without_memory();
    buffer_finish(&text);
}

/* One line that fits 80 columns. */
void report_live(struct run *run, uint64_t now)
{
    struct run_figures figures;
    run_figures(run, &figures);
    double seconds = (double)(now - run->started_ns) / 1e9;
    char line[160];
    snprintf(line, sizeof line,
             "%" PRIu64 " records  %.0f/s  p95 %.2f ms  %" PRIu64 " failed  %" PRIu64 " kills",
             run->tally.written + run->tally.dropped + run->tally.failed - run->tally.nulls,
             seconds > 0 ? (double)run->tally.written / seconds : 0.0, (double)figures.p95_ns / 1e6,
             run->tally.failed, figures.deaths_total);
    if (say_has_screen(STDERR_FILENO))
        say_live(line);
    else
        say("%s", line);
}

void report_end(struct run *run)
{
    if (run->tally.messages_withheld && !run->config.quiet)
        say("%" PRIu64 " more messages were withheld; --dead-letter and --stats have it all",
            run->tally.messages_withheld);
    if (run->config.summary)
        run_say_summary(run);
    if (run->config.stats && !run_write_stats(run))
        run_end(run, ENDING_IO);
}
