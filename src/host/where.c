/*
 * What a host finds out about its surroundings: where the launcher is, which language people speak
 * here, and which time zone it is. A helper has no file system and no environment to ask.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/internal.h"

#define LAUNCHER "halter-launcher"

static char *if_executable(const char *directory, size_t length)
{
    char *path;
    if (asprintf(&path, "%.*s/" LAUNCHER, (int)length, directory) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *beside(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? if_executable(file, (size_t)(slash - file)) : NULL;
}

char *where_launcher(const char *given)
{
    if (!given)
        given = secure_getenv("HALTER_LAUNCHER");
    if (given) {
        if (access(given, X_OK) < 0)
            return NULL;
        char *copy = strdup(given);
        if (!copy)
            errno = ENOMEM;
        return copy;
    }
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *found = NULL;
    if (n > 0) {
        program[n] = '\0';
        found = beside(program);
    }
    Dl_info library;
    if (!found && dladdr((void *)(uintptr_t)halter_version, &library))
        found = beside(library.dli_fname);
    if (!found)
        found = if_executable(HALTER_LIBEXECDIR, strlen(HALTER_LIBEXECDIR));
    if (!found && errno != ENOMEM)
        errno = ENOENT;
    return found;
}

char *where_locale(const char *given)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (unsigned i = 0; !given && i < sizeof(variables) / sizeof(*variables); i++) {
        given = getenv(variables[i]);
        if (given && !*given)
            given = NULL;
    }
    /* "de_AT.UTF-8@euro" is de-AT; "C" and "POSIX" are no language at all. */
    size_t length = given ? strcspn(given, ".@") : 0;
    if (!length || length > 64 || (length == 1 && *given == 'C') ||
        (length == 5 && memcmp(given, "POSIX", 5) == 0))
        return strdup("en-US");
    char *locale = strndup(given, length);
    for (char *at = locale; at && *at; at++)
        if (*at == '_')
            *at = '-';
    return locale;
}

void where_time_zone(const char *given, char *out, size_t capacity)
{
    static const char marker[] = "/zoneinfo/";
    char link[PATH_MAX];

    out[0] = '\0';
    if (!given)
        given = getenv("TZ");
    if (given && *given == ':')
        given++;
    if (!given) {
        ssize_t n = readlink("/etc/localtime", link, sizeof(link) - 1);
        if (n <= 0)
            return;
        link[n] = '\0';
        char *at = strstr(link, marker);
        if (!at)
            return;
        given = at + strlen(marker);
    }
    if (*given && strlen(given) + 4 <= capacity)
        snprintf(out, capacity, "TZ=%s", given);
}

char *where_absolute(const char *path)
{
    char folder[PATH_MAX], *absolute;
    if (path[0] == '/')
        return strdup(path);
    if (!getcwd(folder, sizeof(folder)))
        return NULL;
    return asprintf(&absolute, "%s/%s", folder, path) < 0 ? NULL : absolute;
}
