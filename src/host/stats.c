/*
 * What a guest costs: counters that its host keeps, a histogram of latencies with four buckets to
 * each doubling, and a look at /proc for the process that lives now.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/internal.h"

#define FIRST_BOUND_NS 1000ull

uint64_t halter_histogram_bound(unsigned bucket)
{
    /* 2^(1/4), 2^(2/4), 2^(3/4) in 16.16 fixed point: exact enough, and the same everywhere. */
    static const uint32_t steps[4] = {65536, 77936, 92682, 110218};
    if (bucket >= HALTER_HISTOGRAM_BUCKETS - 1)
        return UINT64_MAX;
    return ((FIRST_BOUND_NS << (bucket / 4)) * steps[bucket % 4]) >> 16;
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned low = 0, high = HALTER_HISTOGRAM_BUCKETS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (ns < halter_histogram_bound(middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void stats_latency(struct halter_stats *stats, uint64_t ns)
{
    stats->latency[bucket_of(ns)]++;
    stats->latency_sum_ns += ns;
    if (ns > stats->latency_max_ns)
        stats->latency_max_ns = ns;
}

uint64_t halter_histogram_quantile(const uint64_t latency[HALTER_HISTOGRAM_BUCKETS],
                                   double fraction)
{
    uint64_t total = 0, seen = 0;

    for (unsigned i = 0; i < HALTER_HISTOGRAM_BUCKETS; i++)
        total += latency[i];
    if (!total)
        return 0;
    for (unsigned i = 0; i < HALTER_HISTOGRAM_BUCKETS; i++) {
        seen += latency[i];
        if ((double)seen >= fraction * (double)total)
            return halter_histogram_bound(i);
    }
    return halter_histogram_bound(HALTER_HISTOGRAM_BUCKETS - 1);
}

uint64_t process_resident_bytes(const struct process *process)
{
    char path[64], text[128];
    unsigned long pages = 0;

    if (!process->pid)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    if (sscanf(text, "%*u %lu", &pages) != 1)
        return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t process_cpu_ns(const struct process *process)
{
    clockid_t clock;
    struct timespec used;

    if (!process->pid || clock_getcpuclockid(process->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000000000ull + (uint64_t)used.tv_nsec;
}

int halter_guest_stats(struct halter_guest *guest, struct halter_stats *stats)
{
    if (!guest || !stats || stats->size < sizeof(stats->size) || stats->size > sizeof(*stats))
        return HALTER_EINVAL;
    struct halter_stats now = guest->stats;
    if (guest->process && guest->process->state == PROCESS_OWNED) {
        now.resident_bytes = process_resident_bytes(guest->process);
        now.cpu_ns += process_cpu_ns(guest->process);
        if (now.resident_bytes > now.peak_bytes)
            guest->stats.peak_bytes = now.peak_bytes = now.resident_bytes;
    }
    now.size = stats->size;
    memcpy(stats, &now, stats->size);
    return HALTER_OK;
}
