/*
 * A guest that is native code and hostile: an engine whose calls are attacks on its host and on the
 * machine. It stands for a JavaScript engine that a plugin has broken.
 */
#ifndef HALTER_TESTS_JS_ATTACK_H
#define HALTER_TESTS_JS_ATTACK_H

#include "harness.h"

#include "halter/halter.h"

/* What became of an attack. */
struct attacked {
    bool died;
    int signal; /* that killed it */
    int number; /* of the system call that the trap handler wrote down, -1 for none */
    long value; /* what it returned, when it lived */
    int error;  /* errno, when that was -1 */
};

struct attack {
    const char *name;
    long (*run)(const int *fds, unsigned nfds);
};
extern const struct attack attacks[];
extern const size_t attack_count;

/* Something in the test's own memory that attacks on the parent aim at. */
extern volatile long attack_victim;
/* Ports and names that the test listens on. */
extern int attack_tcp_port;
extern char attack_abstract_name[32], attack_socket_path[96];

/* Runs an attack in a helper of its own, passing it descriptors. */
struct attacked attack(const char *name, const struct guest_options *options, const int *fds,
                       unsigned nfds);
/* A system call of this number with six zeros. */
struct attacked attack_call(long number, const struct guest_options *options);

#define BIT HALTER_LAYER_BIT
#define ALL_LANDLOCK                                                                               \
    (BIT(HALTER_LAYER_LANDLOCK_FS) | BIT(HALTER_LAYER_LANDLOCK_NET) |                              \
     BIT(HALTER_LAYER_LANDLOCK_SCOPE))
#define ALL_LAYERS 0xffffffffu

#endif
