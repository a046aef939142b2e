/*
 * What a well-behaved helper says: results, errors, logs, requests. And the HELLO of the start,
 * sound or not.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IS(word) (!strcmp(verb, word))

static struct wire_text text_of(const char *string)
{
    return (struct wire_text){.bytes = string, .length = (uint32_t)strlen(string)};
}

static void send_error(struct fake *fake, uint64_t id, const struct wire_error *error)
{
    uint8_t fixed[WIRE_ERROR_FIXED];
    const struct wire_text texts[] = {error->name, error->message, error->stack, error->file,
                                      error->path};
    struct iovec parts[6] = {{.iov_base = fixed, .iov_len = wire_error_encode(error, fixed)}};
    struct wire_frame header = {.type = WIRE_ERROR, .id = id};
    for (int i = 0; i < 5; i++)
        parts[i + 1] = (struct iovec){.iov_base = (void *)(uintptr_t)texts[i].bytes,
                                      .iov_len = texts[i].length};
    if (wire_send_wait(fake->start->socket, &header, parts, 6, NULL) < 0)
        _exit(HELPER_EXIT_EOF);
}

static void say_error(struct fake *fake, uint64_t id, const char *rest)
{
    unsigned kind = WIRE_ERROR_SCRIPT, line = 0, column = 0;
    char path[128] = "";
    sscanf(rest, "%u %u %u %127s", &kind, &line, &column, path);
    struct wire_error error = {
        .kind = (uint16_t)kind,
        .line = line,
        .column = column,
        .name = text_of("FakeError"),
        .message = text_of("as the script says"),
        .stack = text_of("at fake:1:1"),
        .file = text_of("fake.js"),
        .path = text_of(path),
    };
    send_error(fake, id, &error);
}

static void say_throw(struct fake *fake, uint64_t id, const char *message)
{
    struct wire_error error = {
        .kind = WIRE_ERROR_SCRIPT,
        .name = text_of("Error"),
        .message = text_of(message),
        .stack = text_of(""),
        .file = text_of(""),
        .path = text_of(""),
    };
    send_error(fake, id, &error);
}

static void say_big(struct fake *fake, uint64_t id, const char *rest)
{
    size_t bytes = strtoull(rest, NULL, 0);
    char *json = malloc(bytes + 2);
    if (!json)
        _exit(1);
    memset(json, 'x', bytes + 2);
    json[0] = json[bytes > 1 ? bytes - 1 : 1] = '"';
    fake_send(fake, WIRE_VALUE, 0, id, json, bytes > 1 ? bytes : 2);
    free(json);
}

static void say_log(struct fake *fake, unsigned level, const char *line)
{
    struct wire_log log = {.level = (uint8_t)level, .text = text_of(line)};
    uint8_t fixed[WIRE_LOG_FIXED];
    struct iovec parts[2] = {
        {.iov_base = fixed, .iov_len = wire_log_encode(&log, fixed)},
        {.iov_base = (void *)(uintptr_t)line, .iov_len = strlen(line)},
    };
    struct wire_frame header = {.type = WIRE_LOG};
    if (wire_send_wait(fake->start->socket, &header, parts, 2, NULL) < 0)
        _exit(HELPER_EXIT_EOF);
}

static void say_logs(struct fake *fake, const char *rest)
{
    unsigned count = 1, level = WIRE_INFO;
    char line[48];
    sscanf(rest, "%u %u", &count, &level);
    for (unsigned i = 1; i <= count; i++) {
        snprintf(line, sizeof(line), "line %u", i);
        say_log(fake, level, line);
    }
}

static void say_stderr(const char *rest)
{
    unsigned count = (unsigned)strtoul(rest, NULL, 0);
    for (unsigned i = 1; i <= count; i++)
        dprintf(2, "stderr line %u\n", i);
}

/* request NAME JSON */
static void ask(struct fake *fake, bool wait, bool stay, const char *rest)
{
    size_t name = strcspn(rest, " ");
    const char *json = rest[name] ? rest + name + 1 : "[]";
    struct wire_request request = {
        .wait = wait,
        .name = {.bytes = rest, .length = (uint32_t)name},
    };
    uint8_t fixed[WIRE_REQUEST_FIXED];
    struct iovec parts[3] = {
        {.iov_base = fixed, .iov_len = wire_request_encode(&request, fixed)},
        {.iov_base = (void *)(uintptr_t)rest, .iov_len = name},
        {.iov_base = (void *)(uintptr_t)json, .iov_len = strlen(json)},
    };
    struct wire_frame header = {.type = WIRE_REQUEST, .id = fake->next_request};
    if (wire_send_wait(fake->start->socket, &header, parts, 3, NULL) < 0)
        _exit(HELPER_EXIT_EOF);
    fake->next_request += 2;
    if (stay)
        fake_await(fake, header.id);
}

/* The first passed descriptor, read to its end, as a JSON string of hexadecimal digits. */
static void say_file(struct fake *fake, uint64_t id)
{
    uint8_t bytes[1024];
    char json[2 * sizeof(bytes) + 3] = "\"";
    ssize_t got = fake->nfds ? pread(fake->fds[0], bytes, sizeof(bytes), 0) : -1;
    size_t at = 1;
    for (ssize_t i = 0; i < got; i++)
        at += (size_t)snprintf(json + at, sizeof(json) - at, "%02x", bytes[i]);
    snprintf(json + at, sizeof(json) - at, "\"");
    fake_value(fake, id, got < 0 ? "null" : json);
}

static bool set_hello(struct fake *fake, const char *verb, const char *rest)
{
    uint32_t number = (uint32_t)strtoul(rest, NULL, 0);
    if (IS("hello-version"))
        fake->hello.version = (uint16_t)number;
    else if (IS("hello-layers"))
        fake->hello.layers = number;
    else if (IS("hello-cap"))
        fake->hello.cap = number;
    else if (IS("hello-kind"))
        fake->hello.kind = (uint16_t)number;
    else if (IS("hello-jit"))
        fake->hello.jit = number != 0;
    else if (IS("hello-none"))
        fake->hello_sent = true;
    else
        return false;
    return true;
}

static bool answer(struct fake *fake, const struct moment *moment, const char *verb,
                   const char *rest)
{
    uint64_t id = moment->id;
    if (IS("ok"))
        fake_send(fake, WIRE_LOADED, 0, id, NULL, 0);
    else if (IS("echo"))
        fake_send(fake, WIRE_VALUE, 0, id, moment->json, moment->json_bytes);
    else if (IS("value"))
        fake_value(fake, id, rest);
    else if (IS("undefined"))
        fake_send(fake, WIRE_UNDEFINED, 0, id, NULL, 0);
    else if (IS("big"))
        say_big(fake, id, rest);
    else if (IS("throw"))
        say_throw(fake, id, rest);
    else if (IS("error"))
        say_error(fake, id, rest);
    else if (IS("answer"))
        fake_value(fake, id, fake->answer ? fake->answer : "null");
    else if (IS("read-fd"))
        say_file(fake, id);
    else
        return false;
    return true;
}

bool fake_speak(struct fake *fake, const struct moment *moment, const char *verb, const char *rest)
{
    if (answer(fake, moment, verb, rest) || set_hello(fake, verb, rest))
        return true;
    if (IS("log"))
        say_logs(fake, rest);
    else if (IS("log-text"))
        say_log(fake, WIRE_INFO, rest);
    else if (IS("stderr"))
        say_stderr(rest);
    else if (IS("stderr-text"))
        dprintf(2, "%s\n", rest);
    else if (IS("sleep"))
        usleep((unsigned)strtoul(rest, NULL, 0) * 1000);
    else if (IS("request"))
        ask(fake, false, true, rest);
    else if (IS("request-sync"))
        ask(fake, true, true, rest);
    else if (IS("request-flood")) /* N NAME JSON: so many, and reads no answer */
        for (long n = strtol(rest, (char **)(uintptr_t)&rest, 10); n > 0; n--)
            ask(fake, false, false, rest + strspn(rest, " "));
    else if (IS("request-only"))
        ask(fake, false, false, rest);
    else
        return IS("silence");
    return true;
}
