/*
 * The loop of halter-services, its start and its orders. It lives as long as its host's end of the
 * socket is open and can be killed at any instant: what was acknowledged is on the disk.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "services/services.h"

#define HOST_FD 3

struct services {
    int epoll;
    struct link link;
    struct fetcher *fetcher;
    struct state *state; /* NULL when the host gave no file */
    struct reach reach;
    bool loaded;
};

/* The configuration: {"cap", "public", "refuse", "state_path", "ca_file"}. NULL, or what is wrong. */
static const char *configure(struct services *services, struct json_value config)
{
    struct json_value list;
    static char why[256];
    struct reach *reach = &services->reach;
    if (!json_member(config, "public", &list) ||
        !reach_list(list, &reach->publics, &reach->npublics))
        return "no list of public addresses";
    if (!json_member(config, "refuse", &list) || !reach_list(list, &reach->refuse, &reach->nrefuse))
        return "no list of refused addresses";
    services->link.cap = (uint32_t)order_integer(config, "cap", WIRE_DEFAULT_CAP);
    services->fetcher = fetcher_create(services->epoll, &services->link, reach);
    if (!services->fetcher)
        return "libcurl does not start";
    char *authorities = order_text(config, "ca_file");
    const char *fault = authorities ? fetcher_trust(services->fetcher, authorities) : NULL;
    free(authorities);
    if (fault)
        return fault;
    char *path = order_text(config, "state_path");
    if (!confine_files(path ? path : ""))
        fault = "Landlock is not available: the services do not run unconfined";
    else if (path && *path &&
             !(services->state = state_create(services->epoll, &services->link, path, why)))
        fault = why;
    free(path);
    return fault;
}

static void load(struct services *services, const struct wire_frame *frame)
{
    struct wire_load body;
    const char *why = "a configuration that is no JSON";
    if (services->loaded || !wire_load_decode(&body, frame->body, frame->length)) {
        link_error(&services->link, frame->id, WIRE_ERROR_LOAD, "a LOAD out of turn, or none");
        return;
    }
    if (json_check(body.source.bytes, body.source.length, NULL))
        why = configure(services, json_root(body.source.bytes, body.source.length));
    if (why) {
        link_error(&services->link, frame->id, WIRE_ERROR_LOAD, why);
        return;
    }
    services->loaded = true;
    link_loaded(&services->link, frame->id);
}

static void order(struct services *services, uint64_t id, struct json_value order)
{
    char *op = order_text(order, "op");
    if (!op)
        link_error(&services->link, id, WIRE_ERROR_FAILED, "an order without an op");
    else if (strcmp(op, "fetch") == 0)
        fetcher_order(services->fetcher, id, order);
    else if (strcmp(op, "cancel") == 0)
        fetcher_cancel(services->fetcher, (uint64_t)order_integer(order, "id", 0));
    else if (services->state)
        state_order(services->state, id, op, order);
    else
        link_error(&services->link, id, WIRE_ERROR_FAILED,
                   "there is no state: the application named no file for it");
    free(op);
}

static void frame_arrived(void *data, const struct wire_frame *frame)
{
    struct services *services = data;
    struct wire_call body;
    if (frame->type == WIRE_LOAD) {
        load(services, frame);
    } else if (frame->type != WIRE_CALL || !services->loaded) {
        fprintf(stderr, "halter-services: a frame out of turn: %s\n", wire_type_name(frame->type));
    } else if (!wire_call_decode(&body, frame->body, frame->length) ||
               !json_check(body.json.bytes, body.json.length, NULL)) {
        link_error(&services->link, frame->id, WIRE_ERROR_FAILED, "an order that is no JSON");
    } else {
        order(services, frame->id, json_root(body.json.bytes, body.json.length));
    }
}

static void host_ready(struct watch *watch, uint32_t events)
{
    struct link *link = (struct link *)watch;
    struct services *services =
        (struct services *)(void *)((char *)link - offsetof(struct services, link));
    if (events & EPOLLOUT)
        link_flush(link);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !link_read(link, frame_arrived, services))
        exit(64);
}

/* One event at a time: what it does may end the next one's watch. */
static int loop(struct services *services)
{
    while (!services->link.closed) {
        struct epoll_event event;
        int timeout = services->fetcher ? fetcher_run(services->fetcher) : -1;
        if (services->link.closed)
            break;
        int count = epoll_wait(services->epoll, &event, 1, timeout);
        if (count < 0 && errno != EINTR) {
            perror("halter-services: epoll_wait");
            return EXIT_FAILURE;
        }
        if (count == 1) {
            struct watch *watch = event.data.ptr;
            watch->ready(watch, event.events);
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static struct services services;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("halter-services " HALTER_VERSION_TEXT);
        return EXIT_SUCCESS;
    }
    /* First of all: it closes every descriptor but the host's and the standard ones. */
    uint32_t layers = confine_first();
    services.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (argc != 1 || services.epoll < 0 || !link_init(&services.link, services.epoll, HOST_FD)) {
        fprintf(stderr, "halter-services: is started by halter-launcher, with its host's socket as "
                        "descriptor 3\n");
        return EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    services.link.watch.ready = host_ready;
    link_hello(&services.link, layers, confine_landlock_abi());
    /* Threads may hang in the resolver or the disk: nothing is waited for at the end. */
    _exit(loop(&services));
}
