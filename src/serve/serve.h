/*
 * The parts of halter-serve: answer.c decides what a request gets, main.c owns the socket, the loop
 * and the end.
 */
#ifndef HALTER_SERVE_SERVE_H
#define HALTER_SERVE_SERVE_H

#include <microhttpd.h>
#include <stdbool.h>

#define SERVE_MAX_FOLDERS 8

/* A folder of the disk and where it is in the site. */
struct serve_folder {
    const char *prefix; /* "" for the whole site, "guest/" for a part of it */
    int fd;             /* O_PATH | O_DIRECTORY */
};

struct serve_site {
    struct serve_folder folders[SERVE_MAX_FOLDERS];
    int nfolders;
    bool loopback_only; /* listens on loopback: requests for another host are refused */
    bool verbose;       /* one line a request, on standard error */
};

/* libmicrohttpd's handler of a request; `site` is the site, which lives as long as the daemon. */
enum MHD_Result serve_answer(void *site, struct MHD_Connection *connection, const char *target,
                             const char *method, const char *version, const char *upload_data,
                             size_t *upload_data_size, void **request);

#endif
