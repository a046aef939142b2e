/* terminal.c: see terminal.h. */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ESCAPE_KEY 0x01 /* Ctrl-A */

void terminal_init(struct terminal *terminal, int in, int out)
{
    struct termios raw;

    memset(terminal, 0, sizeof *terminal);
    terminal->in = in;
    terminal->out = out;
    if (!isatty(in) || tcgetattr(in, &terminal->before) != 0)
        return;
    raw = terminal->before;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST | ONLCR; /* for lines of our own between the guest's */
    terminal->raw = tcsetattr(in, TCSANOW, &raw) == 0;
}

void terminal_finish(struct terminal *terminal)
{
    terminal_flush(terminal);
    if (terminal->raw)
        tcsetattr(terminal->in, TCSADRAIN, &terminal->before);
    terminal->raw = false;
}

bool terminal_flush(struct terminal *terminal)
{
    size_t done = 0;

    while (done < terminal->written_count) {
        ssize_t n = write(terminal->out, terminal->written + done, terminal->written_count - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = terminal->out, .events = POLLOUT}, 1, -1);
        else if (!(n < 0 && errno == EINTR))
            break;
    }
    bool whole = done == terminal->written_count;
    terminal->written_count = 0;
    return whole;
}

void terminal_write(struct terminal *terminal, uint8_t byte)
{
    if (terminal->written_count == sizeof terminal->written)
        terminal_flush(terminal);
    terminal->written[terminal->written_count++] = byte;
}

/* Ctrl-A is ours on a terminal; what follows says what it meant. Compacts the keys in place. */
static enum terminal_event unescape(struct terminal *terminal, uint8_t *keys, size_t *count)
{
    size_t kept = 0;

    for (size_t i = 0; i < *count; i++) {
        if (!terminal->escaped && keys[i] == ESCAPE_KEY) {
            terminal->escaped = true;
            continue;
        }
        if (terminal->escaped && (keys[i] == 'x' || keys[i] == 'X'))
            return TERMINAL_LEAVE;
        terminal->escaped = false;
        keys[kept++] = keys[i];
    }
    *count = kept;
    return kept ? TERMINAL_KEYS : TERMINAL_NOTHING;
}

enum terminal_event terminal_read(struct terminal *terminal, uint64_t ns, uint8_t *keys,
                                  size_t *count)
{
    struct pollfd listen = {.fd = terminal->eof ? -1 : terminal->in, .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000),
                               .tv_nsec = (long)(ns % 1000000000)};
    size_t room = *count;
    ssize_t n;

    *count = 0;
    if (!terminal_flush(terminal))
        return TERMINAL_LEAVE;
    if (room == 0) /* nobody can take keys now: only the time passes */
        listen.fd = -1;
    if (ppoll(&listen, 1, ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0 || !listen.revents)
        return TERMINAL_NOTHING;
    n = read(terminal->in, keys, room);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        terminal->eof = true;
    if (n <= 0)
        return TERMINAL_NOTHING;
    *count = (size_t)n;
    return terminal->raw ? unescape(terminal, keys, count) : TERMINAL_KEYS;
}
