/*
 * One helper without a host and without a launcher above it, so that its layers of confinement can
 * be chosen: what they cost is measured at the socket, with nothing else between. The program is
 * halter-launcher, executed as it executes itself for helpers with an address space of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/say.h"
#include "wire/body.h"
#include "wire/frame.h"

#define SOCKET_FD    3
#define STATUS_FD    4
#define STATUS_BYTES 4096

static void become(const char *program, const char *profile, int socket, int status)
{
    char name[] = "halter-helper", option[] = "--helper";
    char *arguments[] = {name, option, (char *)(uintptr_t)profile, NULL}, *environment[] = {NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Out of the way first: either may be where the other has to go. */
    socket = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    status = fcntl(status, F_DUPFD_CLOEXEC, 10);
    if (dup2(socket, SOCKET_FD) >= 0 && dup2(status, STATUS_FD) >= 0)
        execve(program, arguments, environment);
    _exit(127);
}

static bool receive(struct bench_helper *helper, struct wire_frame *frame)
{
    return wire_receive_wait(helper->reader, helper->socket, frame) == 1;
}

static struct iovec part(const void *bytes, size_t length)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
}

static bool load(struct bench_helper *helper, const char *source)
{
    struct wire_load load = {.name = {"bench", 5},
                             .path = {"bench.js", 8},
                             .source = {source, (uint32_t)strlen(source)}};
    uint8_t fixed[WIRE_LOAD_FIXED];
    struct iovec parts[] = {part(fixed, wire_load_encode(&load, fixed)), part("bench", 5),
                            part("bench.js", 8), part(source, load.source.length)};
    struct wire_frame header = {.type = WIRE_LOAD, .id = helper->next_id}, frame;
    helper->next_id += 2;
    return wire_send_wait(helper->socket, &header, parts, 4, NULL) == 0 &&
           receive(helper, &frame) && frame.type == WIRE_LOADED;
}

bool bench_helper_start(const struct bench *bench, struct bench_helper *helper, uint16_t flags,
                        uint32_t skip_layers, const char *source)
{
    char profile[96];
    int pair[2] = {-1, -1};
    struct wire_frame frame;
    struct wire_hello hello;
    snprintf(profile, sizeof profile, "%d,%u,%u,0,0,0,0,1", WIRE_HELPER_JS, flags, skip_layers);
    *helper = (struct bench_helper){.socket = -1, .next_id = 1};
    int status = memfd_create("bench-status", MFD_CLOEXEC);
    if (status < 0 || ftruncate(status, STATUS_BYTES) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        say("no helper: %s", strerror(errno));
        if (status >= 0)
            close(status);
        return false;
    }
    helper->pid = fork();
    if (helper->pid == 0)
        become(bench->launcher, profile, pair[1], status);
    close(pair[1]);
    close(status);
    helper->socket = pair[0];
    helper->reader = malloc(sizeof(struct wire_reader));
    if (!helper->reader)
        die_without_memory();
    wire_reader_init(helper->reader, WIRE_DIR_OUT, WIRE_DEFAULT_CAP, false);
    if (helper->pid > 0 && receive(helper, &frame) && frame.type == WIRE_HELLO &&
        wire_hello_decode(&hello, frame.body, frame.length)) {
        helper->layers = hello.layers;
        if (load(helper, source))
            return true;
    }
    say("the helper did not start");
    bench_helper_end(helper);
    return false;
}

uint64_t bench_helper_call(struct bench_helper *helper, const char *json, size_t bytes)
{
    struct wire_call call = {.now_ms = 1772438400000, .tick = 1, .generation = 1,
                             .deadline_ms = 60000, .locale = {"en", 2}};
    uint8_t fixed[WIRE_CALL_FIXED];
    struct iovec parts[] = {part(fixed, wire_call_encode(&call, fixed)), part("en", 2),
                            part(json, bytes)};
    struct wire_frame header = {.type = WIRE_CALL, .id = helper->next_id}, frame;
    helper->next_id += 2;
    uint64_t start = now_ns();
    if (wire_send_wait(helper->socket, &header, parts, 3, NULL) != 0 || !receive(helper, &frame) ||
        frame.type != WIRE_VALUE)
        return 0;
    return now_ns() - start;
}

void bench_helper_end(struct bench_helper *helper)
{
    if (helper->socket >= 0)
        close(helper->socket);
    if (helper->pid > 0) {
        kill(helper->pid, SIGKILL);
        waitpid(helper->pid, NULL, 0);
    }
    if (helper->reader)
        wire_reader_finish(helper->reader);
    free(helper->reader);
    *helper = (struct bench_helper){.socket = -1};
}
