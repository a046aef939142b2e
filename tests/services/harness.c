/* The harness of harness.h. */
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/policy_address.h"
#include "wire/json_write.h"

#define LIMIT_MS 20000

void services_spawn(struct services *services, const char *preload)
{
    int pair[2];
    memset(services, 0, sizeof(*services));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    services->pid = fork();
    assert_true(services->pid >= 0);
    if (services->pid == 0) {
        char variable[1100];
        /* No proxy is to be used, whatever the environment says. */
        const char *const environment[] = {
            "http_proxy=http://127.0.0.1:1", "all_proxy=http://127.0.0.1:1",
            "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0", variable, NULL};
        snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", preload ? preload : "");
        if (dup2(pair[1], 3) < 0)
            _exit(126);
        fcntl(3, F_SETFD, 0);
        execle(SERVICES_PATH, "halter-services", (char *)NULL,
               (char *const *)(uintptr_t)environment);
        _exit(127);
    }
    close(pair[1]);
    services->fd = pair[0];
    wire_reader_init(&services->reader, WIRE_DIR_OUT, WIRE_DEFAULT_CAP, false);
}

/* 1 with the next frame, 0 when the process is gone. */
static int next_frame(struct services *services, struct wire_frame *frame)
{
    int cut;
    while ((cut = wire_reader_next(&services->reader, frame)) == 0) {
        struct pollfd wait = {.fd = services->fd, .events = POLLIN};
        if (poll(&wait, 1, LIMIT_MS) != 1)
            fail_msg("no answer within %d ms", LIMIT_MS);
        if (wire_reader_fill(&services->reader, services->fd) <= 0)
            return 0;
    }
    if (cut < 0)
        fail_msg("%s", wire_fault_text(cut));
    return 1;
}

static char *configuration(const char *state_path)
{
    struct json_writer out;
    struct wire_range range;
    char text[WIRE_RANGE_TEXT];
    json_writer_init(&out);
    json_write(&out, "{\"public\":[");
    for (size_t i = 0; policy_address_public(i, &range); i++) {
        json_write(&out, i ? "," : "");
        json_write_string(&out, text, wire_range_print(&range, text));
    }
    json_write(&out, "],\"refuse\":[");
    for (size_t i = 0; policy_address_refused(i, &range, NULL); i++) {
        json_write(&out, i ? "," : "");
        json_write_string(&out, text, wire_range_print(&range, text));
    }
    json_write(&out, "]");
    if (state_path) {
        json_write(&out, ",\"state_path\":");
        json_write_string(&out, state_path, strlen(state_path));
    }
    json_write(&out, "}");
    assert_true(json_write_end(&out));
    return out.text;
}

struct answer services_configure(struct services *services, const char *state_path)
{
    struct answer answer;
    char *json = configuration(state_path);
    struct wire_load load = {.source = {json, (uint32_t)strlen(json)}};
    uint8_t fixed[WIRE_LOAD_FIXED];
    struct iovec parts[] = {{fixed, wire_load_encode(&load, fixed)}, {json, load.source.length}};
    struct wire_frame header = {.type = WIRE_LOAD, .id = 1};
    assert_int_equal(wire_send_wait(services->fd, &header, parts, 2, NULL), 0);
    services->last_id = 1;
    free(json);
    if (!services_answer(services, &answer))
        fail_msg("halter-services is gone");
    return answer;
}

void services_start(struct services *services, const char *state_path, const char *preload)
{
    struct wire_frame frame;
    services_spawn(services, preload);
    if (!next_frame(services, &frame) || frame.type != WIRE_HELLO ||
        !wire_hello_decode(&services->hello, frame.body, frame.length))
        fail_msg("no hello from %s", SERVICES_PATH);
    struct answer answer = services_configure(services, state_path);
    if (answer.kind)
        fail_msg("%s", answer.text);
    free(answer.text);
}

int services_stop(struct services *services, int signal)
{
    int status;
    if (signal)
        kill(services->pid, signal);
    close(services->fd);
    assert_int_equal(waitpid(services->pid, &status, 0), services->pid);
    wire_reader_finish(&services->reader);
    return status;
}

static uint64_t send_order(struct services *services, const char *format, va_list arguments)
{
    char *json;
    int length = vasprintf(&json, format, arguments);
    assert_true(length > 0);
    struct wire_call call = {.locale = {"en", 2}, .json = {json, (uint32_t)length}};
    uint8_t fixed[WIRE_CALL_FIXED];
    size_t size = wire_call_encode(&call, fixed);
    struct iovec parts[] = {{fixed, size}, {(char *)(uintptr_t) "en", 2}, {json, (size_t)length}};
    services->last_id += 2;
    struct wire_frame header = {.type = WIRE_CALL, .id = services->last_id};
    int fault = wire_send_wait(services->fd, &header, parts, 3, NULL);
    free(json);
    return fault ? 0 : services->last_id;
}

uint64_t services_send(struct services *services, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint64_t id = send_order(services, format, arguments);
    va_end(arguments);
    return id;
}

bool services_answer(struct services *services, struct answer *answer)
{
    struct wire_frame frame;
    struct wire_error error;
    memset(answer, 0, sizeof(*answer));
    if (!next_frame(services, &frame))
        return false;
    answer->id = frame.id;
    if (frame.type == WIRE_VALUE) {
        answer->text = strndup((const char *)frame.body, frame.length);
        assert_true(json_check(answer->text, frame.length, NULL));
    } else if (frame.type == WIRE_ERROR && wire_error_decode(&error, frame.body, frame.length)) {
        answer->kind = error.kind;
        answer->text = strndup(error.message.bytes, error.message.length);
    } else if (frame.type == WIRE_LOADED) {
        answer->text = strdup("");
    } else {
        fail_msg("a frame of type %s", wire_type_name(frame.type));
    }
    return true;
}

struct answer services_ask(struct services *services, const char *format, ...)
{
    struct answer answer;
    va_list arguments;
    va_start(arguments, format);
    uint64_t id = send_order(services, format, arguments);
    va_end(arguments);
    if (!services_answer(services, &answer))
        fail_msg("halter-services is gone");
    assert_int_equal(answer.id, id);
    return answer;
}

void answer_is(struct answer answer, const char *text)
{
    if (answer.kind || strcmp(answer.text, text) != 0)
        fail_msg("%s in place of %s", answer.text, text);
    free(answer.text);
}

void answer_fails(struct answer answer, int kind, const char *piece)
{
    if (answer.kind != kind || !strstr(answer.text, piece))
        fail_msg("%d: %s in place of %d: %s", answer.kind, answer.text, kind, piece);
    free(answer.text);
}

char *temporary_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path;
    assert_true(asprintf(&path, "%s/halter-test-XXXXXX", base ? base : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

void temporary_remove(char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries && (entry = readdir(entries)))
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
    free(folder);
}
