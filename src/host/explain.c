/*
 * Says, permission by permission, what of a manifest holds under some grants and what would make
 * the rest hold. For people; the decision itself is permit.c's, which this asks rather than
 * repeats: each line is decided by making the permit of that one permission alone.
 */
#include "host/grants.h"
#include "host/policy_address.h"

#include <stdio.h>
#include <string.h>

struct explaining {
    const struct grants *grants;
    permit_line_fn fn;
    void *data;
};

static void say(const struct explaining *to, enum permit_verdict verdict, const char *scope,
                const char *asked, const char *holds, const char *reason, const char *advice)
{
    struct permit_line line = {verdict, scope, asked, holds, reason ? reason : "", advice};
    to->fn(&line, to->data);
}

/* The permit of a manifest that asks for one thing. Empty without memory. */
static void permit_of(const struct explaining *to, const struct manifest *one,
                      struct permit *permit)
{
    char fault[GRANTS_FAULT];
    if (!permit_make(one, to->grants, permit, fault))
        memset(permit, 0, sizeof *permit);
}

static const char *broad(const struct policy_pattern *pattern)
{
    if (pattern->kind == POLICY_HOST_ANY)
        return "any host in the world: it can send anything it is given anywhere";
    if (pattern->kind == POLICY_HOST_BELOW && !strchr(pattern->host, '.'))
        return "every name below a top-level domain";
    if (pattern->port == POLICY_PORT_ANY)
        return "any port: not only web servers listen";
    if (pattern->schemes & POLICY_HTTP)
        return "without encryption: others can read and change what is sent";
    return "";
}

static void explain_host(const struct explaining *to, const struct manifest *manifest, size_t i)
{
    struct policy_pattern *pattern = &manifest->network.patterns[i];
    struct manifest one = {.network = {.fetch = true, .patterns = pattern, .npatterns = 1}};
    struct permit permit;
    char asked[POLICY_PATTERN_TEXT], advice[POLICY_PATTERN_TEXT + 24], holds[1024] = "";
    bool whole = false;
    permit_of(to, &one, &permit);
    policy_pattern_print(pattern, asked);
    for (size_t p = 0, at = 0; p < permit.npatterns && at < sizeof holds; p++) {
        char text[POLICY_PATTERN_TEXT];
        policy_pattern_print(&permit.patterns[p], text);
        whole |= strcmp(text, asked) == 0;
        at += (size_t)snprintf(holds + at, sizeof holds - at, "%s%s", p ? ", " : "", text);
    }
    snprintf(advice, sizeof advice, "--grant network:%s", asked);
    say(to,
        whole              ? PERMIT_YES
        : permit.npatterns ? PERMIT_PARTLY
                           : PERMIT_NO,
        "network", asked, holds, manifest->network.reason, whole ? broad(pattern) : advice);
    permit_finish(&permit);
}

static void explain_range(const struct explaining *to, const struct manifest *manifest, size_t i)
{
    struct wire_range *range = &manifest->network.ranges[i];
    struct manifest one = {.network = {.fetch = true, .ranges = range, .nranges = 1}};
    struct permit permit;
    char asked[WIRE_RANGE_TEXT], holds[WIRE_RANGE_TEXT] = "", advice[WIRE_RANGE_TEXT + 24];
    permit_of(to, &one, &permit);
    wire_range_print(range, asked);
    if (permit.nranges)
        wire_range_print(&permit.ranges[0], holds);
    bool whole = strcmp(holds, asked) == 0;
    snprintf(advice, sizeof advice, "--grant network:%s%s", asked, strchr(asked, '/') ? "" : "/32");
    if (strchr(asked, ':') && !strchr(asked, '/'))
        snprintf(advice, sizeof advice, "--grant network:%s/128", asked);
    const char *what = policy_address_special(&range->base);
    say(to,
        whole            ? PERMIT_YES
        : permit.nranges ? PERMIT_PARTLY
                         : PERMIT_NO,
        "network", asked, holds, manifest->network.reason,
        !whole ? advice
        : what ? what
               : "public in any case");
    permit_finish(&permit);
}

static void explain_state(const struct explaining *to, const struct manifest *manifest)
{
    struct manifest one = {.state = manifest->state};
    struct permit permit;
    char advice[32];
    permit_of(to, &one, &permit);
    bool whole = permit.state == manifest->state;
    snprintf(advice, sizeof advice, "--grant state:%s", manifest_access_name(manifest->state));
    say(to,
        whole          ? PERMIT_YES
        : permit.state ? PERMIT_PARTLY
                       : PERMIT_NO,
        "state", manifest_access_name(manifest->state), manifest_access_name(permit.state),
        manifest->state_reason, whole ? "" : advice);
    permit_finish(&permit);
}

static void explain_tree(const struct explaining *to, const struct manifest *manifest, size_t i)
{
    struct manifest_tree *tree = &manifest->trees[i];
    struct manifest one = {.trees = tree, .ntrees = 1};
    struct permit permit;
    char asked[1100], holds[2300] = "", advice[2300];
    bool wants = tree->mode == MANIFEST_READWRITE, whole = false;
    permit_of(to, &one, &permit);
    snprintf(asked, sizeof asked, "%s (%s)", tree->path, manifest_access_name(tree->mode));
    for (size_t t = 0, at = 0; t < permit.ntrees && at < sizeof holds; t++) {
        whole |= permit.trees[t].write == wants;
        at +=
            (size_t)snprintf(holds + at, sizeof holds - at, "%s%s (%s)", t ? ", " : "",
                             permit.trees[t].folder, permit.trees[t].write ? "readwrite" : "read");
    }
    snprintf(advice, sizeof advice, "--grant files:%s:%s%s", tree->path,
             manifest_access_name(tree->mode), tree->path[0] == '/' ? "" : "=/FOLDER");
    say(to,
        whole           ? PERMIT_YES
        : permit.ntrees ? PERMIT_PARTLY
                        : PERMIT_NO,
        "files", asked, holds, tree->reason, whole ? "" : advice);
    permit_finish(&permit);
}

static void explain_scope(const struct explaining *to, const struct manifest *manifest, size_t i)
{
    struct manifest one = {.scopes = &manifest->scopes[i], .nscopes = 1};
    struct permit permit;
    char advice[160];
    permit_of(to, &one, &permit);
    snprintf(advice, sizeof advice, "--grant %s", manifest->scopes[i].name);
    say(to, permit.nscopes ? PERMIT_YES : PERMIT_NO, "application", manifest->scopes[i].name, "",
        manifest->scopes[i].reason, permit.nscopes ? "" : advice);
    permit_finish(&permit);
}

/* A grant that meets nothing in the manifest is probably a mistake. */
static void explain_unasked(const struct explaining *to, const struct manifest *manifest,
                            const struct grant *grant)
{
    struct grants one = {.items = (struct grant *)grant, .count = 1};
    struct permit permit;
    char fault[GRANTS_FAULT], text[POLICY_PATTERN_TEXT] = "";
    const char *what = grant->name ? grant->name : text;
    if (!permit_make(manifest, &one, &permit, fault))
        return;
    bool met =
        permit.npatterns || permit.nranges || permit.state || permit.ntrees || permit.nscopes;
    permit_finish(&permit);
    if (met || grant->kind == GRANT_LOG || grant->kind == GRANT_ALL)
        return;
    if (grant->kind == GRANT_HOST)
        policy_pattern_print(&grant->pattern, text);
    else if (grant->kind == GRANT_RANGE)
        wire_range_print(&grant->range, text);
    else if (grant->kind == GRANT_STATE)
        what = manifest_access_name(grant->level);
    say(to, PERMIT_UNASKED,
        grant->kind == GRANT_STATE   ? "state"
        : grant->kind == GRANT_FILES ? "files"
        : grant->kind == GRANT_SCOPE ? "application"
                                     : "network",
        what, "", "", "granted, but the plugin does not ask for it");
}

void permit_explain(const struct manifest *manifest, const struct grants *grants, permit_line_fn fn,
                    void *data)
{
    const struct explaining to = {grants, fn, data};
    for (size_t i = 0; manifest->network.fetch && i < manifest->network.npatterns; i++)
        explain_host(&to, manifest, i);
    for (size_t i = 0; manifest->network.fetch && i < manifest->network.nranges; i++)
        explain_range(&to, manifest, i);
    if (manifest->state)
        explain_state(&to, manifest);
    for (size_t i = 0; i < manifest->ntrees; i++)
        explain_tree(&to, manifest, i);
    for (size_t i = 0; i < manifest->nscopes; i++)
        explain_scope(&to, manifest, i);
    for (size_t i = 0; i < grants->count; i++)
        explain_unasked(&to, manifest, &grants->items[i]);
}
