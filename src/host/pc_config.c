/*
 * What a PC's helper is told: a JSON object, and the descriptors that it names by number. See
 * docs/protocol.md, "A PC's helper".
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/pc.h"

#define MAX_CONFIG (256u << 10)

static void write_number(struct json_writer *out, const char *name, uint64_t value)
{
    json_write(out, ",\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_integer(out, (int64_t)value);
}

static void write_flag(struct json_writer *out, const char *name, bool value)
{
    if (!value)
        return;
    json_write(out, ",\"");
    json_write(out, name);
    json_write(out, "\":true");
}

static void write_text(struct json_writer *out, const char *name, const char *text)
{
    json_write(out, "\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_string(out, text, strlen(text));
}

/* Duplicates a file and names it. One that is only read may have all its bytes mapped. */
static bool write_file(struct halter_pc *pc, const char *name, int fd)
{
    struct stat status;

    if (fd < 0)
        return true;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return false;
    write_number(&pc->config, name, pc->nfds);
    pc->fds[pc->nfds++] = copy;
    if (fstat(copy, &status) == 0 && S_ISREG(status.st_mode))
        pc->files_bytes += (uint64_t)status.st_size;
    return true;
}

static bool write_disks(struct halter_pc *pc, const struct halter_pc_options *o)
{
    struct json_writer *out = &pc->config;
    uint64_t mapped = pc->files_bytes;
    bool good = write_file(pc, "overlay", o->overlay_fd);

    json_write(out, ",\"disks\":[");
    for (unsigned i = 0; good && i < o->ndisks; i++) {
        json_write(out, i ? ",{\"number\":" : "{\"number\":");
        json_write_integer(out, i);
        good = write_file(pc, "file", o->disks[i].fd);
        write_flag(out, "readOnly", o->disks[i].read_only);
        write_flag(out, "through", !o->disks[i].keep);
        json_write(out, "}");
    }
    json_write(out, "]");
    pc->files_bytes = mapped; /* they are read and written, and not mapped */
    return good;
}

static void write_script(struct json_writer *out, const struct halter_pc_options *o)
{
    json_write(out, ",\"script\":[");
    for (unsigned i = 0; i < o->nsteps; i++) {
        json_write(out, i ? ",{" : "{");
        if (o->steps[i].until)
            write_text(out, "until", o->steps[i].until);
        if (o->steps[i].until && o->steps[i].send)
            json_write(out, ",");
        if (o->steps[i].send)
            write_text(out, "send", o->steps[i].send);
        json_write(out, "}");
    }
    json_write(out, "]");
}

static uint64_t date(const struct halter_pc_options *o)
{
    if (o->rtc_seconds != UINT64_MAX)
        return o->rtc_seconds;
    return o->icount_ns_q16 ? 0 : (uint64_t)time(NULL);
}

int pc_configure(struct halter_pc *pc, const struct halter_pc_options *o)
{
    struct json_writer *out = &pc->config;

    json_write(out, "{");
    write_text(out, "append", o->append ? o->append : "");
    write_number(out, "ramMb", o->ram_mb);
    write_number(out, "model", (uint64_t)o->model);
    write_number(out, "rtc", date(o));
    write_number(out, "icountQ16", o->icount_ns_q16);
    write_number(out, "sliceInsns", o->slice_insns);
    write_number(out, "trace", o->trace);
    write_number(out, "timeoutMs", o->timeout_ms);
    write_flag(out, "noReboot", o->no_reboot);
    write_flag(out, "verbose", o->verbose);
    write_flag(out, "hash", o->hash);
    write_flag(out, "channel", o->on_channel != NULL);
    write_script(out, o);
    if (!write_file(pc, "kernel", o->kernel_fd) || !write_file(pc, "initrd", o->initrd_fd) ||
        !write_file(pc, "resume", o->resume_fd) || !write_file(pc, "save", o->save_fd) || !write_disks(pc, o))
        return HALTER_ESYSTEM;
    json_write(out, "}");
    if (!json_write_end(out))
        return HALTER_ENOMEM;
    if (out->length > MAX_CONFIG || out->length > pc->host->cap / 2)
        return HALTER_ETOOBIG;
    return HALTER_OK;
}
