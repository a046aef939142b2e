#!/usr/bin/env python3
"""Embeds the prelude's JavaScript in a C file: embed.py OUT.c IN.js...

Comments that fill a line and indentation are left out, line breaks stay, so that line numbers in a
stack are those of the file. The engine takes the text as it is, so it has to be ASCII.
"""
import os
import sys


def main():
    out, *inputs = sys.argv[1:]
    lines = ['#include "helper/js/prelude.h"', "",
             '#pragma GCC diagnostic ignored "-Woverlength-strings"', "", "const struct prelude_module prelude[] = {"]
    for path in inputs:
        name = os.path.splitext(os.path.basename(path))[0]
        lines.append('    {"%s",' % name)
        with open(path, encoding="ascii") as source:
            for line in source:
                text = line.strip()
                if text.startswith("//"):
                    text = ""
                text = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
                lines.append('     "%s\\n"' % text)
        lines.append("    },")
    lines += ["};", "const size_t prelude_count = sizeof(prelude) / sizeof(prelude[0]);", ""]
    with open(out, "w", encoding="ascii") as target:
        target.write("\n".join(lines))


main()
