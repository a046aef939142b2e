// Values as people want to read them: what console prints, and what an error says of a value that was
// thrown. Close to what other engines print; getters are not called, and a proxy is not asked.
"use strict";
{
    const { apply, exec, sourceText, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, isArray, tagOf, hasOwn, slice,
        indexOf, symbolText, stringify, list, push, lazy } = this;
    const Str = String, Num = Number, parseWhole = parseInt, parseReal = parseFloat;
    // Taken when the first value is inspected: where the plugin has replaced one of these, values of
    // its kind are shown as plain objects.
    const uncurry = (method) => (self, a) => apply(method, self, [a]);
    const getter = (of, key) => uncurry(getOwnPropertyDescriptor(of, key)?.get);
    const typedArray = getPrototypeOf(Uint8Array.prototype);
    const mapForEach = uncurry(Map.prototype.forEach), mapSize = getter(Map.prototype, "size");
    const setForEach = uncurry(Set.prototype.forEach), setSize = getter(Set.prototype, "size");
    const typedTag = getter(typedArray, Symbol.toStringTag), typedLength = getter(typedArray, "length");
    const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
    const dateText = uncurry(Date.prototype.toISOString), dateTime = uncurry(Date.prototype.getTime);
    const regText = uncurry(RegExp.prototype.toString);
    const numberValue = uncurry(Number.prototype.valueOf), stringValue = uncurry(String.prototype.valueOf);
    const booleanValue = uncurry(Boolean.prototype.valueOf);
    const isErrorObject = Error.isError ?? ((value) => tagOf(value) === "[object Error]");
    const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

    const LINE = 72, MOST = 100, LONG = 10000;

    function quote(text) {
        const most = text.length > LONG ? slice(text, 0, LONG) : text;
        let quoted = stringify(most);
        if (indexOf(most, "'") < 0)
            quoted = "'" + unescapeQuotes(slice(quoted, 1, -1)) + "'";
        return text.length > LONG ? quoted + "... " + (text.length - LONG) + " more characters" : quoted;
    }

    function unescapeQuotes(text) {
        let out = "", from = 0;
        for (let at = indexOf(text, "\\"); at >= 0; at = indexOf(text, "\\", at + 2)) {
            if (text[at + 1] !== "\"")
                continue;
            out += slice(text, from, at);
            from = at + 1;
        }
        return out + slice(text, from);
    }

    function plain(value) {
        switch (typeof value) {
        case "string":
            return quote(value);
        case "number":
            return value === 0 && 1 / value < 0 ? "-0" : Str(value);
        case "bigint":
            return Str(value) + "n";
        case "symbol":
            return symbolText(value);
        default:
            return Str(value);
        }
    }

    function keyText(key) {
        if (typeof key === "symbol")
            return "[" + symbolText(key) + "]";
        return exec(identifier, key) ? key : quote(key);
    }

    // The name of the constructor, without running a getter on the way to it.
    function className(object) {
        for (let at = object, hops = 0; at !== null && hops < 20; at = getPrototypeOf(at), hops++) {
            const found = getOwnPropertyDescriptor(at, "constructor");
            if (found === undefined || typeof found.value !== "function")
                continue;
            const name = getOwnPropertyDescriptor(found.value, "name");
            return name !== undefined && typeof name.value === "string" ? name.value : "";
        }
        return "[Object: null prototype]";
    }

    function functionText(value) {
        const name = getOwnPropertyDescriptor(value, "name");
        const text = name !== undefined && typeof name.value === "string" && name.value !== "" ? ": " + name.value
            : " (anonymous)";
        let isClass = false;
        try {
            isClass = indexOf(sourceText(value), "class") === 0;
        } catch {
            // A proxy of a function has no source.
        }
        return (isClass ? "[class" : "[Function") + (isClass && text[0] === ":" ? slice(text, 1) : text) + "]";
    }

    // Joins the parts in one line when they fit, else one a line. Brackets are tight, braces are not.
    function join(open, parts, close, indent) {
        if (parts.length === 0)
            return open + close;
        let width = open.length + close.length + indent.length, broken = false;
        for (let i = 0; i < parts.length; i++) {
            width += parts[i].length + 2;
            broken ||= indexOf(parts[i], "\n") >= 0;
        }
        const spread = broken || width > LINE, space = close === "]" ? "" : " ";
        let text = open + (spread ? "\n" : space);
        for (let i = 0; i < parts.length; i++) {
            text += (spread ? indent + "  " : "") + parts[i];
            if (i + 1 < parts.length)
                text += spread ? ",\n" : ", ";
        }
        return text + (spread ? "\n" + indent : space) + close;
    }

    function more(parts, count) {
        if (count > MOST)
            push(parts, "... " + (count - MOST) + " more");
    }

    function show(value, depth, above, indent) {
        if (typeof value === "function")
            return withMembers(functionText(value), value, depth, above, indent);
        if (typeof value !== "object" || value === null)
            return plain(value);
        for (let i = 0; i < above.length; i++)
            if (above[i] === value)
                return "[Circular]";
        above[above.length++] = value;
        try {
            return showObject(value, depth, above, indent);
        } finally {
            above.length--;
        }
    }

    function boxed(value, tag) {
        try {
            if (tag === "Number")
                return "[Number: " + plain(numberValue(value)) + "]";
            if (tag === "String")
                return "[String: " + plain(stringValue(value)) + "]";
            if (tag === "Boolean")
                return "[Boolean: " + booleanValue(value) + "]";
        } catch {
            // Only its tag says so.
        }
        return "";
    }

    function showObject(value, depth, above, indent) {
        if (isErrorObject(value))
            return withMembers(errorText(value, depth, above, indent), value, depth, above, indent);
        if (isArray(value))
            return depth < 0 ? "[Array]" : showArray(value, depth, above, indent);
        const tag = slice(tagOf(value), 8, -1);
        if (tag === "Date") {
            try {
                return dateTime(value) === dateTime(value) ? dateText(value) : "Invalid Date";
            } catch {
                // Only its tag says so.
            }
        }
        const box = boxed(value, tag);
        if (box !== "")
            return box;
        try {
            if (tag === "RegExp")
                return regText(value);
            if (tag === "Map")
                return showMap(value, depth, above, indent);
            if (tag === "Set")
                return showSet(value, depth, above, indent);
            if (tag === "ArrayBuffer")
                return "ArrayBuffer { byteLength: " + bufferLength(value) + " }";
            if (typedTag(value) !== undefined)
                return depth < 0 ? "[" + tag + "]" : showTyped(value, tag, indent);
        } catch {
            // Only its tag says so.
        }
        const name = className(value);
        const title = name === "Object" ? "" : name === "" ? tag : name;
        if (tag === "Promise" || tag === "WeakMap" || tag === "WeakSet" || tag === "WeakRef")
            return tag + " {}";
        if (depth < 0)
            return "[" + (title === "" ? "Object" : title) + "]";
        const label = tag !== "Object" && tag !== title ? title + " [" + tag + "]" : title;
        const parts = members(value, depth, above, indent, list());
        return join(label === "" ? "{" : label + " {", parts, "}", indent);
    }

    function errorText(value, depth, above, indent) {
        const told = lazy("errors").describe(value);
        let text = told.name + (told.message === "" ? "" : ": " + told.message);
        if (told.name === "Uncaught")
            text = "Error";
        const cause = getOwnPropertyDescriptor(value, "cause");
        for (let from = 0; from < told.stack.length;) {
            let end = indexOf(told.stack, "\n", from);
            if (end < 0)
                end = told.stack.length;
            text += "\n" + indent + "    " + slice(told.stack, from, end);
            from = end + 1;
        }
        if (cause !== undefined && depth >= 0)
            text += "\n" + indent + "  [cause]: " + show(cause.value, depth - 1, above, indent + "  ");
        return text;
    }

    const hidden = { __proto__: null, line: true, column: true, sourceURL: true, stack: true, message: true,
        name: true, cause: true, length: true, prototype: true };

    // For what is shown by a word of its own and may have properties besides.
    function withMembers(text, value, depth, above, indent) {
        if (depth < 0)
            return text;
        const parts = members(value, depth, above, indent, list(), true);
        return parts.length === 0 ? text : join(text + " {", parts, "}", indent);
    }

    function members(value, depth, above, indent, parts, besides) {
        const keys = ownKeys(value);
        let count = 0;
        for (let i = 0; i < keys.length; i++) {
            const key = keys[i], found = getOwnPropertyDescriptor(value, key);
            if (found === undefined || !found.enumerable || (besides && hidden[key]))
                continue;
            if (++count <= MOST)
                push(parts, keyText(key) + ": " + memberText(found, depth, above, indent));
        }
        more(parts, count);
        return parts;
    }

    function memberText(found, depth, above, indent) {
        if (hasOwn(found, "value"))
            return show(found.value, depth - 1, above, indent + "  ");
        return found.get === undefined ? "[Setter]" : found.set === undefined ? "[Getter]" : "[Getter/Setter]";
    }

    function showArray(value, depth, above, indent) {
        const parts = list(), { length } = value;
        let holes = 0;
        const flush = () => {
            if (holes)
                push(parts, "<" + holes + (holes > 1 ? " empty items>" : " empty item>"));
            holes = 0;
        };
        for (let i = 0; i < length && i < MOST; i++) {
            const found = getOwnPropertyDescriptor(value, i);
            if (found === undefined) {
                holes++;
                continue;
            }
            flush();
            push(parts, memberText(found, depth, above, indent));
        }
        flush();
        more(parts, length);
        return join("[", parts, "]", indent);
    }

    function showTyped(value, tag, indent) {
        const parts = list(), length = typedLength(value);
        for (let i = 0; i < length && i < MOST; i++)
            push(parts, plain(value[i]));
        more(parts, length);
        return join(tag + "(" + length + ") [", parts, "]", indent);
    }

    function showMap(value, depth, above, indent) {
        const parts = list();
        if (depth < 0)
            return "[Map]";
        mapForEach(value, (item, key) => {
            if (parts.length < MOST)
                push(parts, show(key, depth - 1, above, indent + "  ") + " => " +
                    show(item, depth - 1, above, indent + "  "));
        });
        more(parts, mapSize(value));
        return join("Map(" + mapSize(value) + ") {", parts, "}", indent);
    }

    function showSet(value, depth, above, indent) {
        const parts = list();
        if (depth < 0)
            return "[Set]";
        setForEach(value, (item) => {
            if (parts.length < MOST)
                push(parts, show(item, depth - 1, above, indent + "  "));
        });
        more(parts, setSize(value));
        return join("Set(" + setSize(value) + ") {", parts, "}", indent);
    }

    function inspect(value, depth = 2) {
        try {
            return show(value, depth, list(), "");
        } catch {
            return "[object that cannot be inspected]";
        }
    }

    // A directive of a format, or undefined where it is none. Anything may be thrown by a conversion.
    function directive(letter, value) {
        switch (letter) {
        case "s":
            return typeof value === "string" ? value : typeof value === "object" ? inspect(value, 0) : plain(value);
        case "d":
            return typeof value === "object" || typeof value === "symbol" ? "NaN"
                : typeof value === "bigint" ? plain(value) : plain(Num(value));
        case "i":
            return typeof value === "object" || typeof value === "symbol" ? "NaN"
                : typeof value === "bigint" ? plain(value) : plain(parseWhole(value));
        case "f":
            return typeof value === "symbol" || typeof value === "object" ? "NaN" : plain(parseReal(value));
        case "j":
            try {
                return Str(stringify(value));
            } catch {
                return "[Circular]";
            }
        case "o":
        case "O":
            return inspect(value, 4);
        case "c":
            return "";
        }
        return undefined;
    }

    // What console.log makes of its arguments, from the one at `from` on.
    function format(args, from) {
        let text = "", next = from;
        if (typeof args[from] === "string" && args.length > from + 1) {
            const pattern = args[next++];
            let copied = 0;
            for (let at = indexOf(pattern, "%"); at >= 0 && at + 1 < pattern.length; at = indexOf(pattern, "%", at)) {
                const letter = pattern[at + 1];
                let put;
                if (letter === "%")
                    put = "%";
                else if (next < args.length && (put = directive(letter, args[next])) !== undefined)
                    next++;
                if (put !== undefined) {
                    text += slice(pattern, copied, at) + put;
                    copied = at + 2;
                }
                at += 2;
            }
            text += slice(pattern, copied);
        }
        for (let first = next === from; next < args.length; next++, first = false)
            text += (first ? "" : " ") + (typeof args[next] === "string" ? args[next] : inspect(args[next]));
        return text;
    }

    inspect.format = format;
    inspect;
}
