/*
 * The helper's loop: confine, make the engine, say hello, then one frame after another.
 *
 * It owns the socket and the order of frames, and holds answers that come while nobody waits for
 * them. A host that sends what is no frame, or one out of turn, is left: exit 64 with a line on
 * stderr. When the host closes its end the helper exits at once, whatever it was doing.
 */
#include "helper/confine.h"
#include "helper/engine.h"
#include "wire/awake.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long to stay awake for a frame: what two wake-ups cost, so that it is lost at most twice. */
#define AWAKE_NS 50000u

struct kept_answer {
    struct kept_answer *next;
    struct engine_answer answer; /* its texts are in `bytes` */
    uint8_t bytes[];
};

/* A call that came while the guest was at work on another: hosts send quick ones ahead. */
struct kept_call {
    struct kept_call *next;
    struct wire_frame frame; /* its body is in `bytes` */
    uint8_t bytes[];
};

struct helper {
    const struct helper_start *start;
    const struct engine_type *type;
    struct engine *engine;
    struct wire_reader reader;
    uint64_t last_request;    /* even */
    unsigned outstanding;     /* reverse calls that the host has not answered */
    struct kept_answer *kept; /* answers that the engine has not been told of, oldest first */
    struct kept_answer **kept_end;
    struct kept_call *calls; /* oldest first */
    struct kept_call **calls_end;
    bool load_begun, loaded;
    bool may_stay_awake;
    struct wire_awake for_call, for_answer; /* whether staying awake for one has paid */
};

/* Another thread of the engine may be running: nothing is torn down, the kernel does it better. */
_Noreturn static void leave(enum helper_exit status)
{
    _exit(status);
}

_Noreturn static void breach(const char *what)
{
    dprintf(STDERR_FILENO, "halter: the host broke the protocol: %s\n", what);
    leave(HELPER_EXIT_BREACH);
}

uint64_t helper_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t helper_cap(const struct helper *helper)
{
    return helper->reader.cap;
}

/* ---- sending -------------------------------------------------------------------------------- */

static void send_frame(struct helper *helper, uint8_t type, uint64_t id, const struct iovec *parts,
                       unsigned nparts)
{
    struct wire_frame frame = {.type = type, .id = id};
    int fault = wire_send_wait(helper->start->socket, &frame, parts, nparts, NULL);
    if (fault == 0)
        return;
    if (fault == WIRE_EOF)
        leave(HELPER_EXIT_EOF);
    dprintf(STDERR_FILENO, "halter: sending %s: %s\n", wire_type_name(type),
            wire_fault_text(fault));
    leave(HELPER_EXIT_BREACH);
}

static struct iovec part(const void *bytes, size_t length)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
}

static void send_error(struct helper *helper, uint64_t id, const struct wire_error *error)
{
    uint8_t fixed[WIRE_ERROR_FIXED];
    struct iovec parts[] = {
        part(fixed, wire_error_encode(error, fixed)),
        part(error->name.bytes, error->name.length),
        part(error->message.bytes, error->message.length),
        part(error->stack.bytes, error->stack.length),
        part(error->file.bytes, error->file.length),
        part(error->path.bytes, error->path.length),
    };
    send_frame(helper, WIRE_ERROR, id, parts, sizeof(parts) / sizeof(parts[0]));
}

static void send_outcome(struct helper *helper, uint64_t id, struct engine_outcome *outcome)
{
    if (outcome->type == WIRE_VALUE && outcome->json_bytes > helper_cap(helper)) {
        static char message[128];
        int length =
            snprintf(message, sizeof(message), "the result is %zu bytes of JSON, the cap is %u",
                     outcome->json_bytes, helper_cap(helper));
        outcome->type = WIRE_ERROR;
        outcome->error = (struct wire_error){
            .kind = WIRE_ERROR_TOO_LONG,
            .name = {"RangeError", 10},
            .message = {message, (uint32_t)length},
        };
    }
    if (outcome->type == WIRE_ERROR) {
        send_error(helper, id, &outcome->error);
        return;
    }
    struct iovec body = part(outcome->json, outcome->json_bytes);
    send_frame(helper, outcome->type, id, &body, outcome->type == WIRE_VALUE ? 1 : 0);
}

static void send_hello(struct helper *helper, enum wire_helper_kind kind,
                       const struct confinement *confinement)
{
    struct wire_hello hello = {
        .version = WIRE_VERSION,
        .kind = (uint16_t)kind,
        .cap = helper_cap(helper),
        .layers = confinement->layers,
        .landlock_abi = confinement->landlock_abi,
        .jit = confinement->can_jit,
    };
    snprintf(hello.engine, sizeof(hello.engine), "%s", helper->type->name());
    uint8_t body[WIRE_HELLO_BYTES];
    wire_hello_encode(&hello, body);
    struct iovec whole = part(body, sizeof(body));
    send_frame(helper, WIRE_HELLO, 0, &whole, 1);
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void close_fds(const int *fds, unsigned nfds)
{
    for (unsigned i = 0; i < nfds; i++)
        close(fds[i]);
}

/* What it says of the socket is the end of the helper, or nothing. */
static void heed(int got)
{
    if (got == WIRE_EOF || got == WIRE_TRUNCATED)
        leave(HELPER_EXIT_EOF);
    if (got < 0 && got != WIRE_AGAIN)
        breach(wire_fault_text(got));
}

/* Looks at the socket for a moment, where that has paid. True: something has come. */
static bool stay_awake(struct helper *helper)
{
    struct wire_awake *awake = helper->outstanding ? &helper->for_answer : &helper->for_call;
    if (!helper->may_stay_awake || !wire_awake_try(awake))
        return false;
    int got = WIRE_AGAIN;
    for (uint64_t until = helper_now_ns() + AWAKE_NS; got == WIRE_AGAIN;) {
        got = wire_reader_fill(&helper->reader, helper->start->socket);
        if (got == WIRE_AGAIN && helper_now_ns() >= until)
            break;
        wire_awake_pause();
    }
    wire_awake_learn(awake, got != WIRE_AGAIN);
    heed(got);
    return got != WIRE_AGAIN;
}

/* Waits until `until_ns` for a frame. False when the time came first. */
static bool receive(struct helper *helper, uint64_t until_ns, struct wire_frame *frame)
{
    for (bool slept = false;; slept = true) {
        int got = wire_reader_next(&helper->reader, frame);
        if (got == 0 && !slept && stay_awake(helper))
            got = wire_reader_next(&helper->reader, frame);
        if (got == 0 && until_ns == ENGINE_NEVER)
            got = wire_receive_wait(&helper->reader, helper->start->socket, frame);
        if (got == 1)
            return true;
        heed(got);
        /* What is there comes before a timer that is due: one that is always due starves nobody. */
        uint64_t now = helper_now_ns(), wait = until_ns > now ? until_ns - now : 0;
        struct timespec timeout = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
        struct pollfd poll = {.fd = helper->start->socket, .events = POLLIN};
        int ready = ppoll(&poll, 1, &timeout, NULL);
        if (ready == 0)
            return false;
        if (ready < 0)
            continue;
        heed(wire_reader_fill(&helper->reader, helper->start->socket));
    }
}

/* The same for frames that the loop does not answer itself. */
static bool receive_for_engine(struct helper *helper, uint64_t until_ns, struct wire_frame *frame)
{
    while (receive(helper, until_ns, frame)) {
        if (frame->type != WIRE_BEAT)
            return true;
        send_frame(helper, WIRE_BEAT, frame->id, NULL, 0);
    }
    return false;
}

/* Makes an answer of a frame; its texts are borrowed from the frame's body. */
static struct engine_answer read_answer(struct helper *helper, const struct wire_frame *frame)
{
    if (frame->id == 0 || frame->id % 2 || frame->id > helper->last_request)
        breach("an answer to what was never asked");
    if (helper->outstanding == 0)
        breach("an answer too many");
    helper->outstanding--;
    struct engine_answer answer = {.id = frame->id, .refused = frame->type == WIRE_REFUSE};
    if (answer.refused) {
        if (!wire_error_decode(&answer.error, frame->body, frame->length))
            breach("a malformed refusal");
        return answer;
    }
    answer.json = (const char *)frame->body;
    answer.json_bytes = frame->length;
    answer.nfds = frame->nfds;
    memcpy(answer.fds, frame->fds, sizeof(answer.fds));
    return answer;
}

static const char *moved(const char *text, const uint8_t *from, uint8_t *to)
{
    return text ? (const char *)to + (text - (const char *)from) : NULL;
}

/* Keeps an answer for later: nobody waits for it now. */
static struct kept_answer *keep_answer(struct helper *helper, const struct wire_frame *frame)
{
    struct engine_answer answer = read_answer(helper, frame);
    struct kept_answer *kept = malloc(sizeof(*kept) + frame->length);
    if (!kept)
        breach("an answer that memory has no room for");
    if (frame->length)
        memcpy(kept->bytes, frame->body, frame->length);
    kept->next = NULL;
    kept->answer = answer;
    kept->answer.json = moved(answer.json, frame->body, kept->bytes);
    struct wire_text *texts[] = {
        &kept->answer.error.name, &kept->answer.error.message, &kept->answer.error.stack,
        &kept->answer.error.file, &kept->answer.error.path,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        texts[i]->bytes = moved(texts[i]->bytes, frame->body, kept->bytes);
    *helper->kept_end = kept;
    helper->kept_end = &kept->next;
    return kept;
}

static struct kept_answer *take_kept(struct helper *helper)
{
    struct kept_answer *kept = helper->kept;
    if (!kept)
        return NULL;
    helper->kept = kept->next;
    if (!helper->kept)
        helper->kept_end = &helper->kept;
    return kept;
}

/* Keeps a call until the one at hand is done. */
static void keep_call(struct helper *helper, const struct wire_frame *frame)
{
    struct kept_call *kept = malloc(sizeof(*kept) + frame->length);
    if (!kept)
        breach("a call that memory has no room for");
    if (frame->length)
        memcpy(kept->bytes, frame->body, frame->length);
    kept->next = NULL;
    kept->frame = *frame;
    kept->frame.body = kept->bytes;
    *helper->calls_end = kept;
    helper->calls_end = &kept->next;
}

/* The next frame that is an answer; calls that come first are kept. False when it is `until_ns`. */
static bool receive_answer(struct helper *helper, uint64_t until_ns, struct wire_frame *frame)
{
    while (receive_for_engine(helper, until_ns, frame)) {
        if (frame->type == WIRE_ANSWER || frame->type == WIRE_REFUSE)
            return true;
        if (frame->type != WIRE_CALL)
            breach("a frame out of turn, while the guest is busy");
        keep_call(helper, frame);
    }
    return false;
}

/* ---- reverse calls -------------------------------------------------------------------------- */

uint64_t helper_request(struct helper *helper, const char *name, size_t name_bytes,
                        const char *json, size_t json_bytes, bool wait)
{
    struct wire_request request = {
        .wait = wait,
        .name = {name, (uint32_t)name_bytes},
        .json = {json, (uint32_t)json_bytes},
    };
    uint8_t fixed[WIRE_REQUEST_FIXED];
    struct iovec parts[] = {
        part(fixed, wire_request_encode(&request, fixed)),
        part(name, name_bytes),
        part(json, json_bytes),
    };
    helper->last_request += 2;
    helper->outstanding++;
    send_frame(helper, WIRE_REQUEST, helper->last_request, parts, 3);
    return helper->last_request;
}

void helper_wait_answer(struct helper *helper, uint64_t id, struct engine_answer *answer)
{
    struct wire_frame frame;
    while (receive_answer(helper, ENGINE_NEVER, &frame)) {
        if (frame.id != id) {
            keep_answer(helper, &frame);
            continue;
        }
        *answer = read_answer(helper, &frame);
        return;
    }
}

void helper_answer_finish(struct engine_answer *answer)
{
    close_fds(answer->fds, answer->nfds);
    answer->nfds = 0;
}

void helper_log(struct helper *helper, enum wire_level level, const char *text, size_t bytes,
                uint32_t dropped)
{
    const size_t most = 65536 - WIRE_LOG_FIXED;
    struct wire_log log = {.level = (uint8_t)level, .dropped = dropped};
    if (bytes > most)
        for (bytes = most; bytes > 0 && ((uint8_t)text[bytes] & 0xc0) == 0x80;)
            bytes--;
    log.text = (struct wire_text){text, (uint32_t)bytes};
    uint8_t fixed[WIRE_LOG_FIXED];
    struct iovec parts[] = {part(fixed, wire_log_encode(&log, fixed)), part(text, bytes)};
    send_frame(helper, WIRE_LOG, 0, parts, 2);
}

/* ---- serving -------------------------------------------------------------------------------- */

/* One more step towards an outcome: an answer that is there, else what comes first. */
static enum engine_state step(struct helper *helper, struct engine_outcome *outcome)
{
    struct kept_answer *kept = take_kept(helper);
    if (kept) {
        enum engine_state state = helper->type->answer(helper->engine, &kept->answer, outcome);
        free(kept);
        return state;
    }
    uint64_t due = helper->type->due_ns(helper->engine);
    if (due == ENGINE_NEVER && helper->outstanding == 0) {
        helper->type->give_up(helper->engine, outcome);
        return ENGINE_DONE;
    }
    struct wire_frame frame;
    if (!receive_answer(helper, due, &frame))
        return helper->type->wake(helper->engine, outcome);
    struct engine_answer answer = read_answer(helper, &frame);
    return helper->type->answer(helper->engine, &answer, outcome);
}

static void finish(struct helper *helper, uint64_t id, enum engine_state state,
                   struct engine_outcome *outcome)
{
    while (state == ENGINE_WAITS)
        state = step(helper, outcome);
    if (outcome->type == WIRE_LOADED)
        helper->loaded = true;
    send_outcome(helper, id, outcome);
}

static void serve_load(struct helper *helper, const struct wire_frame *frame)
{
    struct engine_outcome outcome = {0};
    struct wire_load load;
    if (helper->load_begun)
        breach("a second load");
    if (!wire_load_decode(&load, frame->body, frame->length))
        breach("a malformed load");
    helper->load_begun = true;
    finish(helper, frame->id, helper->type->load(helper->engine, &load, &outcome), &outcome);
}

static void serve_call(struct helper *helper, const struct wire_frame *frame)
{
    struct engine_outcome outcome = {0};
    struct wire_call call;
    if (!helper->loaded)
        breach("a call before a load that succeeded");
    if (!wire_call_decode(&call, frame->body, frame->length))
        breach("a malformed call");
    enum engine_state state =
        helper->type->call(helper->engine, &call, frame->fds, frame->nfds, &outcome);
    finish(helper, frame->id, state, &outcome);
}

_Noreturn static void serve(struct helper *helper)
{
    for (;;) {
        struct wire_frame frame;
        struct kept_call *kept = helper->calls;
        if (kept) {
            helper->calls = kept->next;
            if (!helper->calls)
                helper->calls_end = &helper->calls;
            serve_call(helper, &kept->frame);
            free(kept);
            continue;
        }
        receive_for_engine(helper, ENGINE_NEVER, &frame);
        switch (frame.type) {
        case WIRE_LOAD:
            serve_load(helper, &frame);
            break;
        case WIRE_CALL:
            serve_call(helper, &frame);
            break;
        case WIRE_ANSWER:
        case WIRE_REFUSE:
            /* Of a call that ended without waiting for it: the next one will be told. */
            keep_answer(helper, &frame);
            break;
        default:
            breach("a frame out of turn");
        }
    }
}

int helper_serve(const struct helper_start *start, const struct engine_type *type,
                 enum wire_helper_kind kind)
{
    struct helper helper = {.start = start, .type = type};
    struct confinement confinement = {0};
    uint32_t cap = start->profile.cap ? start->profile.cap : WIRE_DEFAULT_CAP;
    helper.kept_end = &helper.kept;
    helper.calls_end = &helper.calls;
    helper.may_stay_awake = wire_awake_possible();
    wire_reader_init(&helper.reader, WIRE_DIR_IN, cap, true);
    if (!confine_before_engine(&confinement, start))
        return HELPER_EXIT_CONFINE;
    helper.engine = type->create(&helper, start);
    if (!helper.engine) {
        dprintf(STDERR_FILENO, "halter: the engine could not be made\n");
        return HELPER_EXIT_ENGINE;
    }
    if (!confine_after_engine(&confinement, start))
        return HELPER_EXIT_CONFINE;
    send_hello(&helper, kind, &confinement);
    if (type->warm)
        type->warm(helper.engine);
    serve(&helper);
}
