/*
 * What a frame is, apart from moving it: its header as bytes, which type may go which way and how
 * long it may be, and the words for what can be wrong. reader.c and writer.c do the moving.
 */
#include "wire/frame.h"

#include "wire/bytes.h"

void wire_header_encode(const struct wire_frame *frame, uint8_t out[WIRE_HEADER_BYTES])
{
    put_u32(out, frame->length);
    out[4] = frame->type;
    out[5] = frame->nfds;
    put_u16(out + 6, frame->stream);
    put_u64(out + 8, frame->id);
}

void wire_header_decode(struct wire_frame *frame, const uint8_t in[WIRE_HEADER_BYTES])
{
    frame->length = get_u32(in);
    frame->type = in[4];
    frame->nfds = in[5];
    frame->stream = get_u16(in + 6);
    frame->id = get_u64(in + 8);
    frame->body = NULL;
}

static int64_t limit(enum wire_direction goes, enum wire_direction asked, uint32_t largest,
                     uint32_t cap)
{
    if (!(goes & asked))
        return -1;
    return largest < cap ? largest : cap;
}

int64_t wire_type_limit(uint8_t type, enum wire_direction direction, uint32_t cap)
{
    switch (type) {
#define CAP UINT32_MAX
#define FRAME(name, number, way, largest, what)                                                    \
    case number:                                                                                   \
        return limit(WIRE_DIR_##way, direction, largest, cap);
#include "wire/frame.def"
#undef FRAME
#undef CAP
    default:
        return -1;
    }
}

bool wire_type_takes_fds(uint8_t type)
{
    return type == WIRE_LOAD || type == WIRE_CALL || type == WIRE_ANSWER;
}

const char *wire_type_name(uint8_t type)
{
    switch (type) {
#define FRAME(name, number, way, largest, what)                                                    \
    case number:                                                                                   \
        return #name;
#include "wire/frame.def"
#undef FRAME
    default:
        return "unknown";
    }
}

const char *wire_fault_text(int fault)
{
    switch (fault) {
    case WIRE_EOF:
        return "the peer closed the connection";
    case WIRE_AGAIN:
        return "nothing more can be read or sent now";
    case WIRE_TRUNCATED:
        return "the peer closed the connection inside a frame";
    case WIRE_TOO_LONG:
        return "a frame is longer than its type may be";
    case WIRE_BAD_TYPE:
        return "a frame's type is unknown or does not go this way";
    case WIRE_BAD_FDS:
        return "descriptors are missing, unwanted or too many";
    case WIRE_NO_MEMORY:
        return "out of memory";
    case WIRE_SYSTEM:
        return "a system call failed";
    default:
        return fault >= 0 ? "no fault" : "unknown fault";
    }
}
