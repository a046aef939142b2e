/*
 * A helper without an engine: linked with the launcher's sources in place of src/helper, it speaks
 * the wire as well, or as badly, as the "plugin" that it is loaded with tells it to.
 *
 * The source is lines `WHEN ACTION [ARGUMENTS]`; empty lines and those with # are skipped.
 *   load ...    runs when LOAD arrives. Without such a line: `load ok`
 *   call ...    runs for each CALL, all such lines in order. Without one: `call echo`
 *   tick N ...  runs instead for the call that the host numbered N (ctx.tick; survives restarts)
 *   call obey   runs the lines of the call's own input, a JSON string such as "sleep 5\necho"
 * Before LOAD there is no source: a file `fake-start` in the directory of the launcher's program
 * (a test copies it, or makes a hard link) holds lines `start ACTION`; without it the helper sends
 * a sound HELLO. It is read at each start, so a test may rewrite it in between.
 *
 * Answers     ok (LOADED)  echo  value JSON  undefined  big BYTES  throw MESSAGE
 *             error KIND [LINE COLUMN [PATH]]  answer (what the last request got)  pid
 * Otherwise   log N [LEVEL]  log-text TEXT  stderr N  stderr-text TEXT  sleep MS  silence
 *             request NAME JSON (waits)  request-sync NAME JSON (says that the script waits)
 *             request-only NAME JSON (does not wait)  read-fd (echoes a passed file as JSON)
 * Lies        half-frame  half-header  length N  garbage  bad-json  bad-utf8  empty  trailing
 *             unknown-type [N]  wrong-way  wrong-id  old-id  zero-id  even-id  twice  unasked
 *             loaded (again)  hello (again)  bad-error  bad-log  bad-request  odd-request
 *             same-request (twice the same id)  long-error  data N  credit N  end  beat
 *             mute-beats  claim-fd  send-fd  many-fds  slow-bytes [MS]  stop-reading
 * At start    hello-none  hello-version N  hello-magic  hello-layers N  hello-cap N  hello-kind N
 *             hello-short  hello-long  hello-jit N  value-first
 * Deaths      exit N  signal N  abort  trap N (a forbidden system call)  hang (busy)  stall (idle)
 *             allocate SIZE[K|M|G]  burn MS (CPU)  close  shutdown  orphan (a child that stays)
 * Reports     report (of the process itself: descriptors, environment, signals, ... as JSON)
 *
 * A line that is none of these ends the helper with status 99 and says so on its stderr.
 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/json.h"

#define EXIT_UNKNOWN 99

void fake_send(struct fake *fake, uint8_t type, uint16_t stream, uint64_t id, const void *body,
               size_t length)
{
    struct wire_frame header = {.type = type, .stream = stream, .id = id};
    struct iovec part = {.iov_base = (void *)(uintptr_t)body, .iov_len = length};
    if (wire_send_wait(fake->start->socket, &header, &part, 1, NULL) < 0)
        _exit(HELPER_EXIT_EOF);
}

void fake_value(struct fake *fake, uint64_t id, const char *json)
{
    fake_send(fake, WIRE_VALUE, 0, id, json, strlen(json));
}

void fake_run(struct fake *fake, const struct moment *moment, char *line)
{
    char *verb = line + strspn(line, " \t");
    char *rest = verb + strcspn(verb, " \t");
    if (*rest)
        *rest++ = 0;
    rest += strspn(rest, " \t");
    if (fake_speak(fake, moment, verb, rest) || fake_lie(fake, moment, verb, rest) ||
        fake_die(fake, moment, verb, rest) || fake_tell(fake, moment, verb, rest))
        return;
    dprintf(2, "fake: unknown action: %s\n", verb);
    _exit(EXIT_UNKNOWN);
}

/* `call obey`: the input is a JSON string of lines. */
static void obey(struct fake *fake, const struct moment *moment)
{
    struct json_value input = json_root(moment->json, moment->json_bytes);
    char *text = malloc(input.length + 1), *save = NULL;
    if (!text || input.type != JSON_STRING || json_string(input, text, input.length + 1) < 0)
        _exit(EXIT_UNKNOWN);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        fake_run(fake, moment, line);
    free(text);
}

/* Runs the script's lines that begin with `when`. Returns how many. */
static unsigned run_lines(struct fake *fake, const struct moment *moment, const char *script,
                          const char *when)
{
    size_t length = strlen(when);
    unsigned ran = 0;
    char *copy = strdup(script ? script : ""), *save = NULL;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " \t");
        if (strncmp(line, when, length) || (line[length] != ' ' && line[length] != '\t'))
            continue;
        ran++;
        line += length + strspn(line + length, " \t");
        if (!strcmp(line, "obey"))
            obey(fake, moment);
        else
            fake_run(fake, moment, line);
    }
    free(copy);
    return ran;
}

static void run_default(struct fake *fake, const struct moment *moment, const char *action)
{
    char line[32];
    snprintf(line, sizeof(line), "%s", action);
    fake_run(fake, moment, line);
}

static void keep_fds(struct fake *fake, const struct wire_frame *frame)
{
    for (unsigned i = 0; i < fake->nfds; i++)
        close(fake->fds[i]);
    fake->nfds = frame->nfds;
    memcpy(fake->fds, frame->fds, frame->nfds * sizeof(int));
}

static void on_load(struct fake *fake, const struct wire_frame *frame)
{
    struct wire_load load;
    struct moment moment = {.id = frame->id, .json = "null", .json_bytes = 4};
    if (!wire_load_decode(&load, frame->body, frame->length))
        _exit(HELPER_EXIT_BREACH);
    free(fake->script);
    fake->script = strndup(load.source.bytes, load.source.length);
    if (!run_lines(fake, &moment, fake->script, "load"))
        run_default(fake, &moment, "ok");
}

static void on_call(struct fake *fake, const struct wire_frame *frame)
{
    struct wire_call call;
    char when[40];
    if (!wire_call_decode(&call, frame->body, frame->length) || !fake->script)
        _exit(HELPER_EXIT_BREACH);
    char *json = strndup(call.json.bytes, call.json.length); /* a request moves the buffer */
    struct moment moment = {.id = frame->id, .json = json, .json_bytes = call.json.length};
    keep_fds(fake, frame);
    snprintf(when, sizeof(when), "tick %llu", (unsigned long long)call.tick);
    if (!run_lines(fake, &moment, fake->script, when) &&
        !run_lines(fake, &moment, fake->script, "call"))
        run_default(fake, &moment, "echo");
    fake->last_id = frame->id;
    free(json);
}

/* ANSWER and REFUSE: remembered as JSON for `answer`. */
static void on_answer(struct fake *fake, const struct wire_frame *frame)
{
    struct wire_error error;
    char text[256];
    free(fake->answer);
    keep_fds(fake, frame);
    if (frame->type == WIRE_ANSWER) {
        fake->answer = strndup((const char *)frame->body, frame->length);
    } else if (wire_error_decode(&error, frame->body, frame->length)) {
        snprintf(text, sizeof(text), "{\"refused\":%u}", error.kind);
        fake->answer = strdup(text);
    } else {
        _exit(HELPER_EXIT_BREACH);
    }
}

static void handle(struct fake *fake, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_LOAD:
        on_load(fake, frame);
        break;
    case WIRE_CALL:
        on_call(fake, frame);
        break;
    case WIRE_ANSWER:
    case WIRE_REFUSE:
        on_answer(fake, frame);
        break;
    case WIRE_BEAT:
        if (!fake->mute_beats)
            fake_send(fake, WIRE_BEAT, 0, frame->id, NULL, 0);
        break;
    default:
        break;
    }
}

/* The next frame; does not come back when there is none. */
static void receive(struct fake *fake, struct wire_frame *frame)
{
    int got = wire_receive_wait(&fake->reader, fake->start->socket, frame);
    if (got != 1)
        _exit(got == WIRE_EOF ? HELPER_EXIT_EOF : HELPER_EXIT_BREACH);
}

void fake_await(struct fake *fake, uint64_t id)
{
    struct wire_frame frame;
    do {
        receive(fake, &frame);
        if (frame.type != WIRE_CALL && frame.type != WIRE_LOAD)
            handle(fake, &frame);
    } while (frame.id != id || (frame.type != WIRE_ANSWER && frame.type != WIRE_REFUSE));
}

/* The file `fake-start` beside the launcher's program. */
static char *read_start_script(void)
{
    char program[4096], path[4352];
    static char text[4096];
    ssize_t got = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[got > 0 ? got : 0] = 0;
    snprintf(path, sizeof(path), "%s/fake-start", dirname(program));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return text;
}

static void say_hello(struct fake *fake)
{
    uint8_t body[WIRE_HELLO_BYTES];
    wire_hello_encode(&fake->hello, body);
    if (!fake->hello_sent)
        fake_send(fake, WIRE_HELLO, 0, 0, body, sizeof(body));
    fake->hello_sent = true;
}

int helper_main(const struct helper_start *start)
{
    struct fake fake = {
        .start = start,
        .next_request = 2,
        .hello = {.version = WIRE_VERSION,
                  .kind = start->profile.kind,
                  .cap = start->profile.cap,
                  .layers = 0x1fff,
                  .landlock_abi = 6,
                  .jit = !(start->profile.flags & CONTROL_NO_JIT),
                  .engine = "fake"},
    };
    struct moment moment = {.id = 1, .json = "null", .json_bytes = 4};
    struct wire_frame frame;
    signal(SIGPIPE, SIG_IGN);
    wire_reader_init(&fake.reader, WIRE_DIR_IN, start->profile.cap, true);
    run_lines(&fake, &moment, read_start_script(), "start");
    say_hello(&fake);
    for (;;) {
        receive(&fake, &frame);
        handle(&fake, &frame);
    }
}
