/*
 * What is asked of a PC while it runs: a snapshot, its state. One thing at a time, each a CALL that
 * its helper answers between two slices.
 */
#include <fcntl.h>
#include <string.h>

#include "host/pc.h"
#include "wire/body.h"
#include "wire/json.h"

static int order(struct halter_pc *pc, const char *what, int fd, halter_pc_answer_fn fn, void *data)
{
    if (!pc || !fn)
        return HALTER_EINVAL;
    if (pc->closing || pc->ended)
        return HALTER_ECLOSED;
    if (!pc->loaded || !pc->process || pc->order.id)
        return HALTER_EBUSY;
    struct wire_call call = {.generation = pc->process->generation};
    uint8_t fixed[WIRE_CALL_FIXED];
    struct iovec parts[] = {{fixed, wire_call_encode(&call, fixed)},
                            {(void *)(uintptr_t)what, strlen(what)}};
    struct wire_frame header = {.type = WIRE_CALL, .id = pc_next_id(pc), .nfds = fd >= 0};
    int status = process_send(pc->process, &header, parts, 2, &fd);
    if (status)
        return status;
    pc->order = (struct pc_order){header.id, fn, data};
    return HALTER_OK;
}

int halter_pc_save(struct halter_pc *pc, int fd, halter_pc_answer_fn fn, void *data)
{
    if (fd < 0 || fcntl(fd, F_GETFD) < 0)
        return HALTER_EINVAL;
    return order(pc, "{\"do\":\"save\"}", fd, fn, data);
}

int halter_pc_report(struct halter_pc *pc, halter_pc_answer_fn fn, void *data)
{
    return order(pc, "{\"do\":\"report\"}", -1, fn, data);
}

static void finish(struct halter_pc *pc, const char *wrong, const char *json)
{
    struct pc_order done = pc->order;

    pc->order.id = 0;
    if (!done.id || pc->closing)
        return;
    host_enter(pc->host);
    done.fn(pc, wrong, json, done.data);
    host_leave(pc->host);
}

void pc_order_fail(struct halter_pc *pc, const char *wrong)
{
    finish(pc, wrong, "{}");
}

void pc_order_answered(struct halter_pc *pc, const struct wire_frame *frame)
{
    const char *json = (const char *)frame->body;
    struct json_value value;
    char said[256], wrong[256];

    if (!json_check(json, frame->length, NULL) ||
        json_root(json, frame->length).type != JSON_OBJECT) {
        process_kill(pc->process, HALTER_DEATH_PROTOCOL, "an answer that is none");
        return;
    }
    if (!json_member(json_root(json, frame->length), "wrong", &value)) {
        finish(pc, NULL, json);
        return;
    }
    if (value.type != JSON_STRING || json_string(value, said, sizeof(said)) < 0)
        strcpy(said, "its helper does not say what");
    halter_printable(wrong, sizeof(wrong), said, strlen(said), false);
    finish(pc, wrong, json);
}
