/* end.c: how a run went, as JSON: the last thing that a PC's helper says. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper/helper.h"
#include "wire/json_write.h"

#define REPORT_LINES 200

struct report {
    struct json_writer *out;
    unsigned lines;
};

static void report_line(void *opaque, const char *text)
{
    struct report *report = opaque;

    if (report->lines >= REPORT_LINES)
        return;
    if (report->lines++)
        json_write(report->out, ",");
    json_write_string(report->out, text, strlen(text));
}

void end_report(struct server *server, struct json_writer *out)
{
    struct report report = {.out = out};

    pc_report(server->runner.pc, report_line, &report);
}

static void write_member(struct json_writer *out, const char *name, uint64_t value)
{
    json_write(out, ",\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_integer(out, (int64_t)value);
}

static const char *reason_of(const struct server *server, enum pc_stop stop)
{
    switch (stop) {
    case PC_OFF:
        return "off";
    case PC_RESET:
        return "reset";
    case PC_SHUTDOWN:
        return "triple fault";
    default:
        return server->timed_out ? "timeout" : "until";
    }
}

void end_say(struct server *server, enum pc_stop stop, const char *wrong)
{
    const struct runner *runner = &server->runner;
    struct json_writer out;

    json_writer_init(&out);
    json_write(&out, "{\"reason\":\"");
    json_write(&out, reason_of(server, stop));
    json_write(&out, "\"");
    write_member(&out, "insns", pc_insns(runner->pc));
    write_member(&out, "ranInsns", pc_insns(runner->pc) - server->started_insns);
    write_member(&out, "guestNs", pc_now_ns(runner->pc));
    write_member(&out, "wallNs", server_now_ns() - server->started_ns);
    write_member(&out, "sleptNs", runner->stats.slept_ns);
    write_member(&out, "lostNs", runner->stats.lost_ns);
    write_member(&out, "slices", runner->stats.slices);
    write_member(&out, "boots", runner->stats.boots);
    if (server->hash) {
        char text[40];
        snprintf(text, sizeof(text), ",\"hash\":\"%016llx\"",
                 (unsigned long long)pc_hash(runner->pc));
        json_write(&out, text);
    }
    if (wrong) {
        json_write(&out, ",\"saveWrong\":");
        json_write_string(&out, wrong, strlen(wrong));
    }
    json_write(&out, ",\"report\":[");
    if (stop == PC_SHUTDOWN)
        end_report(server, &out);
    json_write(&out, "]}");
    if (!json_write_end(&out))
        exit(HELPER_EXIT_ENGINE);
    server_send(server, WIRE_VALUE, 0, server->load_id, out.text, out.length);
    json_writer_finish(&out);
}
