/*
 * Request text from outside, against what must hold whatever it is: a path that is taken has no way
 * up and no hidden name, a range lies within the file.
 */
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_path(const char *text)
{
    char out[256];
    if (!request_path(text, out, sizeof out))
        return;
    size_t length = strnlen(out, sizeof out);
    if (length == sizeof out || out[0] == '/' || out[0] == '.' || strstr(out, "//") ||
        strstr(out, "/.") || strchr(out, '\\'))
        abort();
}

static void check_range(const char *text, uint64_t size)
{
    uint64_t first = 0, length = 0;
    if (request_range(text, size, &first, &length) == RANGE_PART &&
        (length == 0 || first >= size || length > size - first))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t size = 0;
    time_t when;
    size_t head = bytes < sizeof size ? bytes : sizeof size;
    memcpy(&size, data, head);
    char *text = strndup((const char *)data + head, bytes - head);
    if (!text)
        return 0;
    check_path(text);
    check_range(text, size);
    check_range(text, size & 0xff);
    request_etag_listed(text, "\"1-2-3.4\"", size & 1);
    if (request_date(text, &when)) {
        char printed[40];
        request_print_date(printed, when);
    }
    if (request_host_is_loopback(text) && strchr(text, '@'))
        abort();
    free(text);
    return 0;
}
