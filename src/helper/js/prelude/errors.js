// What is told of what went wrong: errors, whatever was thrown, and the place in a result that has
// no JSON. Evaluated when the first error has to be told.
"use strict";
{
    const kit = this;
    const { native, apply, indexOf, lastIndexOf, slice, startsWith, exec, tagOf, isObject, isArray, keys, list,
        stringify, lazy } = kit;
    const Str = String;
    const MAX_DEPTH = 512; // WIRE_JSON_MAX_DEPTH: deeper JSON is refused by the host

    // Frames as people know them, "at f (file:line:column)", without the prelude's own.
    // The first one that is the plugin's says where the error is.
    function readStack(text, place) {
        let lines = "", count = 0, at = 0;
        while (at < text.length && count < 50) {
            let end = indexOf(text, "\n", at);
            if (end < 0)
                end = text.length;
            const line = slice(text, at, end);
            at = end + 1;
            const sign = indexOf(line, "@"), name = sign < 0 ? "" : slice(line, 0, sign);
            const where = sign < 0 ? line : slice(line, sign + 1);
            if (startsWith(where, "halter:") || line === "" || line === "@" || line === "eval code@")
                continue;
            const column = lastIndexOf(where, ":"), row = lastIndexOf(where, ":", column - 1);
            if (place.file === "" && row > 0) {
                const rowNumber = +slice(where, row + 1, column), columnNumber = +slice(where, column + 1);
                if (rowNumber > 0 && columnNumber > 0) {
                    place.file = slice(where, 0, row);
                    place.line = rowNumber;
                    place.column = columnNumber;
                }
            }
            lines += (count++ ? "\n" : "") + "at " +
                (name === "" ? where : where === "" ? name : name + " (" + where + ")");
        }
        return lines;
    }

    function read(object, key) {
        try {
            return object[key];
        } catch {
            return undefined;
        }
    }

    // What can be said of anything that was thrown, without believing it in anything.
    function describe(thrown) {
        const place = { __proto__: null, name: "Uncaught", message: "", stack: "", file: "", line: 0, column: 0 };
        const message = isObject(thrown) ? read(thrown, "message") : undefined;
        if (typeof message !== "string") {
            place.message = shortText(thrown);
            return place;
        }
        const name = read(thrown, "name"), stack = read(thrown, "stack");
        place.name = typeof name === "string" && name !== "" ? name : "Error";
        place.message = message;
        if (typeof stack === "string")
            place.stack = readStack(stack, place);
        if (place.file === "") {
            const file = read(thrown, "sourceURL"), line = read(thrown, "line"), column = read(thrown, "column");
            if (typeof file === "string" && typeof line === "number" && !startsWith(file, "halter:")) {
                place.file = file;
                place.line = line;
                place.column = typeof column === "number" ? column : 0;
            }
        }
        return place;
    }

    // A word or two for a value of any kind. Calls nothing of the plugin's but what inspecting may.
    function shortText(value) {
        try {
            return lazy("inspect")(value, 2);
        } catch {
            return "a value that cannot be inspected";
        }
    }

    // `column` is that of a syntax error: the engine does not say it.
    function report(kind, thrown, path, column) {
        const error = describe(thrown);
        if (column > 0 && error.line > 0 && error.column === 0)
            error.column = column;
        native.fail(kind, error.name, error.message, error.stack, error.file, error.line, error.column,
            path === undefined ? "" : path);
    }

    // An error of our own. One of loading is placed at the plugin's beginning.
    function complain(kind, name, message, path) {
        const isLoad = kind === kit.LOAD;
        native.fail(kind, name, message, "", isLoad ? kit.plugin.path : "", isLoad ? 1 : 0, isLoad ? 1 : 0, path === undefined ? "" : path);
    }

    // ---- results -------------------------------------------------------------------------------

    const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
    const step = (key) => exec(identifier, key) ? "." + key : "[" + stringify(key) + "]";

    const found = (path, what, thrown) => ({ __proto__: null, path, what, thrown });

    // Objects that JSON.stringify would write as {}: their content is lost without a word.
    function loses(value) {
        const tag = tagOf(value);
        return tag === "[object Object]" || tag === "[object Arguments]" ? "" : slice(tag, 8, -1);
    }

    // Goes through a result as JSON.stringify does and tells the first thing that has no JSON. Only
    // called when something was found wrong, so it may take its time.
    function locate(value, key, path, above, depth) {
        if (isObject(value) || typeof value === "bigint") {
            try {
                const toJSON = value.toJSON;
                if (typeof toJSON === "function")
                    value = apply(toJSON, value, [key]);
            } catch (thrown) {
                return found(path, "", thrown);
            }
        }
        if (typeof value === "bigint")
            return found(path, "a BigInt");
        if (typeof value !== "object" || value === null)
            return null;
        for (let i = 0; i < above.length; i++)
            if (above[i] === value)
                return found(path, "a cycle");
        if (depth > MAX_DEPTH)
            return found(path, "nested more than " + MAX_DEPTH + " deep");
        above[above.length++] = value;
        const inside = isArray(value) ? locateElement(value, path, above, depth)
            : locateMember(value, path, above, depth);
        above.length--;
        return inside;
    }

    function locateElement(array, path, above, depth) {
        for (let i = 0; i < array.length; i++) {
            const here = path + "[" + i + "]";
            let element;
            try {
                element = array[i];
            } catch (thrown) {
                return found(here, "", thrown);
            }
            const inside = locate(element, Str(i), here, above, depth + 1);
            if (inside)
                return inside;
        }
        return null;
    }

    function locateMember(object, path, above, depth) {
        const names = keys(object);
        if (names.length === 0) {
            const lost = loses(object);
            if (lost !== "" && lost !== "Number" && lost !== "String" && lost !== "Boolean")
                return found(path, (exec(/^[AEIOU]/, lost) ? "an " : "a ") + lost);
        }
        for (let i = 0; i < names.length; i++) {
            const name = names[i], here = path + step(name);
            let member;
            try {
                member = object[name];
            } catch (thrown) {
                return found(here, "", thrown);
            }
            const inside = locate(member, name, here, above, depth + 1);
            if (inside)
                return inside;
        }
        return null;
    }

    function locateIn(value) {
        try {
            return locate(value, "", "$", list(), 1);
        } catch (thrown) {
            return found("$", "", thrown);
        }
    }

    ({ __proto__: null, describe, report, complain, locateIn });
}
