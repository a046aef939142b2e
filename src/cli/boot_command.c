/*
 * `halter boot -- COMMAND`: our standard streams for the command's, over the guest's second serial
 * port (channel.h). The guest says that it is ready, or is a snapshot of one that has said so; then
 * it is told the command, and what comes and goes are its streams, until it ends.
 */
#include "cli/boot_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/channel.h"
#include "cli/say.h"

/* ---- to the guest
 * -------------------------------------------------------------------------------- */

static void put_header(struct buffer *out, enum channel_type type, size_t count)
{
    buffer_byte(out, (char)type);
    buffer_byte(out, (char)count);
    buffer_byte(out, (char)(count >> 8));
}

static void put_number(struct buffer *out, uint64_t number, unsigned bytes)
{
    while (bytes--) {
        buffer_byte(out, (char)number);
        number >>= 8;
    }
}

static size_t words_bytes(char *const *words)
{
    size_t bytes = 0;

    for (; *words; words++)
        bytes += strlen(*words) + 1;
    return bytes;
}

bool command_fits(char *const *words)
{
    return words[0] && words[0][0] && words_bytes(words) <= CHANNEL_BODY - 12 - CHANNEL_SEED;
}

/* The date, because a snapshot's is old; and randomness, because two of one snapshot share theirs.
 */
static void put_run(struct command *command)
{
    struct buffer *out = &command->out;
    uint8_t seed[CHANNEL_SEED];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        memset(seed, 0, sizeof seed); /* not in this kernel's life */
    put_header(out, CHANNEL_RUN, 12 + CHANNEL_SEED + words_bytes(command->words));
    put_number(out, (uint64_t)now.tv_sec, 8);
    put_number(out, (uint64_t)now.tv_nsec, 4);
    buffer_append(out, seed, sizeof seed);
    for (char **word = command->words; *word; word++)
        buffer_append(out, *word, strlen(*word) + 1);
}

void command_begin(struct command *command)
{
    if (command->state != COMMAND_WAITS)
        return;
    command->state = COMMAND_RUNS;
    put_run(command);
}

void command_signal(struct command *command, int number)
{
    put_header(&command->out, CHANNEL_SIGNAL, 1);
    buffer_byte(&command->out, (char)number);
}

size_t command_wants(const struct command *command)
{
    if (command->eof || command->out.used)
        return 0;
    return command->credit < COMMAND_CHUNK ? command->credit : COMMAND_CHUNK;
}

void command_input(struct command *command, int fd)
{
    char chunk[COMMAND_CHUNK];
    ssize_t n = read(fd, chunk, command_wants(command));

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        command->eof = true;
        put_header(&command->out, CHANNEL_EOF, 0);
        return;
    }
    command->credit -= (uint32_t)n;
    put_header(&command->out, CHANNEL_INPUT, (size_t)n);
    buffer_append(&command->out, chunk, (size_t)n);
}

void command_send(struct command *command, struct halter_pc *pc)
{
    struct buffer *out = &command->out;
    long sent = out->used ? halter_pc_send_port(pc, HALTER_PC_CHANNEL, out->bytes, out->used) : 0;

    if (sent <= 0)
        return;
    memmove(out->bytes, out->bytes + sent, out->used - (size_t)sent);
    out->used -= (size_t)sent;
}

/* ---- from the guest
 * ------------------------------------------------------------------------------ */

static uint32_t number(const uint8_t *body)
{
    return body[0] | (uint32_t)body[1] << 8 | (uint32_t)body[2] << 16 | (uint32_t)body[3] << 24;
}

static bool take(struct command *command, unsigned type, const uint8_t *body, size_t count)
{
    bool runs = command->state == COMMAND_RUNS;

    switch (type) {
    case CHANNEL_READY:
        if (command->state != COMMAND_BOOTS || count != sizeof CHANNEL_HELLO - 1 ||
            memcmp(body, CHANNEL_HELLO, count) != 0)
            return false;
        command->state = COMMAND_WAITS;
        return true;
    case CHANNEL_CREDIT:
        if (!runs || count != 4 || number(body) > UINT32_MAX - command->credit)
            return false;
        command->credit += number(body);
        return true;
    case CHANNEL_OUTPUT:
        output_bytes(command->output, body, count);
        return runs;
    case CHANNEL_ERRORS:
        output_bytes(&command->errors, body, count);
        return runs;
    case CHANNEL_EXIT:
        if (!runs || count != 2)
            return false;
        command->state = COMMAND_ENDED;
        command->status = body[1] ? EXIT_SIGNALED + body[1] : body[0];
        return true;
    default:
        return false;
    }
}

bool command_receive(struct command *command, const void *bytes, size_t count)
{
    struct buffer *in = &command->in;
    size_t at = 0;
    bool good = true;

    buffer_append(in, bytes, count);
    while (good && in->used - at >= CHANNEL_HEADER) {
        const uint8_t *message = (const uint8_t *)in->bytes + at;
        size_t length = message[1] | (size_t)message[2] << 8;
        if (in->used - at < CHANNEL_HEADER + length)
            break;
        good = take(command, message[0], message + CHANNEL_HEADER, length);
        at += CHANNEL_HEADER + length;
    }
    memmove(in->bytes, in->bytes + at, in->used - at);
    in->used -= at;
    return good;
}

void command_console(struct command *command, const void *bytes, size_t count)
{
    struct buffer *tail = &command->console;

    buffer_append(tail, bytes, count);
    if (tail->used > 2 * COMMAND_TAIL) {
        memmove(tail->bytes, tail->bytes + tail->used - COMMAND_TAIL, COMMAND_TAIL);
        tail->used = COMMAND_TAIL;
    }
}

void command_print_console(const struct command *command)
{
    const struct buffer *tail = &command->console;
    size_t count = tail->used < COMMAND_TAIL ? tail->used : COMMAND_TAIL;

    if (count)
        say_plain("%.*s\n", (int)count, tail->bytes + tail->used - count);
}

void command_finish(struct command *command)
{
    output_close(&command->errors);
    buffer_finish(&command->in);
    buffer_finish(&command->out);
    buffer_finish(&command->console);
}
