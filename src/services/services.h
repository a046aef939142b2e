/*
 * halter-services: the program that does for a host what can block or has to parse the outside
 * world. The host decides, this executes: each order comes from the host on descriptor 3, with
 * everything that was decided in it, and is answered there once.
 *
 *   main.c     the loop, the start                    fetch.c   one request to the network
 *   order.c    the members of an order
 *   link.c     frames to and from the host            reach.c   which addresses may be connected to
 *   confine.c  what the process gives up              state.c   the queue and thread of the state
 *                                                     store.c   the state in SQLite
 *
 * Order of life: HELLO, then LOAD with the configuration as JSON, answered with LOADED once the
 * process is confined to what that configuration needs; then CALL frames in any number, each with
 * an order as JSON, answered with VALUE or ERROR in the order in which they are done.
 */
#ifndef HALTER_SERVICES_SERVICES_H
#define HALTER_SERVICES_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"

/* Something in the epoll set: `ready` is called with the events that came. */
struct watch {
    void (*ready)(struct watch *watch, uint32_t events);
};

/* ---- link.c ---- */

struct link {
    struct watch watch; /* first */
    int epoll, fd;
    uint32_t cap; /* the largest body the host takes, bytes */
    struct wire_reader reader;
    struct wire_writer writer;
    bool wants_write;
    bool closed; /* the host is gone */
};
typedef void (*link_frame_fn)(void *data, const struct wire_frame *frame);

bool link_init(struct link *link, int epoll, int fd);
void link_finish(struct link *link);
/* Reads what is there and hands over each frame. False on a breach, which is then on stderr. */
bool link_read(struct link *link, link_frame_fn fn, void *data);
void link_flush(struct link *link);
void link_hello(struct link *link, uint32_t layers, uint32_t landlock_abi);
void link_loaded(struct link *link, uint64_t id);
/* An answer above the cap becomes an error. */
void link_value(struct link *link, uint64_t id, const char *json, size_t length);
void link_error(struct link *link, uint64_t id, enum wire_error_kind kind, const char *message);

/* ---- confine.c: layers as bits of enum halter_layer ---- */

/* What needs no configuration. Returns the layers in force. Exits with 65 below the minimum. */
uint32_t confine_first(void);
/* The file system: system files for reading, and the folder of `state_path` ("" for none). */
bool confine_files(const char *state_path);
uint32_t confine_landlock_abi(void);

/* ---- reach.c ---- */

struct wire_range;
struct reach {
    struct wire_range *allow, *publics, *refuse;
    size_t nallow, npublics, nrefuse;
};
/* A list of ranges as JSON strings. False when it is none. *ranges is to be freed. */
bool reach_list(struct json_value list, struct wire_range **ranges, size_t *count);
struct sockaddr;
struct wire_address;
/* The address in a socket address. False when it is none of the internet. */
bool reach_address(const struct sockaddr *from, struct wire_address *to);
bool reach_allows(const struct reach *reach, const struct wire_address *address);

/* ---- fetch.c ---- */

struct fetcher;
struct fetcher *fetcher_create(int epoll, struct link *link, const struct reach *reach);
/* Trusts the authorities of this PEM file and no others. NULL, or what is wrong with it. Before
   confine_files(): it is read here and now. */
const char *fetcher_trust(struct fetcher *fetcher, const char *path);
void fetcher_order(struct fetcher *fetcher, uint64_t id, struct json_value order);
void fetcher_cancel(struct fetcher *fetcher, uint64_t id);
/* Does what is due; returns the ms until something is, -1 for nothing. */
int fetcher_run(struct fetcher *fetcher);

/* ---- state.c ---- */

struct state;
/* Opens or creates the file and starts the thread. NULL with why in `why`. */
struct state *state_create(int epoll, struct link *link, const char *path, char why[256]);
void state_order(struct state *state, uint64_t id, const char *op, struct json_value order);

/* ---- order.c ---- */

/* A string member of an order, to be freed; NULL when it is absent, no string, or has a NUL in it.
 */
char *order_text(struct json_value order, const char *key);
int64_t order_integer(struct json_value order, const char *key, int64_t otherwise);

#endif
