/*
 * Files and pipes cut into records. Blocks are 1 MiB, larger only for a record that is; a block's
 * unread tail moves to the next block when there is no room left to read behind it.
 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"

#define BLOCK_BYTES  (1u << 20)
#define READ_BYTES   (256u << 10) /* the least room that is worth a read() */
#define SKIPPED_KEEP 256          /* of a record above the cap, for its error message */

struct block {
    size_t references; /* its records, and the input while it is the current one */
    size_t capacity, used;
    struct input *owner;
    char bytes[];
};

static struct block *block_new(struct input *input, size_t capacity)
{
    struct block *block = NULL;
    if (input->spare && capacity <= BLOCK_BYTES) {
        block = input->spare;
        input->spare = NULL;
    } else {
        block = malloc(sizeof *block + capacity);
        if (!block)
            die_without_memory();
        block->capacity = capacity;
    }
    block->owner = input;
    block->references = 1;
    block->used = 0;
    return block;
}

static void block_release(struct block *block)
{
    if (!block || --block->references > 0)
        return;
    struct input *input = block->owner;
    if (!input->spare && block->capacity == BLOCK_BYTES)
        input->spare = block;
    else
        free(block);
}

void record_release(struct record *record)
{
    block_release(record->block);
    record->block = NULL;
}

void input_start(struct input *input, const char *const *paths, unsigned npaths, uint64_t cap,
                 enum input_form form)
{
    *input = (struct input){.paths = paths, .npaths = npaths, .cap = cap, .form = form, .fd = -1};
}

void input_finish(struct input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    block_release(input->block);
    free(input->spare);
    *input = (struct input){.fd = -1};
}

const char *input_name(const struct input *input, unsigned file)
{
    return strcmp(input->paths[file], "-") == 0 ? "<stdin>" : input->paths[file];
}

bool input_check(const struct input *input)
{
    for (unsigned i = 0; i < input->npaths; i++) {
        const char *path = input->paths[i];
        struct stat status;
        if (strcmp(path, "-") == 0)
            continue;
        if (stat(path, &status) < 0 || access(path, R_OK) < 0) {
            say("%s: %s", path, strerror(errno));
            return false;
        }
        if (S_ISDIR(status.st_mode)) {
            say("%s: is a directory; the input is files", path);
            return false;
        }
    }
    return true;
}

static bool open_next(struct input *input)
{
    const char *path = input->paths[input->file];
    bool standard = strcmp(path, "-") == 0;
    /* Without blocking: a named pipe may have no writer yet, and poll() waits for one as well. */
    input->fd =
        standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (input->fd < 0 || fstat(input->fd, &status) < 0) {
        input->error = errno;
        return false;
    }
    input->pollable = !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
    if (S_ISFIFO(status.st_mode))
        (void)fcntl(input->fd, F_SETPIPE_SZ, BLOCK_BYTES); /* fewer turns; refused is fine */
    input->at_eof = false;
    input->line = 1;
    return true;
}

static void close_current(struct input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    input->fd = -1;
    input->file++;
}

/* Makes room to read behind the unfinished record, by moving it where it must be. */
static void make_room(struct input *input)
{
    struct block *block = input->block;
    if (!block) {
        input->block = block_new(input, BLOCK_BYTES);
        input->start = input->scanned = 0;
        return;
    }
    size_t tail = block->used - input->start;
    if (tail == 0 && block->references == 1) {
        block->used = input->start = input->scanned = 0;
        if (block->capacity == BLOCK_BYTES)
            return;
    }
    if (block->capacity - block->used >= READ_BYTES)
        return;
    size_t wanted = tail + READ_BYTES > BLOCK_BYTES ? 2 * tail + READ_BYTES : BLOCK_BYTES;
    struct block *next = block_new(input, wanted);
    memcpy(next->bytes, block->bytes + input->start, tail);
    next->used = tail;
    input->scanned -= input->start;
    input->start = 0;
    input->block = next;
    block_release(block);
}

void input_fill(struct input *input)
{
    make_room(input);
    struct block *block = input->block;
    ssize_t count;
    do
        count = read(input->fd, block->bytes + block->used, block->capacity - block->used);
    while (count < 0 && errno == EINTR);
    if (count > 0) {
        block->used += (size_t)count;
        input->bytes_read += (uint64_t)count;
    } else if (count == 0) {
        input->at_eof = true;
    } else if (errno != EAGAIN) { /* somebody else took what poll() saw: ask again */
        input->error = errno;
    }
}

void input_stop(struct input *input)
{
    input->stopped = true;
}

/* Keeps only the beginning of a record that is above the cap; the rest is counted. */
static void skip_excess(struct input *input)
{
    struct block *block = input->block;
    size_t held = block->used - input->start;
    if (held <= SKIPPED_KEEP || (input->skipped == 0 && held <= input->cap))
        return;
    input->skipped += held - SKIPPED_KEEP;
    block->used = input->start + SKIPPED_KEEP;
    input->scanned = block->used;
}

/*
 * Takes white space off both ends of JSON, a carriage return above all, and the byte order mark of
 * a file, which RFC 8259 8.1 lets a reader ignore.
 */
static void trim(const char *bytes, bool first, size_t *start, size_t *end)
{
    if (first && *end - *start >= 3 && memcmp(bytes + *start, "\xef\xbb\xbf", 3) == 0)
        *start += 3;
    while (*start < *end && strchr(" \t\r\n", bytes[*start]) && bytes[*start])
        ++*start;
    while (*start < *end && strchr(" \t\r\n", bytes[*end - 1]) && bytes[*end - 1])
        --*end;
}

/* Cuts [start, end) out as a record and goes on behind it. False when it is blank. */
static bool cut(struct input *input, size_t end, size_t next, struct record *record)
{
    struct block *block = input->block;
    size_t start = input->start;
    uint64_t line = input->line++, skipped = input->skipped;
    input->start = input->scanned = next;
    input->skipped = 0;
    if (input->form != INPUT_TEXT) {
        trim(block->bytes, line == 1, &start, &end);
        if (start == end && skipped == 0)
            return false;
    }
    uint64_t true_bytes = end - start + skipped;
    bool too_long = true_bytes > input->cap;
    if (too_long && end - start > SKIPPED_KEEP)
        end = start + SKIPPED_KEEP;
    *record = (struct record){.block = block,
                              .text = block->bytes + start,
                              .bytes = end - start,
                              .true_bytes = true_bytes,
                              .too_long = too_long,
                              .file = input->file,
                              .line = line};
    block->references++;
    return true;
}

/* Looks for the next record in the bytes that are there. */
static enum input_state next_in_block(struct input *input, struct record *record)
{
    for (struct block *block = input->block; block && input->scanned < block->used;) {
        char *from = block->bytes + input->scanned;
        char *newline =
            input->form == INPUT_DOCUMENT ? NULL : memchr(from, '\n', block->used - input->scanned);
        if (!newline) {
            input->scanned = block->used;
            skip_excess(input);
            break;
        }
        size_t end = (size_t)(newline - block->bytes);
        if (cut(input, end, end + 1, record))
            return INPUT_RECORD;
    }
    return INPUT_WANT;
}

enum input_state input_next(struct input *input, struct record *record)
{
    while (!input->stopped) {
        if (input->error)
            return INPUT_FAILED;
        if (input->fd < 0) {
            if (input->file == input->npaths)
                break;
            if (!open_next(input))
                return INPUT_FAILED;
        }
        if (next_in_block(input, record) == INPUT_RECORD)
            return INPUT_RECORD;
        if (!input->at_eof)
            return INPUT_WANT;
        /* The last line may lack its newline; an empty document is blank and so no record. */
        struct block *block = input->block;
        bool found =
            block && block->used > input->start && cut(input, block->used, block->used, record);
        close_current(input);
        if (found)
            return INPUT_RECORD;
    }
    return INPUT_END;
}
