/*
 * The fake helper's inside: what the language of fake.c works on. See the top of fake.c.
 */
#ifndef HALTER_TESTS_FAKE_H
#define HALTER_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "helper/helper.h"
#include "wire/body.h"
#include "wire/frame.h"

struct fake {
    const struct helper_start *start;
    struct wire_reader reader;
    struct wire_hello hello;
    bool hello_sent, mute_beats;
    char *script; /* owned: the source of the plugin */
    uint64_t last_id, next_request;
    char *answer; /* owned: the JSON of the last ANSWER */
    size_t answer_bytes;
    int fds[WIRE_MAX_FDS]; /* that came with the last CALL or ANSWER */
    unsigned nfds;
};

/* What an action is about: the frame that it handles. */
struct moment {
    uint64_t id;
    const char *json;
    size_t json_bytes;
};

/* fake.c */
void fake_send(struct fake *fake, uint8_t type, uint16_t stream, uint64_t id, const void *body,
               size_t length);
void fake_value(struct fake *fake, uint64_t id, const char *json);
/* Waits for the ANSWER or REFUSE of a request; other frames meanwhile are dropped. */
void fake_await(struct fake *fake, uint64_t id);
/* Runs one line: `verb` and the rest of the line. */
void fake_run(struct fake *fake, const struct moment *moment, char *line);

/* The actions; each says whether `verb` was its own. */
bool fake_speak(struct fake *fake, const struct moment *moment, const char *verb, const char *rest);
bool fake_lie(struct fake *fake, const struct moment *moment, const char *verb, const char *rest);
bool fake_die(struct fake *fake, const struct moment *moment, const char *verb, const char *rest);
bool fake_tell(struct fake *fake, const struct moment *moment, const char *verb, const char *rest);

#endif
