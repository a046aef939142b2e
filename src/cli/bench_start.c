/*
 * E1: from the wish for a new plugin to its first answer: plain, from a spare, and fifty at once.
 * E1b: the same from nothing, launcher included: warm, as a binary that never ran, and with the
 * page cache emptied of everything that the launcher maps.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/say.h"

#define REFILL_MS   60 /* for the spare that was taken to be replaced */
#define BURST       50
#define BURST_SPARE 8
#define FILES_MAX   128

static const char tick[] = "globalThis.transform = (raw) => raw + 1;";

/* A plugin from nothing to its first answer, in ns; 0 when it failed. */
static uint64_t first_answer(struct halter_host *host)
{
    uint64_t start = now_ns(), hash;
    struct halter_guest *guest = bench_guest(host, tick, 5000, NULL);
    int status = guest ? bench_call(host, guest, "41", 2, &hash) : HALTER_EINVAL;
    uint64_t took = now_ns() - start;
    halter_guest_destroy(guest);
    return status == HALTER_OK && hash == bench_hash("42", 2) ? took : 0;
}

static bool singles(struct bench *bench, struct halter_host *plain, struct halter_host *ready)
{
    struct series *from_fork = bench_series(bench, "µs", "plain: no spare");
    struct series *from_spare = bench_series(bench, "µs", "from a spare");
    unsigned count = bench_count(bench, 60, 30);
    for (unsigned i = 0; i < count; i++) {
        bench_progress(bench, "start %u of %u", i + 1, count);
        uint64_t slow = first_answer(plain);
        bench_rest(plain, 5);
        bench_rest(ready, REFILL_MS);
        uint64_t fast = first_answer(ready);
        if (!slow || !fast)
            return false;
        series_add_ns(from_fork, slow);
        series_add_ns(from_spare, fast);
    }
    bench_at_most(bench, VERDICT_AT_LEAST, "plain start, p50", series_at(from_fork, 0.5), 10000, "µs");
    bench_at_most(bench, VERDICT_AT_LEAST, "from a spare, p50", series_at(from_spare, 0.5), 1000, "µs");
    bench_at_most(bench, VERDICT_AT_LEAST, "from a spare, p95", series_at(from_spare, 0.95), 2000, "µs");
    bench_verdict(bench, VERDICT_CONTROL, series_at(from_spare, 0.5) < series_at(from_fork, 0.5),
                  "a spare is faster than none: spares were there");
    return true;
}

static void count_answer(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    unsigned *answers = data;
    (void)guest;
    *answers += result->status == HALTER_OK;
}

/* Fifty plugins at once, until each has answered. */
static uint64_t burst(struct halter_host *host)
{
    struct halter_guest *guests[BURST] = {0};
    unsigned answers = 0;
    uint64_t start = now_ns(), limit = start + 20000000000ull, took = 0;
    for (unsigned i = 0; i < BURST; i++) {
        guests[i] = bench_guest(host, tick, 5000, NULL);
        if (!guests[i] ||
            halter_call(guests[i], "1", 1, NULL, count_answer, &answers, NULL) != HALTER_OK)
            goto out;
    }
    while (answers < BURST && now_ns() < limit)
        halter_dispatch(host, 100);
    if (answers == BURST)
        took = now_ns() - start;
out:
    for (unsigned i = 0; i < BURST; i++)
        halter_guest_destroy(guests[i]);
    return took;
}

static bool bursts(struct bench *bench)
{
    struct series *series = bench_series(bench, "µs", "%d new plugins at once, %d spares", BURST,
                                         BURST_SPARE);
    struct halter_host *host = bench_host(bench, BURST_SPARE, NULL);
    struct halter_guest *resident = host ? bench_guest(host, tick, 5000, NULL) : NULL;
    bool done = resident && bench_wait_ready(host, resident);
    unsigned count = bench_count(bench, 10, 5);
    for (unsigned i = 0; done && i < count; i++) {
        bench_progress(bench, "burst %u of %u", i + 1, count);
        bench_rest(host, 400);
        uint64_t took = burst(host);
        done = took != 0;
        series_add_ns(series, took);
    }
    halter_destroy(host);
    if (done)
        bench_at_most(bench, VERDICT_AIM, "the burst, p50", series_at(series, 0.5), 100000, "µs");
    return done;
}

bool bench_start(struct bench *bench)
{
    struct halter_host *plain = bench_host(bench, 0, NULL), *ready = bench_host(bench, 1, NULL);
    /* Spares are kept while there are guests: one stays. */
    struct halter_guest *resident = ready ? bench_guest(ready, tick, 5000, NULL) : NULL;
    bool done = plain && resident && bench_wait_ready(ready, resident);
    for (int i = 0; done && i < 3; i++) { /* warm-up: what a first start allocates is there */
        bench_rest(ready, REFILL_MS);
        done = first_answer(plain) && first_answer(ready);
    }
    done = done && singles(bench, plain, ready);
    halter_destroy(plain);
    halter_destroy(ready);
    done = done && bursts(bench);
    bench_peers_sample(bench, "E1", bench_count(bench, 30, 30), "start to first answer");
    return done;
}

/* ---- E1b ------------------------------------------------------------------------------------- */

/* A host from nothing to the first answer of its first plugin. */
static uint64_t whole_start(const struct bench *bench, const char *launcher)
{
    uint64_t start = now_ns();
    struct halter_host *host = bench_host(bench, 0, launcher);
    struct halter_guest *guest = host ? bench_guest(host, tick, 10000, NULL) : NULL;
    int status = guest ? bench_call(host, guest, "1", 1, NULL) : HALTER_EINVAL;
    uint64_t took = now_ns() - start;
    halter_destroy(host);
    return status == HALTER_OK ? took : 0;
}

static bool copy_file(const char *from, const char *to)
{
    char chunk[65536];
    ssize_t n = -1;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    while (in >= 0 && out >= 0 && (n = read(in, chunk, sizeof chunk)) > 0)
        if (write(out, chunk, (size_t)n) != n)
            n = -1;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return n == 0;
}

struct files {
    char *paths[FILES_MAX];
    unsigned count;
};

/* Every file that a helper maps. */
static bool mapped_files(pid_t pid, struct files *files)
{
    char path[64], line[4200];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        char *name = strchr(line, '/');
        if (!name)
            continue;
        name[strcspn(name, "\n")] = '\0';
        bool known = access(name, R_OK) < 0;
        for (unsigned i = 0; i < files->count && !known; i++)
            known = strcmp(files->paths[i], name) == 0;
        if (!known && files->count < FILES_MAX)
            files->paths[files->count++] = strdup(name);
    }
    fclose(file);
    return files->count > 0;
}

/* Empties the cache of a file, and counts its pages and those that stayed. */
static void evict(const char *path, uint64_t *pages, uint64_t *resident)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (fstat(fd, &about) == 0 && about.st_size > 0) {
        size_t bytes = (size_t)about.st_size, count = (bytes + 4095) / 4096, here = 0;
        unsigned char *map = malloc(count);
        void *view = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (map && view != MAP_FAILED && mincore(view, bytes, map) == 0) {
            for (size_t i = 0; i < count; i++)
                here += map[i] & 1;
            *pages += count;
            *resident += here;
        }
        if (view != MAP_FAILED)
            munmap(view, bytes);
        free(map);
    }
    close(fd);
}

/* The launcher's own libraries: the kernel keeps what this process itself maps (libc). */
static double evict_all(const struct files *files)
{
    uint64_t pages = 0, resident = 0;
    for (unsigned i = 0; i < files->count; i++)
        evict(files->paths[i], &pages, &resident);
    return pages ? (double)resident / (double)pages : 1.0;
}

static bool cold_rounds(struct bench *bench, const struct files *files)
{
    struct series *warm = bench_series(bench, "µs", "host, launcher and first answer, warm");
    struct series *fresh = bench_series(bench, "µs", "the same, a fresh copy of the launcher");
    struct series *cold = bench_series(bench, "µs", "the same, page cache emptied");
    unsigned count = bench_count(bench, 10, 5);
    double stayed = 0.0;
    char copy[128];
    for (unsigned i = 0; i < count; i++) {
        bench_progress(bench, "round %u of %u", i + 1, count);
        uint64_t a = whole_start(bench, NULL);
        snprintf(copy, sizeof copy, "%s/launcher-%u", bench->folder, i);
        if (!copy_file(bench->launcher, copy))
            return false;
        uint64_t b = whole_start(bench, copy);
        unlink(copy);
        double share = evict_all(files);
        stayed = share > stayed ? share : stayed;
        uint64_t c = whole_start(bench, NULL);
        if (!a || !b || !c)
            return false;
        series_add_ns(warm, a);
        series_add_ns(fresh, b);
        series_add_ns(cold, c);
    }
    double base = series_at(warm, 0.5);
    bench_at_most(bench, VERDICT_AIM, "a fresh copy, ratio to warm", series_at(fresh, 0.5) / base,
                  1.2, "×");
    bench_verdict(bench, VERDICT_AT_LEAST, true, "page cache emptied, ratio to warm: %.2f ×",
                  series_at(cold, 0.5) / base);
    bench_verdict(bench, VERDICT_CONTROL, stayed < 0.5,
                  "the cache was emptied: %.0f %% of the mapped files stayed (others use them)",
                  stayed * 100.0);
    return true;
}

bool bench_start_cold(struct bench *bench)
{
    struct files files = {0};
    struct halter_host *host = bench_host(bench, 0, NULL);
    struct halter_guest *guest = host ? bench_guest(host, tick, 10000, NULL) : NULL;
    bool done = guest && bench_wait_ready(host, guest);
    if (done && !mapped_files(halter_guest_pid(guest), &files)) {
        say("what a helper maps cannot be read");
        done = false;
    }
    halter_destroy(host);
    done = done && whole_start(bench, NULL) && cold_rounds(bench, &files);
    for (unsigned i = 0; i < files.count; i++)
        free(files.paths[i]);
    return done;
}
