/* script.h: a console used by nobody: texts to wait for, and keys to send when they are seen.
 *
 * Steps come in order. Texts are matched on the bytes of the console as they come, across lines,
 * and each search begins behind the text matched before. */
#ifndef HALTER_SCRIPT_H
#define HALTER_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_STEPS 64
#define SCRIPT_TEXT  1024

struct script_step {
    char until[SCRIPT_TEXT]; /* empty: at once */
    size_t until_length, matched;
    char send[SCRIPT_TEXT];
    size_t send_length;
    bool sends;
};

struct script {
    struct script_step step[SCRIPT_STEPS];
    unsigned count, at;
    bool ends; /* the last step waits and sends nothing: seeing its text ends the run */
};

/* Adds what the command line says, in its order. A backslash begins \n, \r, \t, \e, \\ or \xNN.
 * False when the script is too long or an escape is not one of these. */
bool script_until(struct script *script, const char *text);
bool script_send(struct script *script, const char *text);

/* The keys to send before anything is seen, or NULL. */
const struct script_step *script_start(struct script *script);

/* A byte of the console. Returns the step that it completed, or NULL. */
const struct script_step *script_see(struct script *script, uint8_t byte);

/* True once every step is done and the last one was to end the run. */
bool script_over(const struct script *script);

#endif
