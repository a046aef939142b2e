/*
 * See harness.h.
 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* In the child: the socket on 3, the page on 4, and nothing between them and an exec. */
static void become_launcher(int socket, int page, int (*run)(void))
{
    int high_socket = fcntl(socket, F_DUPFD, 100), high_page = fcntl(page, F_DUPFD, 100);
    dup2(high_socket, CONTROL_SOCKET_FD);
    dup2(high_page, CONTROL_PAGE_FD);
    close(high_socket);
    close(high_page);
    if (run)
        _exit(run());
    const char *path = getenv("FAKE_LAUNCHER");
    execl(path, path, (char *)NULL);
    _exit(127);
}

void rig_fork(struct rig *rig, int (*run)(void))
{
    int ends[2];
    *rig = (struct rig){.cap = 1 << 20};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    int page = memfd_create("page", MFD_CLOEXEC);
    assert_true(page >= 0);
    assert_int_equal(ftruncate(page, sizeof(struct control_page)), 0);
    rig->page =
        mmap(NULL, sizeof(struct control_page), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    assert_true(rig->page != MAP_FAILED);
    rig->control = ends[0];
    rig->pid = fork();
    assert_true(rig->pid >= 0);
    if (rig->pid == 0)
        become_launcher(ends[1], page, run);
    close(ends[1]);
    close(page);
}

bool rig_receive(struct rig *rig, int timeout_ms, struct control_message *message, int *fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room;
    struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    struct pollfd ready = {.fd = rig->control, .events = POLLIN};
    *fd = -1;
    if (poll(&ready, 1, timeout_ms) != 1)
        return false;
    ssize_t size = recvmsg(rig->control, &header, MSG_CMSG_CLOEXEC);
    if (size <= 0)
        return false;
    assert_int_equal(size, sizeof(*message));
    assert_int_equal(message->version, CONTROL_VERSION);
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    if (c)
        memcpy(fd, CMSG_DATA(c), sizeof(int));
    return true;
}

void rig_expect(struct rig *rig, uint32_t type, struct control_message *message, int *fd)
{
    int unused = -1;
    assert_true(rig_receive(rig, WAIT_MS, message, fd ? fd : &unused));
    assert_int_equal(message->type, type);
    if (!fd)
        assert_int_equal(unused, -1);
}

void rig_start(struct rig *rig)
{
    struct control_message ready;
    rig_fork(rig, NULL);
    rig_expect(rig, CONTROL_READY, &ready, NULL);
    assert_int_equal(ready.ready.pid, rig->pid);
    rig->features = ready.ready.features;
}

int rig_stop(struct rig *rig)
{
    int status = -1;
    if (rig->control >= 0)
        close(rig->control);
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    munmap(rig->page, sizeof(struct control_page));
    *rig = (struct rig){.control = -1};
    return status;
}

void guest_ask(struct rig *rig, struct guest *guest, uint32_t slot,
               const struct control_profile *profile)
{
    int ends[2], pipes[2];
    struct control_profile plain = {.kind = WIRE_HELPER_JS, .cap = rig->cap};
    struct control_message message = {
        .type = CONTROL_SPAWN,
        .version = CONTROL_VERSION,
        .generation = ++rig->generation,
        .spawn = {.profile = profile ? *profile : plain, .slot = slot}};
    *guest = (struct guest){.generation = rig->generation, .slot = slot, .pidfd = -1};
    guest->next_call = 1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    guest->socket = ends[0];
    guest->stderr_pipe = pipes[0];
    wire_reader_init(&guest->reader, WIRE_DIR_OUT, rig->cap, false);
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } room = {.header = {.cmsg_len = CMSG_LEN(3 * sizeof(int)),
                         .cmsg_level = SOL_SOCKET,
                         .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&room.header), (int[]){ends[1], ends[0], pipes[1]}, 3 * sizeof(int));
    struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    assert_int_equal(sendmsg(rig->control, &header, MSG_NOSIGNAL), sizeof(message));
    close(ends[1]);
    close(pipes[1]);
}

void guest_spawn(struct rig *rig, struct guest *guest, uint32_t slot,
                 const struct control_profile *profile)
{
    struct control_message message;
    struct wire_frame frame;
    guest_ask(rig, guest, slot, profile);
    rig_expect(rig, CONTROL_SPAWNED, &message, &guest->pidfd);
    assert_true(message.generation == guest->generation);
    assert_int_equal(message.spawned.error, 0);
    assert_true(message.spawned.pid > 0 && guest->pidfd >= 0);
    guest->pid = message.spawned.pid;
    guest->features = message.spawned.features;
    guest_receive(guest, &frame);
    assert_int_equal(frame.type, WIRE_HELLO);
}

void guest_load(struct guest *guest, const char *script)
{
    struct wire_load load = {.source.length = (uint32_t)strlen(script)};
    uint8_t fixed[WIRE_LOAD_FIXED];
    struct wire_frame frame = {.type = WIRE_LOAD, .id = guest->next_call};
    struct iovec parts[2] = {
        {.iov_base = fixed, .iov_len = wire_load_encode(&load, fixed)},
        {.iov_base = (void *)(uintptr_t)script, .iov_len = strlen(script)},
    };
    guest->next_call += 2;
    assert_int_equal(wire_send_wait(guest->socket, &frame, parts, 2, NULL), 0);
    guest_receive(guest, &frame);
    assert_int_equal(frame.type, WIRE_LOADED);
}

uint64_t guest_send(struct guest *guest, const char *json)
{
    struct wire_call call = {.generation = guest->generation};
    uint8_t fixed[WIRE_CALL_FIXED];
    struct wire_frame frame = {.type = WIRE_CALL, .id = guest->next_call};
    struct iovec parts[2] = {
        {.iov_base = fixed, .iov_len = wire_call_encode(&call, fixed)},
        {.iov_base = (void *)(uintptr_t)json, .iov_len = strlen(json)},
    };
    guest->next_call += 2;
    assert_int_equal(wire_send_wait(guest->socket, &frame, parts, 2, NULL), 0);
    return frame.id;
}

void guest_receive(struct guest *guest, struct wire_frame *frame)
{
    struct pollfd ready = {.fd = guest->socket, .events = POLLIN};
    int cut;
    while ((cut = wire_reader_next(&guest->reader, frame)) == 0) {
        assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
        assert_true(wire_reader_fill(&guest->reader, guest->socket) > 0);
    }
    assert_int_equal(cut, 1);
}

char *guest_call(struct guest *guest, const char *json)
{
    struct wire_frame frame;
    uint64_t id = guest_send(guest, json);
    guest_receive(guest, &frame);
    assert_int_equal(frame.type, WIRE_VALUE);
    assert_true(frame.id == id);
    return strndup((const char *)frame.body, frame.length);
}

void guest_close(struct guest *guest)
{
    close(guest->socket);
    close(guest->stderr_pipe);
    if (guest->pidfd >= 0)
        close(guest->pidfd);
    wire_reader_finish(&guest->reader);
}

struct control_message guest_exited(struct rig *rig, struct guest *guest)
{
    struct control_message message;
    rig_expect(rig, CONTROL_EXITED, &message, NULL);
    assert_true(message.generation == guest->generation);
    guest_close(guest);
    return message;
}

static unsigned count_entries(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

unsigned count_fds(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    unsigned count = count_entries(path);
    return pid == getpid() ? count - 1 : count; /* but for the look's own */
}

/* The number behind `key` in a process's status, or 0. */
static uint64_t status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    uint64_t number = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, key, strlen(key)))
            number = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return number;
}

unsigned count_children(pid_t pid)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        pid_t other = atoi(entry->d_name);
        count += other > 0 && status_number(other, "PPid:") == (uint64_t)pid;
    }
    if (dir)
        closedir(dir);
    return count;
}

uint64_t resident_bytes(pid_t pid)
{
    return status_number(pid, "VmRSS:") * 1024;
}

bool gone_within(pid_t pid, int timeout_ms)
{
    uint64_t until = now_ms() + (uint64_t)timeout_ms;
    while (waitpid(pid, NULL, WNOHANG) != pid && kill(pid, 0) == 0) {
        if (now_ms() >= until)
            return false;
        usleep(2000);
    }
    return kill(pid, 0) < 0 && errno == ESRCH;
}
