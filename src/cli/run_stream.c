/*
 * The window: records go in at one end in the order of the input, to the guests and back in any
 * order, and out at the other end in the order of the input again. Its bounds (records, bytes,
 * calls per guest) are what keeps memory flat and makes back-pressure work: when the output is
 * not taken, results stay here, the window fills, and nothing more is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/run.h"
#include "cli/say.h"

#define POOL_KEEP (64u << 10) /* a larger result's memory is not kept */

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void run_end(struct run *run, enum ending ending)
{
    if (run->ending == ENDING_NONE)
        run->ending = ending;
}

static void give_buffer(struct run *run, struct buffer *buffer)
{
    buffer_reset(buffer, POOL_KEEP);
    if (buffer->bytes && run->pooled < POOL_BUFFERS)
        run->pool[run->pooled++] = *buffer;
    else
        buffer_finish(buffer);
    *buffer = (struct buffer){0};
}

static void take_buffer(struct run *run, struct buffer *buffer)
{
    if (!buffer->bytes && run->pooled > 0)
        *buffer = run->pool[--run->pooled];
}

static void free_slot(struct slot *slot)
{
    record_release(&slot->record);
    give_buffer(slot->run, &slot->result);
    free(slot->message);
    slot->message = NULL;
}

void run_drop_window(struct run *run)
{
    for (; run->head < run->next; run->head++)
        free_slot(run_slot(run, run->head));
    while (run->pooled > 0)
        buffer_finish(&run->pool[--run->pooled]);
    buffer_finish(&run->scratch);
}

/* What a result looks like in the output: a line, which a guest's own newline must not break. */
static void write_value(struct run *run, const char *json, size_t bytes)
{
    struct buffer *line = &run->scratch;
    line->used = 0;
    if (run->config.text && json[0] == '"') {
        buffer_unquote(line, json, bytes);
    } else {
        buffer_append(line, json, bytes);
        if (!run->config.document) /* in valid JSON a raw one can only be white space */
            for (char *at = line->bytes;
                 (at = memchr(at, '\n', bytes - (size_t)(at - line->bytes)));)
                *at = ' ';
    }
    buffer_byte(line, '\n');
    output_text(&run->output, line->bytes, line->used, run->now);
    run->tally.written++;
    run->tally.bytes_out += line->used;
    buffer_reset(line, POOL_KEEP);
}

static void emit_failure(struct run *run, struct slot *slot)
{
    run->tally.failed++;
    run->tally.by_status[-slot->status & 63]++;
    if (run->dead_letter &&
        !run_write_file(&run->dead_letter, run->config.dead_letter_path, &slot->result))
        run_end(run, ENDING_IO);
    if (slot->message && (run->config.on_error == ON_ERROR_STOP || report_may_speak(run)))
        say("%s", slot->message);
    if (run->config.on_error == ON_ERROR_STOP) {
        run_end(run, ENDING_STOP);
    } else if (run->config.on_error == ON_ERROR_NULL) {
        write_value(run, "null", 4);
        run->tally.nulls++;
    }
}

/* Whether results still leave: a run that ends for want of guests or by a signal finishes them. */
static bool emits(const struct run *run)
{
    return run->ending == ENDING_NONE || run->ending == ENDING_SIGNAL ||
           run->ending == ENDING_PLUGIN;
}

void run_emit(struct run *run)
{
    while (run->head < run->next && output_pending(&run->output) < OUTPUT_HIGH && emits(run)) {
        struct slot *slot = run_slot(run, run->head);
        if (slot->state == SLOT_WAITING || slot->state == SLOT_SENT)
            return;
        run->window_bytes -= slot->result.used;
        if (slot->state == SLOT_VALUE)
            write_value(run, slot->result.bytes, slot->result.used);
        else if (slot->state == SLOT_DROPPED)
            run->tally.dropped++;
        else
            emit_failure(run, slot);
        free_slot(slot);
        run->head++;
    }
}

/* Takes the result of the record at the head straight to the output, without a copy of it. */
static bool emit_at_once(struct run *run, struct slot *slot, const struct halter_result *result)
{
    if (slot != run_slot(run, run->head) || output_pending(&run->output) >= OUTPUT_HIGH ||
        !emits(run))
        return false;
    write_value(run, result->json, result->json_bytes);
    free_slot(slot);
    run->head++;
    return true;
}

/* The guest is gone and never saw the record: another may have it. */
static bool never_tried(int status)
{
    return status == HALTER_EQUARANTINED || status == HALTER_ELOAD || status == HALTER_ECLOSED;
}

static uint64_t slot_number(struct run *run, const struct slot *slot)
{
    uint64_t index = (uint64_t)(slot - run->slots);
    return run->head + (index - run->head) % WINDOW_RECORDS;
}

static void fail_slot(struct slot *slot, int status, const struct halter_result *result)
{
    struct run *run = slot->run;
    slot->state = SLOT_FAILED;
    slot->status = status;
    take_buffer(run, &slot->result);
    report_failure(slot, status, result);
    run->window_bytes += slot->result.used;
}

static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct slot *slot = data;
    struct run *run = slot->run;
    struct job *job = halter_guest_data(guest);
    job->sent--;
    run->window_bytes -= slot->charged;
    if (result->kind == HALTER_KIND_VALUE) {
        run->result_estimate = (run->result_estimate * 7 + result->json_bytes) / 8;
        slot->state = SLOT_VALUE;
        if (!emit_at_once(run, slot, result)) {
            take_buffer(run, &slot->result);
            buffer_append(&slot->result, result->json, result->json_bytes);
            run->window_bytes += slot->result.used;
        }
    } else if (result->kind == HALTER_KIND_UNDEFINED) {
        slot->state = SLOT_DROPPED;
    } else if (never_tried(result->status)) {
        uint64_t number = slot_number(run, slot);
        slot->state = SLOT_WAITING;
        run->unsent = number < run->unsent ? number : run->unsent;
        return;
    } else {
        fail_slot(slot, result->status, result);
    }
    run_emit(run);
}

/* The guest with least to do; one that is waiting out a death only when there is no other. */
static struct job *pick_job(struct run *run)
{
    struct job *best = NULL;
    unsigned best_load = GUEST_DEPTH;
    bool only = run->config.jobs == 1;
    for (unsigned i = 0; i < run->config.jobs; i++) {
        struct job *job = &run->jobs[i];
        if (!job->usable || job->sent >= best_load)
            continue;
        if (!only && halter_guest_state(job->guest) == HALTER_GUEST_BACKOFF)
            continue;
        best = job;
        best_load = job->sent;
    }
    return best;
}

/* Puts the next record of the input into the window. */
static bool read_record(struct run *run)
{
    struct record record;
    for (;;) {
        enum input_state state = input_next(&run->input, &record);
        if (state == INPUT_RECORD)
            break;
        if (state == INPUT_WANT && !run->input.pollable) {
            input_fill(&run->input);
            continue;
        }
        if (state == INPUT_WANT)
            run->want_input = true;
        else if (state == INPUT_END)
            run->input_ended = true;
        else {
            say("%s: %s", input_name(&run->input, run->input.file), strerror(run->input.error));
            run_end(run, ENDING_IO);
        }
        return false;
    }
    struct slot *slot = run_slot(run, run->next++);
    *slot = (struct slot){.run = run, .record = record, .state = SLOT_WAITING};
    run->tally.read++;
    run->tally.bytes_in += record.true_bytes;
    return true;
}

/* Sends one record. False when no more can be sent now. */
static bool send_record(struct run *run, struct job *job, struct slot *slot)
{
    const char *text = slot->record.text;
    size_t bytes = slot->record.bytes;
    if (slot->record.too_long) {
        fail_slot(slot, HALTER_ETOOBIG, NULL);
        return true;
    }
    if (run->config.text) {
        run->scratch.used = 0;
        buffer_json(&run->scratch, text, bytes);
        text = run->scratch.bytes;
        bytes = run->scratch.used;
    }
    int status = halter_call(job->guest, text, bytes, NULL, on_result, slot, NULL);
    switch (status) {
    case HALTER_OK:
        slot->state = SLOT_SENT;
        slot->charged = bytes + run->result_estimate;
        run->window_bytes += slot->charged;
        job->sent++;
        return true;
    case HALTER_EQUEUE:
        return false;
    case HALTER_EQUARANTINED:
    case HALTER_ELOAD:
    case HALTER_ECLOSED:
        job->usable = false;
        run_check_usable(run);
        return true; /* the record still waits, for another guest */
    case HALTER_ETOOBIG:
    case HALTER_EJSON:
        fail_slot(slot, status, NULL);
        return true;
    default:
        say("a record cannot be sent: %s", halter_strerror(status));
        run_end(run, ENDING_HALTER);
        return false;
    }
}

/* Sends what the window has room for. */
static void fill_window(struct run *run)
{
    while (run->ending == ENDING_NONE) {
        if (run->unsent < run->head)
            run->unsent = run->head;
        while (run->unsent < run->next && run_slot(run, run->unsent)->state != SLOT_WAITING)
            run->unsent++;
        /* The head may always go: everything that fills the window is waiting for it. */
        struct job *job = pick_job(run);
        if (!job || (run->window_bytes >= WINDOW_BYTES && run->unsent > run->head))
            break;
        if (run->unsent == run->next) {
            if (run->next - run->head == WINDOW_RECORDS || run->want_input || run->input_ended ||
                !read_record(run))
                break;
        }
        if (!send_record(run, job, run_slot(run, run->unsent)))
            break;
    }
}

/* What leaves makes room for more: it is filled before anyone sleeps, because when all that was in
 * flight has left nothing else would wake this. */
void run_submit(struct run *run)
{
    uint64_t head;
    do {
        fill_window(run);
        head = run->head;
        run_emit(run);
    } while (run->head != head && run->ending == ENDING_NONE);
}
