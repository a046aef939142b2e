/*
 * Bodies: what stands where. docs/protocol.md shows each layout byte by byte; its vectors are
 * checked against these functions. Decoders take every byte for hostile: lengths are checked
 * before they are used, reserved bytes are zero, texts are UTF-8, and nothing is copied.
 */
#include "wire/body.h"

#include <string.h>

#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/json.h"

/* What is left of a body's texts. */
struct rest {
    const char *at;
    size_t left;
};

static struct rest rest_of(const uint8_t *body, size_t length, size_t fixed)
{
    return (struct rest){.at = (const char *)body + fixed, .left = length - fixed};
}

/* Cuts a text of `length` bytes off the rest. */
static bool take(struct rest *rest, size_t length, struct wire_text *text)
{
    if (length > rest->left || !utf8_check(rest->at, length))
        return false;
    *text = (struct wire_text){.bytes = rest->at, .length = (uint32_t)length};
    rest->at += length;
    rest->left -= length;
    return true;
}

static bool take_all(struct rest *rest, struct wire_text *text)
{
    return rest->left <= UINT32_MAX && take(rest, rest->left, text);
}

/* What is left, as it is: JSON is checked by json_check, UTF-8 and all, or by the engine. */
static bool take_json(struct rest *rest, struct wire_text *json)
{
    *json = (struct wire_text){.bytes = rest->at, .length = (uint32_t)rest->left};
    return rest->left <= UINT32_MAX;
}

void wire_hello_encode(const struct wire_hello *hello, uint8_t out[WIRE_HELLO_BYTES])
{
    memset(out, 0, WIRE_HELLO_BYTES);
    put_u32(out, WIRE_MAGIC);
    put_u16(out + 4, hello->version);
    put_u16(out + 6, hello->kind);
    put_u32(out + 8, hello->cap);
    put_u32(out + 12, hello->layers);
    put_u32(out + 16, hello->landlock_abi);
    out[20] = hello->jit;
    memcpy(out + 24, hello->engine, strnlen(hello->engine, 24));
}

/* The engine's name: UTF-8, and zeros from its end on. */
static bool engine_name(const uint8_t *in, char out[25])
{
    memcpy(out, in, 24);
    out[24] = 0;
    size_t length = strlen(out);
    for (size_t i = length; i < 24; i++)
        if (in[i])
            return false;
    return utf8_check(out, length);
}

bool wire_hello_decode(struct wire_hello *hello, const uint8_t *body, size_t length)
{
    *hello = (struct wire_hello){0};
    if (length < 6 || get_u32(body) != WIRE_MAGIC)
        return false;
    hello->version = get_u16(body + 4);
    if (hello->version != WIRE_VERSION)
        return true; /* what follows is for that version to say */
    if (length != WIRE_HELLO_BYTES || body[20] > 1 || body[21] || body[22] || body[23])
        return false;
    hello->kind = get_u16(body + 6);
    hello->cap = get_u32(body + 8);
    hello->layers = get_u32(body + 12);
    hello->landlock_abi = get_u32(body + 16);
    hello->jit = body[20];
    return hello->kind >= WIRE_HELPER_JS && hello->kind <= WIRE_HELPER_SERVICES &&
           engine_name(body + 24, hello->engine);
}

size_t wire_load_encode(const struct wire_load *load, uint8_t out[WIRE_LOAD_FIXED])
{
    put_u32(out, load->flags);
    put_u32(out + 4, load->name.length);
    put_u32(out + 8, load->path.length);
    put_u32(out + 12, load->capabilities.length);
    return WIRE_LOAD_FIXED;
}

bool wire_load_decode(struct wire_load *load, const uint8_t *body, size_t length)
{
    if (length < WIRE_LOAD_FIXED)
        return false;
    struct rest rest = rest_of(body, length, WIRE_LOAD_FIXED);
    load->flags = get_u32(body);
    return load->flags == 0 && take(&rest, get_u32(body + 4), &load->name) &&
           take(&rest, get_u32(body + 8), &load->path) &&
           take(&rest, get_u32(body + 12), &load->capabilities) && take_all(&rest, &load->source);
}

size_t wire_call_encode(const struct wire_call *call, uint8_t out[WIRE_CALL_FIXED])
{
    put_u64(out, (uint64_t)call->now_ms);
    put_u64(out + 8, call->tick);
    put_u64(out + 16, call->generation);
    put_u32(out + 24, call->deadline_ms);
    put_u32(out + 28, call->locale.length);
    return WIRE_CALL_FIXED;
}

bool wire_call_decode(struct wire_call *call, const uint8_t *body, size_t length)
{
    if (length < WIRE_CALL_FIXED)
        return false;
    struct rest rest = rest_of(body, length, WIRE_CALL_FIXED);
    call->now_ms = (int64_t)get_u64(body);
    call->tick = get_u64(body + 8);
    call->generation = get_u64(body + 16);
    call->deadline_ms = get_u32(body + 24);
    return take(&rest, get_u32(body + 28), &call->locale) && take_json(&rest, &call->json);
}

size_t wire_error_encode(const struct wire_error *error, uint8_t out[WIRE_ERROR_FIXED])
{
    put_u16(out, error->kind);
    put_u16(out + 2, 0);
    put_u32(out + 4, error->line);
    put_u32(out + 8, error->column);
    put_u32(out + 12, error->name.length);
    put_u32(out + 16, error->message.length);
    put_u32(out + 20, error->stack.length);
    put_u32(out + 24, error->file.length);
    return WIRE_ERROR_FIXED;
}

bool wire_error_decode(struct wire_error *error, const uint8_t *body, size_t length)
{
    if (length < WIRE_ERROR_FIXED || get_u16(body + 2))
        return false;
    struct rest rest = rest_of(body, length, WIRE_ERROR_FIXED);
    error->kind = get_u16(body);
    error->line = get_u32(body + 4);
    error->column = get_u32(body + 8);
    return error->kind >= WIRE_ERROR_LOAD && error->kind <= WIRE_ERROR_QUOTA &&
           take(&rest, get_u32(body + 12), &error->name) &&
           take(&rest, get_u32(body + 16), &error->message) &&
           take(&rest, get_u32(body + 20), &error->stack) &&
           take(&rest, get_u32(body + 24), &error->file) && take_all(&rest, &error->path);
}

size_t wire_request_encode(const struct wire_request *request, uint8_t out[WIRE_REQUEST_FIXED])
{
    out[0] = request->wait;
    out[1] = 0;
    put_u16(out + 2, (uint16_t)request->name.length);
    return WIRE_REQUEST_FIXED;
}

bool wire_request_decode(struct wire_request *request, const uint8_t *body, size_t length)
{
    if (length < WIRE_REQUEST_FIXED || body[0] > 1 || body[1])
        return false;
    struct rest rest = rest_of(body, length, WIRE_REQUEST_FIXED);
    request->wait = body[0];
    return take(&rest, get_u16(body + 2), &request->name) && take_json(&rest, &request->json);
}

size_t wire_log_encode(const struct wire_log *log, uint8_t out[WIRE_LOG_FIXED])
{
    out[0] = log->level;
    out[1] = out[2] = out[3] = 0;
    put_u32(out + 4, log->dropped);
    return WIRE_LOG_FIXED;
}

bool wire_log_decode(struct wire_log *log, const uint8_t *body, size_t length)
{
    if (length < WIRE_LOG_FIXED || body[0] > WIRE_ERR || body[1] || body[2] || body[3])
        return false;
    struct rest rest = rest_of(body, length, WIRE_LOG_FIXED);
    log->level = body[0];
    log->dropped = get_u32(body + 4);
    return take_all(&rest, &log->text);
}
