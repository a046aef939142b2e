/*
 * The descriptors that a host passes, as handles that a plugin holds without ever seeing a number.
 *
 * The host opens a fresh description for each grant and decides what it may do; here it is read,
 * written, measured, listed and closed. Nothing can be opened through it: the kernel refuses that.
 * A handle that the plugin forgets is closed when the collector finds it.
 */
#include "helper/js/js.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_MOST  (1u << 30) /* bytes that one read may bring */
#define READ_FIRST 65536

struct file {
    int fd;      /* -1: closed */
    bool stream; /* a pipe or socket: it has no positions */
    uint64_t at;
};

static void file_close(struct file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    if (js_engine)
        js_engine->open_files--;
}

static void file_finalize(JSObjectRef object)
{
    struct file *file = JSObjectGetPrivate(object);
    if (file)
        file_close(file);
    free(file);
}

static JSClassRef file_class(void)
{
    static JSClassRef class;
    if (!class) {
        JSClassDefinition definition = kJSClassDefinitionEmpty;
        definition.className = "HostFileHandle";
        definition.attributes = kJSClassAttributeNoAutomaticPrototype;
        definition.finalize = file_finalize;
        class = JSClassCreate(&definition);
    }
    return class;
}

JSValueRef js_files_make(struct engine *engine, const int *fds, unsigned nfds)
{
    if (nfds == 0)
        return JSValueMakeUndefined(engine->context);
    JSValueRef handles[WIRE_MAX_FDS];
    for (unsigned i = 0; i < nfds; i++) {
        struct file *file = malloc(sizeof(*file));
        if (!file || engine->open_files >= engine->max_files) {
            /* Refused where it is used: the plugin finds a file that says it is closed. */
            close(fds[i]);
            free(file);
            file = NULL;
        } else {
            *file = (struct file){.fd = fds[i]};
            file->stream = lseek(fds[i], 0, SEEK_CUR) < 0 && errno == ESPIPE;
            engine->open_files++;
        }
        handles[i] = JSObjectMake(engine->context, file_class(), file);
    }
    return JSObjectMakeArray(engine->context, nfds, handles, NULL);
}

/* ---- operations ----------------------------------------------------------------------------- */

#define NATIVE(name)                                                                               \
    static JSValueRef name(JSContextRef context, JSObjectRef callee, JSObjectRef self,             \
                           size_t count, const JSValueRef arguments[], JSValueRef *exception)
#define UNUSED_NATIVE (void)callee, (void)self

static JSValueRef failed(JSContextRef context, const char *doing, int error, JSValueRef *exception)
{
    char message[128];
    snprintf(message, sizeof(message), "%s: %s", doing, strerror(error));
    return js_throw(context, "HostError", message, exception);
}

/* The open file that the first argument is; NULL with an exception when there is none. */
static struct file *open_file(JSContextRef context, size_t count, const JSValueRef arguments[],
                              JSValueRef *exception)
{
    struct file *file = NULL;
    if (count && JSValueIsObjectOfClass(context, arguments[0], file_class()))
        file = JSObjectGetPrivate((JSObjectRef)arguments[0]);
    if (file && file->fd >= 0)
        return file;
    js_throw(context, "HostError",
             file ? "the file is closed" : "too many files are open: close some", exception);
    return NULL;
}

static ssize_t read_some(struct file *file, char *to, size_t most)
{
    ssize_t got;
    do
        got = file->stream ? read(file->fd, to, most) : pread(file->fd, to, most, (off_t)file->at);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        file->at += (size_t)got;
    return got;
}

static void free_bytes(void *bytes, void *unused)
{
    (void)unused;
    free(bytes);
}

/* fileRead(handle, most or -1): a Uint8Array, empty at the end. */
NATIVE(file_read)
{
    UNUSED_NATIVE;
    struct file *file = open_file(context, count, arguments, exception);
    if (!file)
        return JSValueMakeUndefined(context);
    double asked = count > 1 ? JSValueToNumber(context, arguments[1], NULL) : -1;
    size_t most = asked >= 0 && asked < READ_MOST ? (size_t)asked : READ_MOST;
    struct js_buffer buffer = {0};
    while (buffer.length < most) {
        size_t room = most - buffer.length,
               step = buffer.length < READ_FIRST ? READ_FIRST : buffer.length;
        if (!js_buffer_reserve(&buffer, room < step ? room : step)) {
            js_buffer_finish(&buffer);
            return js_throw(context, "RangeError", "no memory for what was read", exception);
        }
        size_t space = buffer.capacity - buffer.length;
        ssize_t got = read_some(file, buffer.bytes + buffer.length, space < room ? space : room);
        if (got < 0) {
            js_buffer_finish(&buffer);
            return failed(context, "read", errno, exception);
        }
        buffer.length += (size_t)got;
        if (got == 0 || (file->stream && asked >= 0))
            break;
    }
    if (!buffer.bytes && !js_buffer_reserve(&buffer, 1))
        return js_throw(context, "RangeError", "no memory for what was read", exception);
    return JSObjectMakeTypedArrayWithBytesNoCopy(context, kJSTypedArrayTypeUint8Array, buffer.bytes,
                                                 buffer.length, free_bytes, NULL, exception);
}

/* fileWrite(handle, bytes): how many were written, which is all of them. */
NATIVE(file_write)
{
    UNUSED_NATIVE;
    struct file *file = open_file(context, count, arguments, exception);
    if (!file)
        return JSValueMakeUndefined(context);
    JSObjectRef view = count > 1 ? JSValueToObject(context, arguments[1], exception) : NULL;
    if (!view || JSValueGetTypedArrayType(context, view, NULL) != kJSTypedArrayTypeUint8Array)
        return js_throw(context, "TypeError", "write takes text or bytes", exception);
    const char *bytes = JSObjectGetTypedArrayBytesPtr(context, view, NULL);
    bytes += JSObjectGetTypedArrayByteOffset(context, view, NULL);
    size_t length = JSObjectGetTypedArrayByteLength(context, view, NULL), done = 0;
    while (done < length) {
        ssize_t put = file->stream ? write(file->fd, bytes + done, length - done)
                                   : pwrite(file->fd, bytes + done, length - done, (off_t)file->at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return failed(context, "write", errno, exception);
        done += (size_t)put;
        file->at += (size_t)put;
    }
    return JSValueMakeNumber(context, (double)done);
}

/* The call itself: glibc's fstat() is newfstatat(), which also takes paths and is refused here. */
static int stat_of(int fd, struct stat *status)
{
    return (int)syscall(SYS_fstat, fd, status);
}

/* fileSize(handle): in bytes. */
NATIVE(file_size)
{
    UNUSED_NATIVE;
    struct file *file = open_file(context, count, arguments, exception);
    struct stat status;
    if (!file)
        return JSValueMakeUndefined(context);
    if (stat_of(file->fd, &status) < 0)
        return failed(context, "size", errno, exception);
    return JSValueMakeNumber(context, (double)status.st_size);
}

/* fileSeek(handle, position): where the next read or write begins. */
NATIVE(file_seek)
{
    UNUSED_NATIVE;
    struct file *file = open_file(context, count, arguments, exception);
    if (!file)
        return JSValueMakeUndefined(context);
    double at = count > 1 ? JSValueToNumber(context, arguments[1], NULL) : -1;
    if (file->stream || !(at >= 0 && at < 9007199254740992.0))
        return js_throw(context, "RangeError", "no such position", exception);
    file->at = (uint64_t)at;
    return JSValueMakeUndefined(context);
}

/* fileClose(handle): closing twice is fine. */
NATIVE(file_close_native)
{
    UNUSED_NATIVE;
    (void)exception;
    if (count && JSValueIsObjectOfClass(context, arguments[0], file_class())) {
        struct file *file = JSObjectGetPrivate((JSObjectRef)arguments[0]);
        if (file)
            file_close(file);
    }
    return JSValueMakeUndefined(context);
}

static const char *kind_of(unsigned char type)
{
    switch (type) {
    case DT_REG:
        return "file";
    case DT_DIR:
        return "directory";
    case DT_LNK:
        return "link";
    default:
        return "other";
    }
}

/* Calls add(name, kind) for each entry of a block. */
static bool list_block(JSContextRef context, JSObjectRef add, const char *block, size_t length,
                       JSValueRef *exception)
{
    for (size_t at = 0; at < length;) {
        struct dirent64 *entry = (struct dirent64 *)(uintptr_t)(block + at);
        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char *kind = kind_of(entry->d_type);
        JSStringRef name = js_text_decode(entry->d_name, strlen(entry->d_name));
        JSValueRef given[] = {JSValueMakeString(context, name),
                              js_value_text(context, kind, strlen(kind))};
        JSStringRelease(name);
        JSObjectCallAsFunction(context, add, NULL, 2, given, exception);
        if (*exception)
            return false;
    }
    return true;
}

/* fileList(handle, add): the entries of a passed directory. */
NATIVE(file_list)
{
    UNUSED_NATIVE;
    struct file *file = open_file(context, count, arguments, exception);
    JSObjectRef add = count > 1 ? JSValueToObject(context, arguments[1], exception) : NULL;
    if (!file || !add)
        return JSValueMakeUndefined(context);
    _Alignas(struct dirent64) char block[32768];
    if (lseek(file->fd, 0, SEEK_SET) < 0)
        return failed(context, "list", ENOTDIR, exception);
    for (;;) {
        long got = syscall(SYS_getdents64, file->fd, block, sizeof(block));
        if (got < 0)
            return failed(context, "list", errno, exception);
        if (got == 0 || !list_block(context, add, block, (size_t)got, exception))
            return JSValueMakeUndefined(context);
    }
}

void js_files_register(JSContextRef context, JSObjectRef natives)
{
    js_set_function(context, natives, "fileRead", file_read);
    js_set_function(context, natives, "fileWrite", file_write);
    js_set_function(context, natives, "fileSize", file_size);
    js_set_function(context, natives, "fileSeek", file_seek);
    js_set_function(context, natives, "fileClose", file_close_native);
    js_set_function(context, natives, "fileList", file_list);
}
