/* Finds plugins, their manifests and their grants: see plugin.h. */
#include "cli/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"
#include "wire/json.h"

/* A whole file, ended by NUL; NULL when it cannot be read (said) or is larger than 1 MiB. */
static char *read_small(const char *path, size_t *bytes)
{
    char *text = malloc(MANIFEST_MAX_BYTES + 2);
    FILE *file = fopen(path, "re");
    if (!text)
        die_without_memory();
    *bytes = file ? fread(text, 1, MANIFEST_MAX_BYTES + 1, file) : 0;
    bool ok = file && !ferror(file) && *bytes <= MANIFEST_MAX_BYTES;
    if (!ok)
        say("%s: %s", path, file && !ferror(file) ? "larger than 1 MiB" : strerror(errno));
    if (file)
        fclose(file);
    text[*bytes] = '\0';
    if (ok)
        return text;
    free(text);
    return NULL;
}

static char *join(const char *folder, size_t length, const char *name)
{
    char *path;
    if (asprintf(&path, "%.*s%s%s", (int)length, folder, length ? "/" : "", name) < 0)
        die_without_memory();
    return path;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_manifest(const char *path)
{
    size_t length = strlen(path);
    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

static bool read_manifest(struct plugin *plugin)
{
    struct manifest_fault fault;
    plugin->manifest = read_small(plugin->manifest_path, &plugin->manifest_bytes);
    if (!plugin->manifest)
        return false;
    if (manifest_parse(plugin->manifest, plugin->manifest_bytes, &plugin->read, &fault))
        return true;
    if (fault.line)
        say("%s:%u:%u: %s", plugin->manifest_path, fault.line, fault.column, fault.text);
    else
        say("%s: %s", plugin->manifest_path, fault.text);
    return false;
}

static bool find(struct plugin *plugin, const char *operand)
{
    if (is_folder(operand)) {
        plugin->manifest_path = join(operand, strlen(operand), "plugin.json");
    } else if (is_manifest(operand)) {
        plugin->manifest_path = strdup(operand);
    } else {
        plugin->script = strdup(operand);
        return plugin->script != NULL;
    }
    if (!plugin->manifest_path || !read_manifest(plugin))
        return false;
    const char *slash = strrchr(plugin->manifest_path, '/');
    size_t length = slash ? (size_t)(slash - plugin->manifest_path) : 0;
    /* "/plugin.json" lies in the folder "/". */
    plugin->script = join(plugin->manifest_path, slash && !length ? 1 : length, plugin->read.entry);
    return true;
}

static bool add_grant(struct plugin *plugin, const char *text)
{
    struct grants grants = {0};
    char fault[GRANTS_FAULT];
    bool ok = grants_add(&grants, text, fault);
    grants_finish(&grants);
    if (!ok) {
        say("%s", fault);
        return false;
    }
    const char **grown = realloc(plugin->grants, (plugin->ngrants + 2) * sizeof *grown);
    if (!grown)
        die_without_memory();
    plugin->grants = grown;
    plugin->grants[plugin->ngrants++] = text;
    plugin->grants[plugin->ngrants] = NULL;
    return true;
}

static void add_copy(struct plugin *plugin, struct json_value element)
{
    char *copy = malloc(element.length + 1);
    char **grown = realloc(plugin->copies, (plugin->ncopies + 1) * sizeof *grown);
    if (!copy || !grown)
        die_without_memory();
    json_string(element, copy, element.length + 1);
    plugin->copies = grown;
    plugin->copies[plugin->ncopies++] = copy;
    add_grant(plugin, copy);
}

/* The lists under the plugin's name and under "*". The file was checked: it is what it should be.
 */
static void copy_grants(struct plugin *plugin, const char *text, size_t bytes, const char *name)
{
    struct json_value lists, key, list, element;
    json_member(json_root(text, bytes), "grants", &lists);
    for (size_t at = 0; json_next(lists, &at, &key, &list);) {
        char owner[72];
        json_string(key, owner, sizeof owner);
        if (strcmp(owner, name) != 0 && strcmp(owner, "*") != 0)
            continue;
        for (size_t inner = 0; json_next(list, &inner, NULL, &element);)
            add_copy(plugin, element);
    }
}

static bool add_file(struct plugin *plugin, const char *path)
{
    struct grants grants = {0};
    struct manifest_fault fault;
    size_t bytes;
    /* A bare script has no name that a file could grant to: only "*" holds. */
    const char *name = plugin->read.name ? plugin->read.name : "*";
    char *text = read_small(path, &bytes);
    if (!text)
        return false;
    bool ok = grants_add_file(&grants, text, bytes, name, &fault);
    grants_finish(&grants);
    if (ok)
        copy_grants(plugin, text, bytes, name);
    else
        say("%s:%u:%u: %s", path, fault.line, fault.column, fault.text);
    free(text);
    return ok;
}

bool grant_option(struct grant_options *options, const char *text)
{
    if (options->ntexts == sizeof options->texts / sizeof *options->texts) {
        say("more than 256 grants: put them into a file, see --grants");
        return false;
    }
    options->texts[options->ntexts++] = text;
    return true;
}

bool grants_option(struct grant_options *options, const char *path)
{
    if (options->nfiles == sizeof options->files / sizeof *options->files) {
        say("more than 16 grants files");
        return false;
    }
    options->files[options->nfiles++] = path;
    return true;
}

int plugin_open(struct plugin *plugin, const char *operand, const struct grant_options *options)
{
    memset(plugin, 0, sizeof *plugin);
    if (!find(plugin, operand))
        return EXIT_NOT_LOADED;
    for (size_t i = 0; i < options->ntexts; i++)
        if (!add_grant(plugin, options->texts[i]))
            return EXIT_USAGE;
    for (size_t i = 0; i < options->nfiles; i++)
        if (!add_file(plugin, options->files[i]))
            return EXIT_USAGE;
    return EXIT_OK;
}

void plugin_close(struct plugin *plugin)
{
    for (size_t i = 0; i < plugin->ncopies; i++)
        free(plugin->copies[i]);
    free(plugin->copies);
    free(plugin->grants);
    free(plugin->script);
    free(plugin->manifest_path);
    free(plugin->manifest);
    manifest_finish(&plugin->read);
    memset(plugin, 0, sizeof *plugin);
}
