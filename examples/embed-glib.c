/*
 * The same on GLib, for an application that lives in its main loop: halter_fd() is one source, and
 * there is nothing else to it. Asks a plugin for a greeting in each of the languages given.
 *
 *   cc embed-glib.c $(pkg-config --cflags --libs halter glib-2.0) -o embed-glib
 *   ./embed-glib en de fr
 */
#include <glib-unix.h>
#include <halter/halter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char greeter[] =
    "const words = { en: 'Good morning', de: 'Guten Morgen', fr: 'Bonjour' };"
    "globalThis.transform = language => {"
    "  if (!(language in words)) throw new RangeError('no greeting in ' + language);"
    "  return words[language]; };";

struct app {
    GMainLoop *loop;
    struct halter_host *host;
    int pending, failed;
};

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct app *app = data;
    (void)fd;
    (void)condition;
    if (halter_dispatch(app->host, 0) >= 0)
        return G_SOURCE_CONTINUE;
    app->failed = 1;
    g_main_loop_quit(app->loop);
    return G_SOURCE_REMOVE;
}

static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct app *app = data;
    (void)guest;
    if (result->status == HALTER_OK) {
        printf("%s\n", result->json);
    } else {
        app->failed = 1;
        fprintf(stderr, "embed-glib: %s%s%s\n", halter_strerror(result->status),
                result->error ? ": " : "", result->error ? result->error->message : "");
    }
    if (--app->pending == 0)
        g_main_loop_quit(app->loop);
}

/* Queues one call a language; the results come in the same order. */
static int greet(struct app *app, struct halter_guest *guest, int count,
                 const char *const *languages)
{
    for (int i = 0; i < count; i++) {
        char *json = g_strdup_printf("\"%s\"", languages[i]);
        int status = halter_call(guest, json, strlen(json), NULL, on_result, app, NULL);
        g_free(json);
        if (status != HALTER_OK)
            return status;
        app->pending++;
    }
    return HALTER_OK;
}

int main(int argc, char **argv)
{
    static const char *const fallback[] = {"en", "de", "fr"};
    struct app app = {.loop = g_main_loop_new(NULL, FALSE)};
    struct halter_guest *guest = NULL;
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    options.name = "greeter";
    options.source = greeter;
    int status = halter_create(NULL, &app.host);
    if (status == HALTER_OK)
        status = halter_plugin_create(app.host, &options, &guest);
    if (status == HALTER_OK)
        status = argc > 1 ? greet(&app, guest, argc - 1, (const char *const *)argv + 1)
                          : greet(&app, guest, 3, fallback);
    if (status == HALTER_OK) {
        guint source = g_unix_fd_add(halter_fd(app.host), G_IO_IN, on_readable, &app);
        g_main_loop_run(app.loop);
        if (!app.failed)
            g_source_remove(source);
    } else {
        fprintf(stderr, "embed-glib: %s\n", halter_strerror(status));
        app.failed = 1;
    }
    halter_destroy(app.host);
    g_main_loop_unref(app.loop);
    return app.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
