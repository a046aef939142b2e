/*
 * The bodies of frames that are more than JSON or raw bytes: HELLO, LOAD, CALL, ERROR, REQUEST,
 * REFUSE and LOG. Both ends build and read them here, so that no envelope is ever made by a
 * script. Decoders check every length and return false on any byte that does not fit; the
 * strings they yield are borrowed from the body, not terminated, and checked to be UTF-8; members
 * called `json` are whatever bytes came, for json_check or the engine to judge.
 */
#ifndef HALTER_WIRE_BODY_H
#define HALTER_WIRE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_text {
    const char *bytes;
    uint32_t length;
};

/* HELLO: 48 bytes, fixed. */
enum wire_helper_kind { WIRE_HELPER_JS = 1, WIRE_HELPER_PC = 2, WIRE_HELPER_SERVICES = 3 };
struct wire_hello {
    uint16_t version;      /* WIRE_VERSION */
    uint16_t kind;         /* enum wire_helper_kind */
    uint32_t cap;          /* the largest body the helper takes */
    uint32_t layers;       /* the layers of confinement in force, one bit each (confine.def) */
    uint32_t landlock_abi; /* 0 where there is none */
    bool jit;
    char engine[25];       /* name and version, terminated, e.g. "JavaScriptCore 2.50.6" */
};
#define WIRE_HELLO_BYTES 48

/* LOAD: the plugin. `capabilities` is a list of names separated by '\n', e.g. "now\nai.respond". */
struct wire_load {
    uint32_t flags; /* none yet: 0 */
    struct wire_text name, path, capabilities, source;
};

/* CALL: the context that C makes, then the JSON of `raw`. */
struct wire_call {
    int64_t now_ms;      /* wall clock, ms since 1970 */
    uint64_t tick;       /* number of the call, counted by the host */
    uint64_t generation; /* of the process */
    uint32_t deadline_ms;
    struct wire_text locale; /* BCP 47 */
    struct wire_text json;
};

/* ERROR and REFUSE. Absent texts are empty; line and column count from 1, 0 is unknown. */
enum wire_error_kind {
    WIRE_ERROR_LOAD = 1,     /* the source did not load: syntax, a throw, no transform */
    WIRE_ERROR_SCRIPT = 2,   /* transform threw or its promise was rejected */
    WIRE_ERROR_RESULT = 3,   /* the result has no JSON; `path` says where, e.g. "$.items[3].n" */
    WIRE_ERROR_PENDING = 4,  /* the promise cannot settle: nothing is left that could do it */
    WIRE_ERROR_INPUT = 5,    /* the JSON of the call does not parse */
    WIRE_ERROR_TOO_LONG = 6, /* the result is above the cap */
    WIRE_ERROR_DENIED = 7,   /* REFUSE: policy says no */
    WIRE_ERROR_FAILED = 8,   /* REFUSE: allowed, but it did not work */
    WIRE_ERROR_QUOTA = 9,    /* REFUSE: allowed, but over a quota or a rate */
};
struct wire_error {
    uint16_t kind;
    uint32_t line, column;
    struct wire_text name, message, stack, file, path;
};

/* REQUEST: what is asked of the host. `wait` is true when the script itself is blocked on it. */
struct wire_request {
    bool wait;
    struct wire_text name, json;
};

/* LOG: a level and its text. */
enum wire_level { WIRE_DEBUG = 0, WIRE_INFO = 1, WIRE_WARN = 2, WIRE_ERR = 3 };
struct wire_log {
    uint8_t level;
    uint32_t dropped; /* lines that the helper itself dropped before this one */
    struct wire_text text;
};

void wire_hello_encode(const struct wire_hello *hello, uint8_t out[WIRE_HELLO_BYTES]);
bool wire_hello_decode(struct wire_hello *hello, const uint8_t *body, size_t length);

/*
 * The fixed part of the others goes into `out` and its size is returned; the texts follow it on
 * the wire in the order of the struct, each `length` bytes (the last one takes what is left).
 */
#define WIRE_LOAD_FIXED    16
#define WIRE_CALL_FIXED    32
#define WIRE_ERROR_FIXED   28
#define WIRE_REQUEST_FIXED 4
#define WIRE_LOG_FIXED     8
size_t wire_load_encode(const struct wire_load *load, uint8_t out[WIRE_LOAD_FIXED]);
bool wire_load_decode(struct wire_load *load, const uint8_t *body, size_t length);
size_t wire_call_encode(const struct wire_call *call, uint8_t out[WIRE_CALL_FIXED]);
bool wire_call_decode(struct wire_call *call, const uint8_t *body, size_t length);
size_t wire_error_encode(const struct wire_error *error, uint8_t out[WIRE_ERROR_FIXED]);
bool wire_error_decode(struct wire_error *error, const uint8_t *body, size_t length);
size_t wire_request_encode(const struct wire_request *request, uint8_t out[WIRE_REQUEST_FIXED]);
bool wire_request_decode(struct wire_request *request, const uint8_t *body, size_t length);
size_t wire_log_encode(const struct wire_log *log, uint8_t out[WIRE_LOG_FIXED]);
bool wire_log_decode(struct wire_log *log, const uint8_t *body, size_t length);

#endif
