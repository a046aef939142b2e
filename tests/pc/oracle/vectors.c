/*
 * vectors.c: see vectors.h.
 */
#include "vectors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_word(FILE *out, uint32_t before, uint32_t after)
{
    if (before == after)
        fputs(" .", out);
    else
        fprintf(out, " %" PRIx32, after);
}

void vector_write(FILE *out, const struct oracle_case *c)
{
    for (uint32_t i = 0; i < c->length; i++)
        fprintf(out, "%02x", c->code[i]);
    fprintf(out, " %" PRIx32, c->page_seed);
    for (unsigned i = 0; i < 8; i++)
        fprintf(out, " %" PRIx32, c->before.reg[i]);
    fprintf(out, " %" PRIx32 " :", c->before.eflags);
    for (unsigned i = 0; i < 8; i++)
        write_word(out, c->before.reg[i], c->after.reg[i]);
    write_word(out, c->before.eflags, c->after.eflags);
    write_word(out, c->before.eip, c->after.eip);
    fprintf(out, " %" PRIx32 " %" PRIx32 " %" PRIx32, c->after.trap, c->after.error, c->after.cr2);
    for (uint32_t i = 0; i < c->changes; i++)
        fprintf(out, " %x=%x", c->change_offset[i], c->change_value[i]);
    fputc('\n', out);
}

/* Words of one line, in turn. */
static bool read_word(char **at, uint32_t *value, uint32_t unchanged)
{
    char *word = strtok_r(NULL, " \n", at), *end;
    if (!word)
        return false;
    if (!strcmp(word, ".")) {
        *value = unchanged;
        return true;
    }
    *value = (uint32_t)strtoul(word, &end, 16);
    return *end == 0;
}

static bool read_code(const char *hex, struct oracle_case *c)
{
    memset(c->code, 0x90, sizeof c->code);
    for (c->length = 0; hex[0] && hex[1] && c->length < sizeof c->code; hex += 2) {
        char pair[3] = {hex[0], hex[1], 0};
        c->code[c->length++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return c->length && !*hex;
}

static bool read_changes(char **at, struct oracle_case *c)
{
    char *word;
    while ((word = strtok_r(NULL, " \n", at))) {
        unsigned offset, value;
        if (c->changes == ORACLE_CHANGES || sscanf(word, "%x=%x", &offset, &value) != 2)
            return false;
        c->change_offset[c->changes] = (uint16_t)offset;
        c->change_value[c->changes++] = (uint8_t)value;
    }
    return true;
}

static bool read_line(char *line, struct oracle_case *c)
{
    char *at, *code = strtok_r(line, " \n", &at), *colon;
    struct oracle_state *b = &c->before, *a = &c->after;
    memset(c, 0, sizeof *c);
    b->eip = ORACLE_START;
    bool good = code && read_code(code, c) && read_word(&at, &c->page_seed, 0);
    for (unsigned i = 0; i < 8; i++)
        good = good && read_word(&at, &b->reg[i], 0);
    good = good && read_word(&at, &b->eflags, 0);
    good = good && (colon = strtok_r(NULL, " \n", &at)) && *colon == ':';
    for (unsigned i = 0; i < 8; i++)
        good = good && read_word(&at, &a->reg[i], b->reg[i]);
    return good && read_word(&at, &a->eflags, b->eflags) && read_word(&at, &a->eip, b->eip) &&
           read_word(&at, &a->trap, 0) && read_word(&at, &a->error, 0) &&
           read_word(&at, &a->cr2, 0) && read_changes(&at, c);
}

bool vector_read(FILE *in, struct oracle_case *c)
{
    char line[1024];
    return fgets(line, sizeof line, in) && read_line(line, c);
}
