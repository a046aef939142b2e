// console, as far as it makes sense where nobody looks at it live: every line is a LOG frame.
// https://console.spec.whatwg.org/
"use strict";
{
    const { native, lazy, create, keys, isArray, isObject, list, push } = this;
    const { format } = lazy("inspect"), inspect = lazy("inspect"), Str = String;
    const DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3;
    let indent = "";
    const counts = create(null), starts = create(null);

    function indented(text) {
        if (indent === "")
            return text;
        let out = indent;
        for (let i = 0; i < text.length; i++)
            out += text[i] === "\n" ? "\n" + indent : text[i];
        return out;
    }

    function print(level, text) {
        native.log(level, indented(text));
    }

    // A million lines cost little when nobody will read them: admission comes before formatting.
    const printer = (level) => (...args) => {
        if (native.admit())
            print(level, format(args, 0));
    };

    function labelOf(label) {
        return label === undefined ? "default" : Str(label);
    }

    function elapsed(label) {
        const ms = native.now() - starts[label];
        return label + ": " + (ms < 1000 ? ms.toFixed(3) + "ms" : (ms / 1000).toFixed(3) + "s");
    }

    function cell(value) {
        return isObject(value) ? inspect(value, 0) : inspect(value);
    }

    // Rows are the members of the data, columns the members of the rows.
    function table(data, wanted) {
        const columns = create(null), rows = list();
        let plain = false;
        for (const key of keys(data)) {
            const row = { __proto__: null, key, cells: create(null), value: undefined };
            const item = data[key];
            if (isObject(item)) {
                for (const column of keys(item)) {
                    if (wanted !== undefined && !wanted.includes(column))
                        continue;
                    columns[column] = true;
                    row.cells[column] = cell(item[column]);
                }
            } else {
                plain = true;
                row.value = cell(item);
            }
            push(rows, row);
        }
        return draw(rows, keys(columns), plain);
    }

    function draw(rows, columns, plain) {
        const titles = ["(index)", ...columns, ...(plain ? ["Values"] : [])];
        const lines = [titles];
        for (let i = 0; i < rows.length; i++) {
            const row = rows[i];
            lines.push([row.key, ...columns.map((column) => row.cells[column] ?? ""),
                ...(plain ? [row.value ?? ""] : [])]);
        }
        const widths = titles.map((title, i) => Math.max(...lines.map((line) => line[i].length)));
        const rule = "+" + widths.map((width) => "-".repeat(width + 2)).join("+") + "+";
        const body = lines.map((line) => "| " + line.map((text, i) => text.padEnd(widths[i])).join(" | ") + " |");
        return [rule, body[0], rule, ...body.slice(1), rule].join("\n");
    }

    const console = {
        debug: printer(DEBUG),
        log: printer(INFO),
        info: printer(INFO),
        warn: printer(WARN),
        error: printer(ERROR),
        trace(...args) {
            const text = format(args, 0), { stack } = lazy("errors").describe(new Error(""));
            print(DEBUG, "Trace" + (text === "" ? "" : ": " + text) + (stack === "" ? "" : "\n" + stack));
        },
        assert(condition, ...args) {
            if (condition || !native.admit())
                return;
            if (typeof args[0] === "string")
                args[0] = "Assertion failed: " + args[0];
            else
                args.unshift("Assertion failed" + (args.length ? ":" : ""));
            print(ERROR, format(args, 0));
        },
        dir(value, options) {
            if (native.admit())
                print(INFO, inspect(value, options?.depth ?? 2));
        },
        table(data, wanted) {
            if (native.admit())
                print(INFO, isObject(data) ? table(data, isArray(wanted) ? wanted : undefined) : format([data], 0));
        },
        count(label) {
            label = labelOf(label);
            counts[label] = (counts[label] ?? 0) + 1;
            print(INFO, label + ": " + counts[label]);
        },
        countReset(label) {
            delete counts[labelOf(label)];
        },
        time(label) {
            starts[labelOf(label)] ??= native.now();
        },
        timeLog(label, ...args) {
            label = labelOf(label);
            if (label in starts)
                print(INFO, elapsed(label) + (args.length ? " " + format(args, 0) : ""));
        },
        timeEnd(label) {
            label = labelOf(label);
            if (label in starts)
                print(INFO, elapsed(label));
            delete starts[label];
        },
        group(...args) {
            if (args.length)
                print(INFO, format(args, 0));
            if (indent.length < 64)
                indent += "  ";
        },
        groupCollapsed(...args) {
            console.group(...args);
        },
        groupEnd() {
            indent = indent.slice(2);
        },
        clear() {},
    };
    console.dirxml = console.log;
    ({ __proto__: null, console });
}
