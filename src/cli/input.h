/*
 * The input of a run: files and pipes, cut into records. A record is a slice of a block of input
 * that stays in memory until its last record is released, so nothing is copied or allocated for
 * each record, and memory is bounded by the records that are held. What a record means is not
 * looked at here: a malformed one is found by whoever parses it.
 */
#ifndef HALTER_CLI_INPUT_H
#define HALTER_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block;

struct record {
    struct block *block; /* holds a reference; NULL in an empty record */
    const char *text;
    size_t bytes;
    uint64_t true_bytes; /* its length in the input */
    bool too_long;       /* above the cap: only its beginning was kept */
    unsigned file;       /* index into the paths */
    uint64_t line;       /* from 1; of a document: 1 */
};

enum input_form {
    INPUT_LINES,    /* JSON, one value a line; blank lines are no records */
    INPUT_DOCUMENT, /* JSON, one value a file */
    INPUT_TEXT,     /* any text, each line as it is, the blank ones too */
};

enum input_state {
    INPUT_RECORD, /* *record is filled */
    INPUT_WANT,   /* input_fill() has to read first */
    INPUT_END,    /* of the last file */
    INPUT_FAILED, /* input_error() says which file and why */
};

struct input {
    const char *const *paths; /* "-" is standard input */
    unsigned npaths, file;    /* the one that is read */
    uint64_t cap;             /* the longest record taken, bytes */
    enum input_form form;
    int fd;        /* -1 between files */
    bool pollable; /* a pipe, socket or terminal: read only when poll() says so */
    bool at_eof;   /* of this file */
    bool ended, stopped;
    uint64_t line;         /* of the next record */
    uint64_t skipped;      /* bytes dropped of a record above the cap */
    size_t start, scanned; /* in the current block: the record begins, newlines sought up to */
    struct block *block, *spare;
    uint64_t bytes_read;
    int error; /* errno */
};

void input_start(struct input *input, const char *const *paths, unsigned npaths, uint64_t cap,
                 enum input_form form);
void input_finish(struct input *input);
/* Whether every path can be read, before anything is begun; says which cannot. */
bool input_check(const struct input *input);
/* The next record. */
enum input_state input_next(struct input *input, struct record *record);
/* One read(). Only after INPUT_WANT, and, for a pollable descriptor, only when it is readable. */
void input_fill(struct input *input);
/* No more is read: what is left of the input is dropped and INPUT_END follows. */
void input_stop(struct input *input);
/* The file's name for messages. */
const char *input_name(const struct input *input, unsigned file);
/* Gives the record's block back. */
void record_release(struct record *record);

#endif
