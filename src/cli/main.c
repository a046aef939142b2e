/*
 * `halter VERB …`: finds the verb and hands over. Everything else is the verb's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/verbs.h"
#include "halter/halter.h"

static const struct verb *const verbs[] = {
    &run_verb,
    &boot_verb,
    &image_verb,
    &serve_verb,
    &check_verb,
    &top_verb,
    &bench_verb,
    &doctor_verb,
};
#define VERBS (sizeof verbs / sizeof *verbs)

static void print_help(void)
{
    puts("Usage: halter VERB [OPTION…]\n\n"
         "Runs plugins that you do not trust, or cannot wait for.\n\nVerbs:");
    for (size_t i = 0; i < VERBS; i++)
        printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    puts("\nhalter VERB --help tells about one of them; halter --version the version.\n"
         "halter(1) is the manual.");
}

static const struct verb *find_verb(const char *word)
{
    const char *names[VERBS + 2] = {"help"};
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp(verbs[i]->name, word) == 0)
            return verbs[i];
        names[i + 1] = verbs[i]->name;
    }
    const char *nearest = nearest_word(word, names);
    if (nearest)
        say("there is no verb \"%s\"; did you mean \"%s\"?", word, nearest);
    else
        say("there is no verb \"%s\"; halter --help lists them", word);
    return NULL;
}

/*
 * A standard descriptor that is closed would be given to the next file that is opened, and results
 * would go there. It gets a /dev/null that cannot be used the way it should be: an error, not a
 * silent loss.
 */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* What was printed has to have arrived: a full disk is not found out before the last of it. */
static int check_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    say("<stdout>: %s", errno ? strerror(errno) : "not all of it could be written");
    return status == EXIT_OK ? EXIT_IO : status;
}

static int obey(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("halter %s\n", halter_version());
        return EXIT_OK;
    }
    bool help = strcmp(word, "help") == 0;
    if (argc < 2 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
        print_help();
        return argc < 2 ? EXIT_USAGE : EXIT_OK;
    }
    const struct verb *verb = find_verb(help ? argv[2] : word);
    if (!verb)
        return EXIT_USAGE;
    if (help) {
        options_help(verb);
        return EXIT_OK;
    }
    static char speaker[64];
    snprintf(speaker, sizeof speaker, "halter %s", verb->name);
    say_as(speaker);
    return verb->main(verb, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write(), not our end */
    return check_output(obey(argc, argv));
}
