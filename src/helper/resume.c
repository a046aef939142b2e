/* What a helper that was executed is told: its profile as an argument, its status page as a
 * descriptor. The launcher writes it, helpers of every kind read it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helper/helper.h"

void helper_profile_print(char text[HELPER_PROFILE_TEXT], const struct control_profile *p,
                          uint64_t generation)
{
    snprintf(text, HELPER_PROFILE_TEXT,
             "%" PRIu16 ",%" PRIu16 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32
             ",%" PRIu64,
             p->kind, p->flags, p->skip_layers, p->cap, p->memory_bytes, p->cpu_seconds, p->max_fds,
             generation);
}

bool helper_resume(struct helper_start *start, int count, char *const *arguments)
{
    *start = (struct helper_start){.socket = HELPER_SOCKET_FD};
    struct control_profile *p = &start->profile;
    if (count != 3 || strcmp(arguments[1], "--helper") ||
        sscanf(arguments[2],
               "%" SCNu16 ",%" SCNu16 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%" SCNu32 ",%" SCNu32
               ",%" SCNu64,
               &p->kind, &p->flags, &p->skip_layers, &p->cap, &p->memory_bytes, &p->cpu_seconds,
               &p->max_fds, &start->generation) != 8)
        return false;
    void *page =
        mmap(NULL, sizeof(*start->status), PROT_READ | PROT_WRITE, MAP_SHARED, HELPER_STATUS_FD, 0);
    if (page == MAP_FAILED)
        return false;
    start->status = page;
    close(HELPER_STATUS_FD);
    return true;
}
