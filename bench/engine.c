/*
 * halter-bench-engine: the engine's code with no host, no socket and no loop around it, so that
 * `halter bench` can say what those cost; and an attacker behind the helper's confinement.
 *
 *   version                   what the engine calls itself
 *   trip PLUGIN PAYLOAD       "E2 COUNT": that many calls, in ns; "hash": of one result
 *   files FOLDER              an operation's name: what comes of it in three tiers
 *
 * It stands where the helper's loop stands: it brings the helper_…() functions that the engine asks
 * for, and helper_serve(), to which helper_main() hands the engine.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "helper/engine.h"

struct helper {
    struct helper_start start;
};

static const struct engine_type *type;

int helper_serve(const struct helper_start *start, const struct engine_type *given,
                 enum wire_helper_kind kind)
{
    (void)start;
    (void)kind;
    type = given;
    return 0;
}

uint64_t helper_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t helper_cap(const struct helper *helper)
{
    (void)helper;
    return WIRE_DEFAULT_CAP;
}

void helper_log(struct helper *helper, enum wire_level level, const char *text, size_t bytes,
                uint32_t dropped)
{
    (void)helper;
    (void)level;
    (void)dropped;
    fprintf(stderr, "halter-bench-engine: the plugin says: %.*s\n", (int)bytes, text);
}

/* There is no host to ask: a plugin that needs one is no plugin for this comparison. */
_Noreturn static void no_host(void)
{
    fprintf(stderr, "halter-bench-engine: the plugin calls its host, and here is none\n");
    exit(2);
}

uint64_t helper_request(struct helper *helper, const char *name, size_t name_bytes,
                        const char *json, size_t json_bytes, bool wait)
{
    (void)helper;
    (void)name;
    (void)name_bytes;
    (void)json;
    (void)json_bytes;
    (void)wait;
    no_host();
}

void helper_wait_answer(struct helper *helper, uint64_t id, struct engine_answer *answer)
{
    (void)helper;
    (void)id;
    (void)answer;
    no_host();
}

void helper_answer_finish(struct engine_answer *answer)
{
    (void)answer;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
    if (length < 0) {
        fprintf(stderr, "halter-bench-engine: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    fclose(file);
    *bytes = (size_t)length;
    return text;
}

struct trip {
    struct engine *engine;
    char *payload;
    size_t bytes;
    uint64_t tick;
};

static void call(struct trip *trip, struct engine_outcome *outcome)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    struct wire_call body = {
        .now_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000,
        .tick = ++trip->tick,
        .generation = 1,
        .deadline_ms = 60000,
        .locale = {"en", 2},
        .json = {trip->payload, (uint32_t)trip->bytes},
    };
    if (type->call(trip->engine, &body, NULL, 0, outcome) != ENGINE_DONE ||
        outcome->type != WIRE_VALUE) {
        fprintf(stderr, "halter-bench-engine: the call gave no value\n");
        exit(2);
    }
}

static void sample(struct trip *trip, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct engine_outcome outcome = {0};
        uint64_t start = helper_now_ns();
        call(trip, &outcome);
        printf("%s%" PRIu64, i ? " " : "", helper_now_ns() - start);
    }
    printf("\n");
}

static void print_hash(struct trip *trip)
{
    struct engine_outcome outcome = {0};
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, as bench_hash() in src/cli */
    call(trip, &outcome);
    for (size_t i = 0; i < outcome.json_bytes; i++)
        hash = (hash ^ (uint8_t)outcome.json[i]) * 0x100000001b3u;
    printf("%" PRIx64 "\n", hash);
}

static void load(struct trip *trip, char **arguments)
{
    static struct helper helper;
    struct engine_outcome outcome = {0};
    size_t bytes;
    char *source = read_file(arguments[2], &bytes);
    struct wire_load body = {
        .name = {"bench", 5}, .path = {"bench.js", 8}, .source = {source, (uint32_t)bytes}};
    trip->payload = read_file(arguments[3], &trip->bytes);
    trip->engine = type->create(&helper, &helper.start);
    if (!trip->engine ||
        type->load(trip->engine, &body, &outcome) != ENGINE_DONE || outcome.type != WIRE_LOADED) {
        fprintf(stderr, "halter-bench-engine: the plugin does not load\n");
        exit(2);
    }
    free(source);
    for (int i = 0; i < 300; i++) { /* as much warm-up as the other side has */
        outcome = (struct engine_outcome){0};
        call(trip, &outcome);
    }
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    struct helper_start start = {.profile = {.kind = WIRE_HELPER_JS}};
    struct trip trip = {0};
    const char *mode = argc > 1 ? argv[1] : "";
    bool trips = strcmp(mode, "trip") == 0 && argc == 4;
    bool files = strcmp(mode, "files") == 0 && argc == 3;
    if (!trips && !files && strcmp(mode, "version") != 0) {
        fprintf(stderr, "halter-bench-engine is started by halter bench, not by hand.\n");
        return 2;
    }
    helper_main(&start);
    if (trips)
        load(&trip, argv);
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (files)
            attack_in_tiers(argv[2], line);
        else if (!trips)
            printf("%s\n", type->name());
        else if (strncmp(line, "E2 ", 3) == 0)
            sample(&trip, (unsigned)strtoul(line + 3, NULL, 10));
        else
            print_hash(&trip);
        fflush(stdout);
    }
    free(line);
    free(trip.payload);
    return 0;
}
