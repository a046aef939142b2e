/*
 * The work that every side of a comparison does: a snapshot of a workspace with fifty tabs, about
 * 22 kB of JSON, turned into about as much again.
 */
#include "cli/bench.h"

#define TABS 50

/* No function of any host, and nothing that depends on the engine: all sides give the same bytes. */
const char bench_plugin[] =
    "globalThis.transform = (raw) => {\n"
    "  if (raw === 0) return 0;\n"
    "  const byHost = {};\n"
    "  const tabs = raw.tabs.map((tab, index) => {\n"
    "    const host = tab.url.split('/')[2];\n"
    "    byHost[host] = (byHost[host] || 0) + 1;\n"
    "    return {\n"
    "      id: tab.id, index, host, url: tab.url, pinned: tab.pinned,\n"
    "      label: tab.title.length > 60 ? tab.title.slice(0, 59) + '~' : tab.title,\n"
    "      working: tab.processes.filter((p) => p.cpu > 1).map((p) => p.name),\n"
    "      memory: tab.processes.reduce((sum, p) => sum + p.memory, 0),\n"
    "      lines: tab.lines.map((line) => line.trimEnd().toUpperCase()),\n"
    "    };\n"
    "  });\n"
    "  return { at: raw.at, title: `${raw.name}: ${tabs.length} tabs`, byHost, tabs };\n"
    "};\n";

static unsigned next(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static void add_words(struct buffer *out, unsigned *seed, unsigned count)
{
    static const char *const words[] = {"build", "review", "deploy", "ärger", "latency", "queue",
                                        "parser", "notes", "remote",  "shell"};
    for (unsigned i = 0; i < count; i++)
        buffer_format(out, "%s%s", i ? " " : "", words[next(seed, 10)]);
}

static void add_tab(struct buffer *out, unsigned *seed, unsigned index)
{
    buffer_format(out, "%s{\"id\":%u,\"url\":\"https://site-%u.example.org/page/%u\",\"title\":\"",
                  index ? "," : "", 1000 + index, next(seed, 9), next(seed, 100000));
    add_words(out, seed, 6);
    buffer_format(out, "\",\"pinned\":%s,\"processes\":[", next(seed, 5) ? "false" : "true");
    for (unsigned p = 0; p < 2; p++)
        buffer_format(out, "%s{\"name\":\"proc-%u\",\"cpu\":%u.%u,\"memory\":%u}", p ? "," : "",
                      next(seed, 40), next(seed, 3), next(seed, 10), next(seed, 900000));
    buffer_text(out, "],\"lines\":[");
    for (unsigned l = 0; l < 4; l++) {
        buffer_text(out, l ? ",\"" : "\"");
        add_words(out, seed, 5);
        buffer_text(out, "  \"");
    }
    buffer_text(out, "]}");
}

void bench_payload(struct buffer *out)
{
    unsigned seed = 7;
    buffer_text(out, "{\"at\":1772438400000,\"name\":\"workspace\",\"tabs\":[");
    for (unsigned i = 0; i < TABS; i++)
        add_tab(out, &seed, i);
    buffer_text(out, "]}");
}
