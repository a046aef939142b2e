/* load.c: the LOAD of a PC's helper: one JSON object that says what the machine is, and which of
 * the descriptors that came with it is the kernel, the initial RAM disk, the snapshot to go on
 * from, the file to leave one in. Whatever is wrong with them is answered in a sentence. */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "file.h"
#include "helper/helper.h"
#include "wire/body.h"
#include "wire/json.h"

_Noreturn static void refuse(struct server *server, const char *message)
{
    struct wire_error error = {.kind = WIRE_ERROR_LOAD,
                               .message = {message, (uint32_t)strlen(message)}};
    uint8_t fixed[WIRE_ERROR_FIXED];
    struct wire_frame header = {.type = WIRE_ERROR, .id = server->load_id};
    struct iovec parts[] = {{fixed, wire_error_encode(&error, fixed)},
                            {(void *)(uintptr_t)message, error.message.length}};

    wire_send_wait(server->socket, &header, parts, 2, NULL);
    exit(HELPER_EXIT_EOF);
}

static int64_t number(struct json_value config, const char *key, int64_t otherwise)
{
    struct json_value value;
    int64_t n;

    if (!json_member(config, key, &value) || !json_integer(value, 0, INT64_MAX, &n))
        return otherwise;
    return n;
}

static bool flag(struct json_value config, const char *key)
{
    struct json_value value;

    return json_member(config, key, &value) && value.type == JSON_TRUE;
}

/* ---- files -------------------------------------------------------------------------------------
 */

/* The descriptor that `key` names, or -1. It is the caller's from then on. */
static int take_file(struct json_value config, const char *key, const struct wire_frame *frame)
{
    int64_t n = number(config, key, -1);

    if (n >= frame->nfds)
        server_breach("a descriptor that did not come");
    return n < 0 ? -1 : frame->fds[n];
}

/* False when there is none. */
static bool map_file(struct server *server, struct json_value config, const char *key,
                     const struct wire_frame *frame, const uint8_t **bytes, size_t *count)
{
    static char wrong[96];
    int fd = take_file(config, key, frame);

    if (fd < 0)
        return false;
    /* Not fstat(): the C library makes newfstatat of it, which a confined helper does not have. */
    off_t size = lseek(fd, 0, SEEK_END);
    snprintf(wrong, sizeof(wrong), "the %s is empty, or no file", key);
    if (size <= 0)
        refuse(server, wrong);
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    snprintf(wrong, sizeof(wrong), "the %s cannot be mapped: %s", key, strerror(errno));
    if (map == MAP_FAILED)
        refuse(server, wrong);
    close(fd);
    *bytes = map;
    *count = (size_t)size;
    return true;
}

static void read_files(struct server *server, struct json_value config,
                       const struct wire_frame *frame)
{
    struct pc_image *image = &server->config.image;
    int fd = take_file(config, "resume", frame);

    map_file(server, config, "kernel", frame, &image->kernel, &image->kernel_bytes);
    map_file(server, config, "initrd", frame, &image->initrd, &image->initrd_bytes);
    server->save_fd = take_file(config, "save", frame);
    if (fd >= 0) {
        static struct file file;
        static struct pc_reader reader;
        file_init(&file, fd);
        reader = file_reader(&file);
        server->config.resume = &reader;
    } else if (!image->kernel) {
        refuse(server, "there is no kernel, and no snapshot to go on from");
    }
}

/* ---- disks -------------------------------------------------------------------------------------
 */

static void name_disk(struct pc_disk *disk, unsigned number)
{
    memcpy(disk->name, "halter-disk-", 12);
    disk->name[12] = (char)('0' + number);
}

static void read_disk(struct server *server, struct json_value config, struct json_value item,
                      const struct wire_frame *frame, uint64_t *at)
{
    static char wrong[128];
    struct disks *disks = &server->disks;
    unsigned number = disks->count;
    struct disk *disk = &disks->disk[number];
    struct pc_disk *to_guest = &server->config.pc.disk[number];
    int fd = take_file(item, "file", frame), overlay = take_file(config, "overlay", frame);
    bool through = flag(item, "through");
    const char *why = disk_open(disk, fd, overlay, at, flag(item, "readOnly"),
                                through && !server->config.resume);

    snprintf(wrong, sizeof(wrong), "disk %u cannot be used: %s", number, why ? why : "");
    if (why)
        refuse(server, wrong);
    disks->commits[number] = through && !disk->read_only;
    *to_guest = (struct pc_disk){.bytes = disk->bytes,
                                 .read_only = disk->read_only,
                                 .identity = disk_identity(disk)};
    name_disk(to_guest, number);
    disks->count++;
}

static void read_disks(struct server *server, struct json_value config,
                       const struct wire_frame *frame)
{
    struct json_value list, item;
    size_t next = 0;
    uint64_t at = 0;

    if (!json_member(config, "disks", &list) || list.type != JSON_ARRAY)
        return;
    while (json_next(list, &next, NULL, &item)) {
        if (server->disks.count == PC_DISKS)
            server_breach("more disks than a PC has");
        read_disk(server, config, item, frame, &at);
    }
}

/* What the guest's entropy is made of: nothing, in a run that is to be the same each time. */
static void choose_seed(struct server *server)
{
    struct pc_config *pc = &server->config.pc;

    pc->exact = server->config.icount_q16 != 0;
    if (!pc->exact && getrandom(pc->seed, sizeof(pc->seed), 0) != (ssize_t)sizeof(pc->seed))
        refuse(server, "the host has no entropy for the guest");
}

/* ---- the script
 * ---------------------------------------------------------------------------------- */

static void read_step(struct server *server, struct json_value step, const char *key,
                      bool (*add)(struct script *script, const char *text))
{
    static char wrong[SCRIPT_TEXT + 128];
    struct json_value text;
    char buffer[SCRIPT_TEXT];

    if (!json_member(step, key, &text))
        return;
    if (json_string(text, buffer, sizeof(buffer)) < 0)
        refuse(server, "a text of the script is longer than 1023 bytes");
    snprintf(wrong, sizeof(wrong),
             "the script cannot %s \"%s\": it is empty, one of more than %d, or has an escape that "
             "is not one of \\n \\r \\t \\e \\\\ \\xNN",
             strcmp(key, "until") == 0 ? "wait for" : "send", buffer, SCRIPT_STEPS);
    if (!add(&server->script, buffer))
        refuse(server, wrong);
}

static void read_script(struct server *server, struct json_value config)
{
    struct json_value steps, step;
    size_t at = 0;

    if (!json_member(config, "script", &steps) || steps.type != JSON_ARRAY)
        return;
    while (json_next(steps, &at, NULL, &step)) {
        read_step(server, step, "until", script_until);
        read_step(server, step, "send", script_send);
    }
}

/* Goes on in the middle of the script, where the snapshot was taken: before a step, or with so many
 * of its keys typed but one. */
static void go_on(struct server *server, struct json_value config)
{
    struct script *script = &server->script;
    int64_t step = number(config, "step", 0), sent = number(config, "sent", 0);

    if (step > script->count || (sent && step == script->count))
        server_breach("a step that the script does not have");
    script->at = (unsigned)step;
    if (!sent)
        return;
    server->sending = &script->step[script->at++];
    server->sent = (size_t)sent - 1;
    if (server->sent > server->sending->send_length)
        server_breach("more keys than the step has");
}

/* ---- the machine
 * --------------------------------------------------------------------------------- */

static void read_config(struct server *server, struct json_value config)
{
    struct runner_config *c = &server->config;
    struct json_value text;
    uint64_t ram = (uint64_t)number(config, "ramMb", 128) << 20;

    c->ram_bytes = ram <= (3072ull << 20) ? (uint32_t)ram : 0;
    c->pc.model = (enum pc_model)number(config, "model", PC_MODEL_PENTIUM_M);
    c->pc.rtc_seconds = (uint64_t)number(config, "rtc", 0);
    c->pc.trace = (uint32_t)number(config, "trace", 0);
    c->icount_q16 = (uint32_t)number(config, "icountQ16", 0);
    c->slice_insns = (uint64_t)number(config, "sliceInsns", 0);
    c->no_reboot = flag(config, "noReboot");
    server->verbose = flag(config, "verbose");
    server->hash = flag(config, "hash");
    server->line[1].connected = flag(config, "channel");
    server->timeout_ns = (uint64_t)number(config, "timeoutMs", 0) * 1000000u;
    if (json_member(config, "append", &text) &&
        json_string(text, server->command_line, sizeof(server->command_line)) < 0)
        refuse(server, "the kernel's command line is longer than 4095 bytes");
    c->image.command_line = server->command_line;
    void *map = mmap(NULL, c->ram_bytes ? c->ram_bytes : 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        refuse(server, "there is no memory for the RAM");
    c->ram = map;
}

void load_wait(struct server *server)
{
    struct wire_frame frame;
    struct wire_load load;
    int got = wire_receive_wait(&server->reader, server->socket, &frame);

    if (got == WIRE_EOF)
        exit(HELPER_EXIT_EOF);
    if (got != 1)
        server_breach(wire_fault_text(got));
    if (frame.type != WIRE_LOAD)
        server_breach("a frame before the load");
    server->load_id = frame.id;
    if (!wire_load_decode(&load, frame.body, frame.length) ||
        !json_check(load.source.bytes, load.source.length, NULL))
        server_breach("a malformed load");
    struct json_value config = json_root(load.source.bytes, load.source.length);
    read_config(server, config);
    read_files(server, config, &frame);
    read_disks(server, config, &frame);
    choose_seed(server);
    read_script(server, config);
    go_on(server, config);
    const struct runner_host host = {.opaque = server,
                                     .console_out = line_output,
                                     .block = serve_block,
                                     .log = server_log,
                                     .now_ns = serve_clock,
                                     .attend = serve_attend};
    const char *wrong = runner_init(&server->runner, &server->config, &host);
    if (!wrong && server->config.resume)
        wrong = disks_load(&server->disks, *server->config.resume);
    if (wrong)
        refuse(server, wrong);
    if (server->config.resume && !server->config.pc.exact)
        pc_seed_in(server->runner.pc, server->config.pc.seed);
    if (!disks_start(&server->disks, server->config.pc.exact))
        refuse(server, "the thread for its disks cannot be started");
}
