/*
 * A resolver for tests, loaded into halter-services in place of the C library's: names below .test
 * lead where a test wants them to, the others where they always do.
 *
 *   loop.test    127.0.0.1                  stall.test   nowhere, after 30 seconds
 *   second.test  127.0.0.2, then 127.0.0.1  mapped.test  ::ffff:127.0.0.1
 *   rebind.test  127.0.0.1 the first time, 127.0.0.2 from then on
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int answer(int (*real)(const char *, const char *, const struct addrinfo *,
                              struct addrinfo **),
                  const char *address, const char *service, const struct addrinfo *hints,
                  struct addrinfo **out)
{
    struct addrinfo numeric = hints ? *hints : (struct addrinfo){0};
    numeric.ai_family = AF_UNSPEC;
    numeric.ai_flags = AI_NUMERICHOST;
    return real(address, service, &numeric, out);
}

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
    static atomic_int rebound;
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name)
        return real(name, service, hints, out);
    if (strcmp(name, "loop.test") == 0)
        return answer(real, "127.0.0.1", service, hints, out);
    if (strcmp(name, "mapped.test") == 0)
        return answer(real, "::ffff:127.0.0.1", service, hints, out);
    if (strcmp(name, "rebind.test") == 0)
        return answer(real, atomic_fetch_add(&rebound, 1) ? "127.0.0.2" : "127.0.0.1", service,
                      hints, out);
    if (strcmp(name, "second.test") == 0) {
        int fault = answer(real, "127.0.0.2", service, hints, out);
        return fault ? fault : answer(real, "127.0.0.1", service, hints, &(*out)->ai_next);
    }
    if (strcmp(name, "stall.test") == 0) {
        sleep(30);
        return EAI_AGAIN;
    }
    return real(name, service, hints, out);
}
