/*
 * The vectors of docs/protocol.md: each is encoded from its fields and compared with its bytes, and
 * decoded from its bytes and compared with its fields. The document is the second implementation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"

struct field {
    char name[32];
    bool is_text;
    char text[256];
    int64_t number;
};

struct vector {
    char kind[32];
    struct field fields[12];
    unsigned nfields;
    uint8_t bytes[512];
    size_t length;
};

static struct vector vectors[64];
static unsigned nvectors;

static void read_field(struct vector *vector, char *line)
{
    struct field *field = &vector->fields[vector->nfields++];
    char *value = strstr(line, " = ");
    assert_non_null(value);
    *value = 0;
    value += 3;
    assert_true(strlen(line) < sizeof(field->name));
    strcpy(field->name, line);
    field->is_text = *value == '"';
    if (field->is_text)
        assert_true(
            json_string(json_root(value, strlen(value)), field->text, sizeof(field->text)) >= 0);
    else
        field->number = strtoll(value, NULL, 10);
}

static void read_bytes(struct vector *vector, char *line)
{
    for (char *end; *line; line = end) {
        unsigned long byte = strtoul(line, &end, 16);
        if (end == line)
            break;
        vector->bytes[vector->length++] = (uint8_t)byte;
    }
}

static int read_document(void **state)
{
    (void)state;
    char line[1024];
    struct vector *vector = NULL;
    bool in_bytes = false;
    FILE *file = fopen(getenv("PROTOCOL"), "re");
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "```vector ", 10)) {
            vector = &vectors[nvectors++];
            assert_true(strlen(line + 10) < sizeof(vector->kind));
            strcpy(vector->kind, line + 10);
            in_bytes = false;
        } else if (!strcmp(line, "```")) {
            vector = NULL;
        } else if (vector && !strcmp(line, "bytes =")) {
            in_bytes = true;
        } else if (vector && in_bytes) {
            read_bytes(vector, line);
        } else if (vector) {
            read_field(vector, line);
        }
    }
    fclose(file);
    return 0;
}

static const struct field *find(const struct vector *vector, const char *name)
{
    for (unsigned i = 0; i < vector->nfields; i++)
        if (!strcmp(vector->fields[i].name, name))
            return &vector->fields[i];
    fail_msg("a %s vector has no field %s", vector->kind, name);
    abort();
}

static int64_t number(const struct vector *vector, const char *name)
{
    return find(vector, name)->number;
}

static struct wire_text text(const struct vector *vector, const char *name)
{
    const struct field *field = find(vector, name);
    return (struct wire_text){.bytes = field->text, .length = (uint32_t)strlen(field->text)};
}

static void assert_same(struct wire_text got, const struct vector *vector, const char *name)
{
    struct wire_text wanted = text(vector, name);
    assert_int_equal(got.length, wanted.length);
    assert_memory_equal(got.bytes, wanted.bytes, wanted.length);
}

/* The fixed part and the texts behind it are the vector's bytes, all of them. */
static void assert_encodes(const struct vector *vector, const uint8_t *fixed, size_t length,
                           const char *const *names)
{
    assert_true(length <= vector->length);
    assert_memory_equal(fixed, vector->bytes, length);
    for (; *names; names++) {
        struct wire_text next = text(vector, *names);
        assert_true(length + next.length <= vector->length);
        assert_memory_equal(next.bytes, vector->bytes + length, next.length);
        length += next.length;
    }
    assert_int_equal(length, vector->length);
}

/* Calls `check` for each vector of a kind; there is at least one. */
static void for_each(const char *kind, void (*check)(const struct vector *))
{
    unsigned count = 0;
    for (unsigned i = 0; i < nvectors; i++) {
        if (!strcmp(vectors[i].kind, kind)) {
            check(&vectors[i]);
            count++;
        }
    }
    assert_true(count > 0);
}

static void check_frame(const struct vector *v)
{
    struct wire_frame frame = {
        .length = (uint32_t)number(v, "length"),
        .type = (uint8_t)number(v, "type"),
        .nfds = (uint8_t)number(v, "nfds"),
        .stream = (uint16_t)number(v, "stream"),
        .id = (uint64_t)number(v, "id"),
    };
    struct wire_frame decoded;
    uint8_t header[WIRE_HEADER_BYTES];
    wire_header_encode(&frame, header);
    assert_memory_equal(header, v->bytes, sizeof(header));
    wire_header_decode(&decoded, v->bytes);
    assert_int_equal(decoded.length, frame.length);
    assert_int_equal(decoded.type, frame.type);
    assert_int_equal(decoded.nfds, frame.nfds);
    assert_int_equal(decoded.stream, frame.stream);
    assert_true(decoded.id == frame.id);
    assert_int_equal(v->length, WIRE_HEADER_BYTES + frame.length);
}

static void check_hello(const struct vector *v)
{
    struct wire_hello hello = {
        .version = (uint16_t)number(v, "version"),
        .kind = (uint16_t)number(v, "kind"),
        .cap = (uint32_t)number(v, "cap"),
        .layers = (uint32_t)number(v, "layers"),
        .landlock_abi = (uint32_t)number(v, "landlock_abi"),
        .jit = number(v, "jit"),
    };
    struct wire_hello decoded;
    uint8_t body[WIRE_HELLO_BYTES];
    memcpy(hello.engine, text(v, "engine").bytes, text(v, "engine").length);
    wire_hello_encode(&hello, body);
    assert_int_equal(v->length, sizeof(body));
    assert_memory_equal(body, v->bytes, sizeof(body));
    assert_true(wire_hello_decode(&decoded, v->bytes, v->length));
    assert_int_equal(decoded.version, hello.version);
    assert_int_equal(decoded.kind, hello.kind);
    assert_int_equal(decoded.cap, hello.cap);
    assert_int_equal(decoded.layers, hello.layers);
    assert_int_equal(decoded.landlock_abi, hello.landlock_abi);
    assert_int_equal(decoded.jit, hello.jit);
    assert_string_equal(decoded.engine, hello.engine);
}

static void check_load(const struct vector *v)
{
    static const char *const names[] = {"name", "path", "capabilities", "source", NULL};
    struct wire_load load = {
        .flags = (uint32_t)number(v, "flags"),
        .name = text(v, "name"),
        .path = text(v, "path"),
        .capabilities = text(v, "capabilities"),
        .source = text(v, "source"),
    };
    struct wire_load decoded;
    uint8_t fixed[WIRE_LOAD_FIXED];
    assert_encodes(v, fixed, wire_load_encode(&load, fixed), names);
    assert_true(wire_load_decode(&decoded, v->bytes, v->length));
    assert_int_equal(decoded.flags, load.flags);
    assert_same(decoded.name, v, "name");
    assert_same(decoded.path, v, "path");
    assert_same(decoded.capabilities, v, "capabilities");
    assert_same(decoded.source, v, "source");
}

static void check_call(const struct vector *v)
{
    static const char *const names[] = {"locale", "json", NULL};
    struct wire_call call = {
        .now_ms = number(v, "now_ms"),
        .tick = (uint64_t)number(v, "tick"),
        .generation = (uint64_t)number(v, "generation"),
        .deadline_ms = (uint32_t)number(v, "deadline_ms"),
        .locale = text(v, "locale"),
        .json = text(v, "json"),
    };
    struct wire_call decoded;
    uint8_t fixed[WIRE_CALL_FIXED];
    assert_encodes(v, fixed, wire_call_encode(&call, fixed), names);
    assert_true(wire_call_decode(&decoded, v->bytes, v->length));
    assert_true(decoded.now_ms == call.now_ms && decoded.tick == call.tick);
    assert_true(decoded.generation == call.generation);
    assert_int_equal(decoded.deadline_ms, call.deadline_ms);
    assert_same(decoded.locale, v, "locale");
    assert_same(decoded.json, v, "json");
}

static void check_error(const struct vector *v)
{
    static const char *const names[] = {"name", "message", "stack", "file", "path", NULL};
    struct wire_error error = {
        .kind = (uint16_t)number(v, "kind"),
        .line = (uint32_t)number(v, "line"),
        .column = (uint32_t)number(v, "column"),
        .name = text(v, "name"),
        .message = text(v, "message"),
        .stack = text(v, "stack"),
        .file = text(v, "file"),
        .path = text(v, "path"),
    };
    struct wire_error decoded;
    uint8_t fixed[WIRE_ERROR_FIXED];
    assert_encodes(v, fixed, wire_error_encode(&error, fixed), names);
    assert_true(wire_error_decode(&decoded, v->bytes, v->length));
    assert_int_equal(decoded.kind, error.kind);
    assert_int_equal(decoded.line, error.line);
    assert_int_equal(decoded.column, error.column);
    assert_same(decoded.name, v, "name");
    assert_same(decoded.message, v, "message");
    assert_same(decoded.stack, v, "stack");
    assert_same(decoded.file, v, "file");
    assert_same(decoded.path, v, "path");
}

static void check_request(const struct vector *v)
{
    static const char *const names[] = {"name", "json", NULL};
    struct wire_request request = {
        .wait = number(v, "wait"),
        .name = text(v, "name"),
        .json = text(v, "json"),
    };
    struct wire_request decoded;
    uint8_t fixed[WIRE_REQUEST_FIXED];
    assert_encodes(v, fixed, wire_request_encode(&request, fixed), names);
    assert_true(wire_request_decode(&decoded, v->bytes, v->length));
    assert_int_equal(decoded.wait, request.wait);
    assert_same(decoded.name, v, "name");
    assert_same(decoded.json, v, "json");
}

static void check_log(const struct vector *v)
{
    static const char *const names[] = {"text", NULL};
    struct wire_log log = {
        .level = (uint8_t)number(v, "level"),
        .dropped = (uint32_t)number(v, "dropped"),
        .text = text(v, "text"),
    };
    struct wire_log decoded;
    uint8_t fixed[WIRE_LOG_FIXED];
    assert_encodes(v, fixed, wire_log_encode(&log, fixed), names);
    assert_true(wire_log_decode(&decoded, v->bytes, v->length));
    assert_int_equal(decoded.level, log.level);
    assert_int_equal(decoded.dropped, log.dropped);
    assert_same(decoded.text, v, "text");
}

#define VECTORS(kind)                                                                              \
    static void test_##kind(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        for_each(#kind, check_##kind);                                                             \
    }
VECTORS(frame)
VECTORS(hello)
VECTORS(load)
VECTORS(call)
VECTORS(error)
VECTORS(request)
VECTORS(log)

/* The table of frames in the document is frame.def: name, number, way and limit. */
static void test_table_of_frames(void **state)
{
    (void)state;
    char page[65536], row[96];
    FILE *file = fopen(getenv("PROTOCOL"), "re");
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = 0;
    fclose(file);
#define IN   "in"
#define OUT  "out"
#define BOTH "both"
#define CAP  "cap"
#define FRAME(name, number, way, largest, what)                                                    \
    snprintf(row, sizeof(row), "| %s | %d | %s | ", #name, number, way);                           \
    assert_non_null(strstr(page, row));
#include "wire/frame.def"
#undef FRAME
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame), cmocka_unit_test(test_hello),
        cmocka_unit_test(test_load),  cmocka_unit_test(test_call),
        cmocka_unit_test(test_error), cmocka_unit_test(test_request),
        cmocka_unit_test(test_log),   cmocka_unit_test(test_table_of_frames),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vectors", tests, read_document, NULL);
}
