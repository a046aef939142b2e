/* sys.h: Linux on i386 without a C library, as much of it as the agent needs: so that any compiler
 * with a 32-bit mode can build it. Results are the kernel's own: a negative errno on failure. */
#ifndef HALTER_GUEST_SYS_H
#define HALTER_GUEST_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SYS_exit = 1,
    SYS_fork = 2,
    SYS_read = 3,
    SYS_write = 4,
    SYS_open = 5,
    SYS_close = 6,
    SYS_waitpid = 7,
    SYS_execve = 11,
    SYS_chdir = 12,
    SYS_sync = 36,
    SYS_kill = 37,
    SYS_pipe2 = 331,
    SYS_ioctl = 54,
    SYS_fcntl = 55,
    SYS_dup2 = 63,
    SYS_setsid = 66,
    SYS_poll = 168,
    SYS_rt_sigprocmask = 175,
    SYS_clock_settime64 = 404,
    SYS_signalfd4 = 327,
};

enum { O_RDWR = 2, O_NOCTTY = 0400, O_NONBLOCK = 04000, O_CLOEXEC = 02000000, F_SETFL = 4 };
enum { EINTR = 4, EAGAIN = 11, ENOENT = 2, ENOEXEC = 8, EACCES = 13, ENOTDIR = 20 };
enum { POLLIN = 1, POLLOUT = 4, POLLERR = 8, POLLHUP = 16 };
enum { SIGCHLD = 17, SIG_BLOCK = 0, SIG_SETMASK = 2, WNOHANG = 1 };

struct pollfd {
    int fd;
    short events, revents;
};

/* As the kernel has it: struct termios of TCGETS. */
struct termios {
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t line, cc[19];
};
enum { TCGETS = 0x5401, TCSETS = 0x5402, VTIME = 5, VMIN = 6 };
enum { CS8 = 060, CREAD = 0200, CLOCAL = 04000, B115200 = 010002 };
enum { RNDADDENTROPY = 0x40085203, RNDRESEEDCRNG = 0x5207 };

static inline long sys5(long n, long a, long b, long c, long d, long e)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

#define sys(n, ...) SYS_ARGS(n, __VA_ARGS__, 0, 0, 0, 0, 0)
#define SYS_ARGS(n, a, b, c, d, e, ...)                                                            \
    sys5(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

#endif
