/*
 * A resolver for tests, loaded into halter-services in place of the C library's: names below .test
 * lead where a test wants them to, the others where they always do.
 *
 *   loop.test    127.0.0.1                  stall.test   nowhere, after 30 seconds
 *   second.test  127.0.0.2, then 127.0.0.1  mapped.test  ::ffff:127.0.0.1
 *   rebind.test  127.0.0.1 the first time, 127.0.0.2 from then on
 *
 * A name attack-N.test makes it try something that halter-services may not do, from inside the
 * process, and leads to 127.0.0.1 when that was refused and to 127.0.0.2 when it was not.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Each returns true when it got through. */
static bool opened(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool bound(int family, const void *address, socklen_t size)
{
    int fd = socket(family, SOCK_STREAM, 0);
    return fd >= 0 && bind(fd, address, size) == 0;
}

static bool attack(int number)
{
    char *arguments[] = {NULL};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET};
    struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
    switch (number) {
    case 0:
        return opened("/etc/passwd", O_RDONLY);
    case 1:
        return opened("/root", O_RDONLY | O_DIRECTORY) || opened("/home", O_RDONLY | O_DIRECTORY);
    case 2:
        return opened("/tmp/halter-attack", O_WRONLY | O_CREAT);
    case 3:
        return opened("/etc/ssl/halter-attack", O_WRONLY | O_CREAT);
    case 4:
        return execve("/bin/true", arguments, arguments) == 0;
    case 5:
        return syscall(SYS_fork) >= 0 || syscall(SYS_vfork) >= 0;
    case 6:
        return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) >= 0;
    case 7:
        return bound(AF_UNIX, &local,
                     sizeof(sa_family_t)); /* any socket of the machine's services */
    case 8:
        return bound(AF_INET, &port, sizeof(port)) && listen(3, 1) == 0;
    case 9:
        return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
    case 10:
        return kill(getppid(), 0) == 0;
    case 11:
        return setrlimit(RLIMIT_NOFILE, &more) == 0;
    case 12:
        return unshare(CLONE_NEWUSER) == 0;
    case 13:
        return syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != ENOSYS;
    case 14:
        return syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno != ENOSYS;
    case 15:
        return prctl(PR_SET_DUMPABLE, 1) == 0;
    case 16:
        return socket(AF_PACKET, SOCK_RAW, 0) >= 0 || socket(AF_NETLINK, SOCK_RAW, 9) >= 0;
    case 17:
        return opened("/proc/self/mem", O_RDWR);
    case 18:
        return mount("none", "/mnt", "tmpfs", 0, NULL) == 0;
    case 19:
        return syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS;
    }
    return true; /* no such attack: the test is to fail */
}

static int answer(int (*real)(const char *, const char *, const struct addrinfo *,
                              struct addrinfo **),
                  const char *address, const char *service, const struct addrinfo *hints,
                  struct addrinfo **out)
{
    struct addrinfo numeric = hints ? *hints : (struct addrinfo){0};
    numeric.ai_family = AF_UNSPEC;
    numeric.ai_flags = AI_NUMERICHOST;
    return real(address, service, &numeric, out);
}

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    static atomic_int rebound;
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name)
        return real(name, service, hints, out);
    if (strcmp(name, "loop.test") == 0)
        return answer(real, "127.0.0.1", service, hints, out);
    if (strcmp(name, "mapped.test") == 0)
        return answer(real, "::ffff:127.0.0.1", service, hints, out);
    if (strcmp(name, "rebind.test") == 0)
        return answer(real, atomic_fetch_add(&rebound, 1) ? "127.0.0.2" : "127.0.0.1", service,
                      hints, out);
    if (strcmp(name, "second.test") == 0) {
        int fault = answer(real, "127.0.0.2", service, hints, out);
        return fault ? fault : answer(real, "127.0.0.1", service, hints, &(*out)->ai_next);
    }
    if (strncmp(name, "attack-", 7) == 0)
        return answer(real, attack(atoi(name + 7)) ? "127.0.0.2" : "127.0.0.1", service, hints,
                      out);
    if (strcmp(name, "stall.test") == 0) {
        sleep(30);
        return EAI_AGAIN;
    }
    return real(name, service, hints, out);
}
