/*
 * libFuzzer: URLs, patterns, ranges, grants and manifests. The first byte says which. Beside not
 * crashing: what is written is read as the same again, and curl sees the host that was decided
 * about.
 */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/grants.h"
#include "host/policy_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_url(const char *text, size_t length)
{
    static char written[POLICY_URL_TEXT], again[POLICY_URL_TEXT];
    struct policy_url url, second;
    char *host = NULL, *port = NULL;
    if (policy_url_parse(text, length, &url))
        return;
    size_t n = policy_url_write(&url, written);
    if (n <= POLICY_URL_BYTES) {
        must(!policy_url_parse(written, n, &second));
        must(policy_url_same_origin(&url, &second));
        policy_url_write(&second, again);
        must(strcmp(written, again) == 0);
    }
    CURLU *handle = curl_url();
    must(curl_url_set(handle, CURLUPART_URL, written, 0) == CURLUE_OK);
    must(curl_url_get(handle, CURLUPART_HOST, &host, 0) == CURLUE_OK);
    must(curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK);
    size_t bracket = host[0] == '[';
    must(strncmp(host + bracket, url.host, strlen(url.host)) == 0);
    must(strlen(host) == strlen(url.host) + 2 * bracket && atoi(port) == url.port);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(handle);
}

static void check_pattern(const char *text, size_t length)
{
    struct policy_pattern pattern, second;
    char printed[POLICY_PATTERN_TEXT], again[POLICY_PATTERN_TEXT];
    if (policy_pattern_parse(text, length, &pattern))
        return;
    size_t n = policy_pattern_print(&pattern, printed);
    must(!policy_pattern_parse(printed, n, &second));
    policy_pattern_print(&second, again);
    must(strcmp(printed, again) == 0);
    must(policy_pattern_intersect(&pattern, &second, &second));
}

static void check_range(const char *text, size_t length)
{
    struct wire_range range, second;
    char printed[WIRE_RANGE_TEXT];
    if (!wire_range_parse(text, length, &range))
        return;
    size_t n = wire_range_print(&range, printed);
    must(wire_range_parse(printed, n, &second));
    must(wire_range_within(&range, &second) && wire_range_within(&second, &range));
}

static void ignore(const struct permit_line *line, void *data)
{
    (void)line;
    (void)data;
}

/* A manifest, a NUL, and a grant. */
static void check_manifest(const char *text, size_t length)
{
    struct manifest manifest;
    struct manifest_fault fault;
    struct grants grants = {0};
    struct permit permit;
    char why[GRANTS_FAULT];
    size_t end = strnlen(text, length);
    if (end < length)
        grants_add(&grants, text + end + 1, why); /* `text` is terminated */
    if (manifest_parse(text, end, &manifest, &fault)) {
        if (permit_make(&manifest, &grants, &permit, why)) {
            free(permit_capabilities(&permit));
            permit_finish(&permit);
        }
        permit_explain(&manifest, &grants, ignore, NULL);
        manifest_finish(&manifest);
    }
    grants_add_file(&grants, text, end, "p", &fault);
    grants_finish(&grants);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 4) {
    case 0:
        check_url(text, size - 1);
        break;
    case 1:
        check_pattern(text, size - 1);
        break;
    case 2:
        check_range(text, size - 1);
        break;
    case 3:
        check_manifest(text, size - 1);
        break;
    }
    free(text);
    return 0;
}
