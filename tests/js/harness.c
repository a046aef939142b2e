/*
 * See harness.h. Everything here waits with a limit, so that a helper that hangs is a failure and
 * not a hang of the test.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 10000

_Noreturn static void become_helper(const struct guest *guest, int socket, int errors,
                                    const struct guest_options *options)
{
    /* What the launcher does before helper_main. */
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(errors, 2);
    if (socket != 3)
        dup2(socket, 3);
    if (!options->leave_open)
        close_range(4, ~0u, 0);
    if (!options->leave_environment)
        clearenv();
    if (options->time_zone)
        setenv("TZ", options->time_zone, 1);
    struct helper_start start = {
        .socket = 3,
        .status = guest->status,
        .generation = 7,
        .profile =
            {
                .kind = WIRE_HELPER_JS,
                .flags = options->flags,
                .skip_layers = options->skip_layers,
                .cap = options->cap,
                .max_fds = options->max_fds,
                .cpu_seconds = options->cpu_seconds,
            },
    };
    _exit(options->engine ? helper_serve(&start, options->engine, WIRE_HELPER_JS)
                          : helper_main(&start));
}

void guest_fork(struct guest *guest, const struct guest_options *options)
{
    static const struct guest_options none;
    int pair[2], errors[2];
    if (!options)
        options = &none;
    *guest = (struct guest){.last_id = 1};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(errors, O_CLOEXEC | O_NONBLOCK), 0);
    guest->status = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guest->status, MAP_FAILED);
    guest->status->syscall_number = -1;
    fflush(NULL);
    guest->pid = fork();
    assert_true(guest->pid >= 0);
    if (guest->pid == 0)
        become_helper(guest, pair[1], errors[1], options);
    close(pair[1]);
    close(errors[1]);
    guest->socket = pair[0];
    guest->errors = errors[0];
    wire_reader_init(&guest->reader, WIRE_DIR_OUT, WIRE_DEFAULT_CAP, false);
}

void guest_start(struct guest *guest, const struct guest_options *options)
{
    guest_fork(guest, options);
    if (guest_receive(guest) != WIRE_HELLO) {
        int status = guest_wait(guest);
        fail_msg("no hello: wait status %x, system call %d, stderr: %s", status,
                 guest->status->syscall_number, guest_stderr(guest));
    }
    assert_true(wire_hello_decode(&guest->hello, guest->frame.body, guest->frame.length));
}

void guest_load_with(struct guest *guest, const struct guest_options *options, const char *source,
                     const char *capabilities)
{
    guest_start(guest, options);
    guest_send_load(guest, source, strlen(source), capabilities);
    uint8_t type = guest_receive(guest);
    if (type == WIRE_ERROR)
        fail_msg("the plugin did not load: %.*s", (int)guest->error.message.length,
                 guest->error.message.bytes);
    assert_string_equal(wire_type_name(type), "LOADED");
}

void guest_load(struct guest *guest, const struct guest_options *options, const char *source)
{
    guest_load_with(guest, options, source, "");
}

int guest_wait(struct guest *guest)
{
    for (int waited = 0; !guest->dead && waited < PATIENCE_MS; waited += 2) {
        pid_t got = waitpid(guest->pid, &guest->wait_status, WNOHANG);
        assert_true(got >= 0);
        guest->dead = got == guest->pid;
        if (!guest->dead)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (!guest->dead) {
        kill(guest->pid, SIGKILL);
        waitpid(guest->pid, &guest->wait_status, 0);
        guest->dead = true;
        fail_msg("the helper did not end");
    }
    return guest->wait_status;
}

void guest_kill(struct guest *guest)
{
    kill(guest->pid, SIGKILL);
    guest_wait(guest);
}

void guest_finish(struct guest *guest)
{
    close(guest->socket);
    if (!guest->dead) {
        int status = guest_wait(guest);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("the helper ended with wait status %x: %s", status, guest_stderr(guest));
    }
    close(guest->errors);
    wire_reader_finish(&guest->reader);
    munmap(guest->status, 4096);
}

void guest_send(struct guest *guest, uint8_t type, uint64_t id, const void *body, size_t length,
                const int *fds, unsigned nfds)
{
    struct wire_frame frame = {.type = type, .id = id, .nfds = (uint8_t)nfds};
    struct iovec part = {(void *)(uintptr_t)body, length};
    int fault = wire_send_wait(guest->socket, &frame, &part, 1, fds);
    if (fault != 0 && fault != WIRE_EOF)
        fail_msg("sending: %s", wire_fault_text(fault));
}

void guest_send_load(struct guest *guest, const char *source, size_t length,
                     const char *capabilities)
{
    struct wire_load load = {
        .name = {"plugin", 6},
        .path = {"plugin.js", 9},
        .capabilities = {capabilities, (uint32_t)strlen(capabilities)},
        .source = {source, (uint32_t)length},
    };
    uint8_t fixed[WIRE_LOAD_FIXED];
    size_t head = wire_load_encode(&load, fixed);
    struct iovec parts[] = {
        {fixed, head},
        {(void *)(uintptr_t)load.name.bytes, load.name.length},
        {(void *)(uintptr_t)load.path.bytes, load.path.length},
        {(void *)(uintptr_t)load.capabilities.bytes, load.capabilities.length},
        {(void *)(uintptr_t)load.source.bytes, load.source.length},
    };
    struct wire_frame frame = {.type = WIRE_LOAD, .id = guest->last_id += 2};
    assert_int_equal(wire_send_wait(guest->socket, &frame, parts, 5, NULL), 0);
}

void guest_send_call(struct guest *guest, const char *json, size_t length, uint32_t deadline_ms)
{
    struct wire_call call = {
        .now_ms = 1234567890123,
        .tick = 42,
        .generation = 7,
        .deadline_ms = deadline_ms,
        .locale = {"de-CH", 5},
        .json = {json, (uint32_t)length},
    };
    uint8_t fixed[WIRE_CALL_FIXED];
    size_t head = wire_call_encode(&call, fixed);
    struct iovec parts[] = {
        {fixed, head},
        {(void *)(uintptr_t)call.locale.bytes, call.locale.length},
        {(void *)(uintptr_t)json, length},
    };
    struct wire_frame frame = {.type = WIRE_CALL, .id = guest->last_id += 2};
    int fault = wire_send_wait(guest->socket, &frame, parts, 3, NULL);
    assert_true(fault == 0 || fault == WIRE_EOF);
}

void guest_answer(struct guest *guest, uint64_t id, const char *json, const int *fds, unsigned nfds)
{
    guest_send(guest, WIRE_ANSWER, id, json, strlen(json), fds, nfds);
}

void guest_refuse(struct guest *guest, uint64_t id, enum wire_error_kind kind, const char *message)
{
    struct wire_error error = {
        .kind = (uint16_t)kind,
        .name = {"Refused", 7},
        .message = {message, (uint32_t)strlen(message)},
    };
    uint8_t body[WIRE_ERROR_FIXED + 512];
    size_t length = wire_error_encode(&error, body);
    memcpy(body + length, error.name.bytes, error.name.length);
    length += error.name.length;
    memcpy(body + length, message, error.message.length);
    guest_send(guest, WIRE_REFUSE, id, body, length + error.message.length, NULL, 0);
}

bool guest_readable(struct guest *guest, int ms)
{
    struct pollfd poll_fd = {.fd = guest->socket, .events = POLLIN};
    return poll(&poll_fd, 1, ms) == 1;
}

uint8_t guest_receive(struct guest *guest)
{
    for (;;) {
        int got = wire_reader_next(&guest->reader, &guest->frame);
        if (got == 1)
            break;
        if (got < 0)
            fail_msg("not a frame: %s", wire_fault_text(got));
        if (!guest_readable(guest, PATIENCE_MS)) {
            kill(guest->pid, SIGKILL);
            fail_msg("the helper says nothing; stderr: %s", guest_stderr(guest));
        }
        got = wire_reader_fill(&guest->reader, guest->socket);
        if (got == WIRE_EOF || got == WIRE_SYSTEM)
            return 0;
        if (got < 0 && got != WIRE_AGAIN)
            fail_msg("not a frame: %s", wire_fault_text(got));
    }
    if (guest->frame.type == WIRE_ERROR)
        assert_true(wire_error_decode(&guest->error, guest->frame.body, guest->frame.length));
    return guest->frame.type;
}

bool text_is(struct wire_text text, const char *expected)
{
    if (text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0)
        return true;
    print_error("got \"%.*s\", expected \"%s\"\n", (int)text.length, text.bytes, expected);
    return false;
}

const struct wire_error *guest_error(const struct guest *guest)
{
    return &guest->error;
}

static const char *kind_word(unsigned kind)
{
    static const char *const words[] = {
        [WIRE_ERROR_LOAD] = "LOAD",     [WIRE_ERROR_SCRIPT] = "SCRIPT",
        [WIRE_ERROR_RESULT] = "RESULT", [WIRE_ERROR_PENDING] = "PENDING",
        [WIRE_ERROR_INPUT] = "INPUT",   [WIRE_ERROR_TOO_LONG] = "TOO_LONG",
    };
    return kind < sizeof(words) / sizeof(words[0]) && words[kind] ? words[kind] : "?";
}

const char *guest_call(struct guest *guest, const char *json)
{
    static char *text;
    free(text);
    text = NULL;
    if (json)
        guest_send_call(guest, json, strlen(json), 1000);
    uint8_t type;
    do
        type = guest_receive(guest);
    while (type == WIRE_LOG);
    const struct wire_error *e = &guest->error;
    int length;
    switch (type) {
    case WIRE_VALUE:
        assert_true(json_check((const char *)guest->frame.body, guest->frame.length, NULL));
        length = asprintf(&text, "%.*s", (int)guest->frame.length, guest->frame.body);
        break;
    case WIRE_UNDEFINED:
        length = asprintf(&text, "undefined");
        break;
    case WIRE_ERROR:
        length = asprintf(&text, "%s %.*s: %.*s", kind_word(e->kind), (int)e->name.length,
                          e->name.bytes, (int)e->message.length, e->message.bytes);
        if (e->path.length) {
            char *with_path;
            length = asprintf(&with_path, "%s at %.*s", text, (int)e->path.length, e->path.bytes);
            free(text);
            text = with_path;
        }
        break;
    default:
        length = asprintf(&text, "%s", type ? wire_type_name(type) : "gone");
    }
    assert_true(length >= 0);
    return text;
}

const char *once(const char *source, const char *json)
{
    struct guest guest;
    guest_load(&guest, NULL, source);
    const char *text = guest_call(&guest, json);
    guest_finish(&guest);
    return text;
}

const char *guest_stderr(struct guest *guest)
{
    static char text[4096];
    ssize_t got = read(guest->errors, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = 0;
    return text;
}
