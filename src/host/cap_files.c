/*
 * host.open(path, mode) and host.list(path), below the trees that were granted. The host opens,
 * with openat2 and RESOLVE_BENEATH, so that neither ".." nor a symbolic link leads out of a tree,
 * and passes a description of its own: the guest's offset and mode are nobody else's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/caps.h"
#include "host/internal.h"
#include "wire/json_write.h"

#define PATH_BYTES  4096
#define MAX_ENTRIES 2000 /* each costs a look at it, in the dispatch */

/* "r": read. "r+": read and write what is there. "w": made or emptied. "x": made anew. */
static const struct {
    const char *name;
    int flags;
} modes[] = {
    {"r", O_RDONLY},
    {"r+", O_RDWR},
    {"w", O_RDWR | O_CREAT | O_TRUNC},
    {"x", O_RDWR | O_CREAT | O_EXCL},
};

/* The tree that a path lies in, the longest one where there are several; *rest is what follows. */
static const struct permit_tree *find_tree(const struct permit *permit, const char *path,
                                           const char **rest)
{
    const struct permit_tree *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < permit->ntrees; i++) {
        const char *tree = permit->trees[i].path;
        size_t length = strcmp(tree, "/") == 0 ? 0 : strlen(tree);
        if (strncmp(path, tree, length) != 0 || (path[length] && path[length] != '/'))
            continue;
        if (best && length <= best_length)
            continue;
        best = &permit->trees[i];
        best_length = length;
    }
    if (best) {
        *rest = path + best_length;
        *rest += strspn(*rest, "/");
    }
    return best;
}

/* Opens what lies at `rest` in a tree. -1 with errno. */
static int open_beneath(const struct permit_tree *tree, const char *rest, int flags)
{
    flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK);
    struct open_how how = {.flags = (uint64_t)flags,
                           .mode = flags & O_CREAT ? 0644 : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (!*rest)
        return open(tree->folder, flags, 0644);
    int folder = open(tree->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, folder, rest, &how, sizeof(how));
    int saved = errno;
    close(folder);
    errno = saved;
    return fd;
}

/* Opening a device or a pipe can do things of its own: what is there is looked at first. */
static bool is_safe(const struct permit_tree *tree, const char *rest)
{
    struct stat status;
    int fd = open_beneath(tree, rest, O_PATH);
    if (fd < 0)
        return errno == ENOENT; /* it may be made */
    bool ok = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    close(fd);
    if (!ok)
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return ok;
}

static int open_file(const struct permit_tree *tree, const char *rest, int flags)
{
    struct stat status;
    if (!is_safe(tree, rest))
        return -1;
    int fd = open_beneath(tree, rest, flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static const char *explain(int error)
{
    return error == EOVERFLOW ? "a folder with more than 2000 entries"
           : error == EXDEV   ? "leads out of the tree"
           : error == ELOOP   ? "leads through a forbidden link"
                              : strerror(error);
}

static int find_mode(struct json_value mode)
{
    char *name = mode.type == JSON_NULL ? strdup("r") : caps_text(mode, 8);
    int found = -1;
    for (size_t i = 0; name && i < sizeof(modes) / sizeof(*modes); i++)
        if (strcmp(modes[i].name, name) == 0)
            found = modes[i].flags;
    free(name);
    return found;
}

/* The script's object has the path as its `info`. */
static void pass_file(struct halter_request *request, const char *path, int fd)
{
    struct json_writer info;
    json_writer_init(&info);
    json_write(&info, "{\"path\":");
    json_write_string(&info, path, strlen(path));
    json_write(&info, "}");
    int status = json_write_end(&info) ? halter_answer_fds(request, info.text, info.length, &fd, 1)
                                       : HALTER_ENOMEM;
    if (status)
        caps_fail(request, "%s: the file cannot be passed: %s", path, halter_strerror(status));
    json_writer_finish(&info);
    close(fd);
}

void cap_open(struct halter_guest *guest, struct halter_request *request, const char *args,
              size_t bytes, void *data)
{
    int flags = find_mode(caps_argument(args, bytes, 1)), fd;
    char *path = caps_text(caps_argument(args, bytes, 0), PATH_BYTES);
    const char *rest;
    const struct permit_tree *tree = path ? find_tree(&guest->permit, path, &rest) : NULL;
    (void)data;
    if (!path || flags < 0) {
        caps_fail(request, !path ? "open(path, mode): the path is no string"
                                 : "open(path, mode): a mode is \"r\", \"r+\", \"w\" or \"x\"");
    } else if (!tree) {
        caps_deny(request, path, "it lies in no tree that was granted");
    } else if (flags != O_RDONLY && !tree->write) {
        caps_deny(request, path, "its tree is granted for reading only");
    } else if ((fd = open_file(tree, rest, flags)) < 0) {
        if (errno == EXDEV || errno == ELOOP)
            caps_deny(request, path, explain(errno));
        else
            caps_fail(request, "%s: %s", path, explain(errno));
    } else {
        caps_audit(request, true, path, flags == O_RDONLY ? "for reading" : "for writing");
        pass_file(request, path, fd);
    }
    free(path);
}

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "link" : "other";
}

/* The entries as JSON. False with errno. */
static bool write_entries(struct json_writer *out, int folder)
{
    DIR *entries = fdopendir(folder);
    struct dirent *entry;
    struct stat status;
    unsigned count = 0;
    if (!entries) {
        close(folder);
        return false;
    }
    json_write(out, "[");
    while ((entry = readdir(entries)) && count < MAX_ENTRIES) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        json_write(out, count++ ? ",{\"name\":" : "{\"name\":");
        json_write_string(out, entry->d_name, strlen(entry->d_name));
        json_write(out, ",\"type\":\"");
        json_write(out, type_name(status.st_mode));
        json_write(out, "\",\"size\":");
        json_write_integer(out, S_ISREG(status.st_mode) ? (int64_t)status.st_size : 0);
        json_write(out, "}");
    }
    json_write(out, "]");
    closedir(entries);
    errno = EOVERFLOW;
    return count < MAX_ENTRIES;
}

void cap_list(struct halter_guest *guest, struct halter_request *request, const char *args,
              size_t bytes, void *data)
{
    char *path = caps_text(caps_argument(args, bytes, 0), PATH_BYTES);
    const char *rest;
    const struct permit_tree *tree = path ? find_tree(&guest->permit, path, &rest) : NULL;
    struct json_writer out;
    int folder;
    (void)data;
    json_writer_init(&out);
    if (!path)
        caps_fail(request, "list(path): the path is no string");
    else if (!tree)
        caps_deny(request, path, "it lies in no tree that was granted");
    else if ((folder = open_beneath(tree, rest, O_RDONLY | O_DIRECTORY)) < 0 &&
             (errno == EXDEV || errno == ELOOP))
        caps_deny(request, path, explain(errno));
    else if (folder < 0 || !write_entries(&out, folder))
        caps_fail(request, "%s: %s", path, explain(errno));
    else if (!json_write_end(&out))
        caps_fail(request, "%s: out of memory", path);
    else {
        caps_audit(request, true, path, "listed");
        struct services_answer answer = {0, out.text, out.length};
        caps_pass(request, &answer);
    }
    json_writer_finish(&out);
    free(path);
}
