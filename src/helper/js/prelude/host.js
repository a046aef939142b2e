// The capabilities that were granted, as functions of the host object; core.js has the rest of it.
// Evaluated before the plugin where there are any.
"use strict";
{
    const { native, parse, stringify, indexOf, slice, create, freeze, defineProperty, list, lazy } = this;
    const OwnPromise = Promise;
    // Asked and not answered: one less than what the host takes, so that a .sync() always has room.
    const MOST_OPEN = 255;
    let open = 0;
    const pending = create(null);
    const refusals = { __proto__: null, 7: "DeniedError", 9: "QuotaError" };

    // Made where the plugin asks, so that the stack says who asked; filled in when it is refused.
    function refusal(error, kind, message) {
        const set = (key, value) => defineProperty(error, key,
            { __proto__: null, value, writable: true, configurable: true, enumerable: false });
        set("name", refusals[kind] ?? "HostError");
        set("message", message);
        return error;
    }

    // Each argument is written by itself: no toJSON of Array.prototype makes this something else.
    function argumentsText(args) {
        let text = "[";
        for (let i = 0; i < args.length; i++)
            text += (i ? "," : "") + (stringify(args[i]) ?? "null");
        return text + "]";
    }

    function unpack(text, handles) {
        const value = text === "" ? undefined : parse(text);
        return handles === undefined ? value : lazy("files")(handles, value);
    }

    function answered(id, kind, text, handles) {
        const asked = pending[id];
        if (asked === undefined)
            return;
        delete pending[id];
        open--;
        if (kind !== 0) {
            asked.reject(refusal(asked.error, kind, text));
            return;
        }
        try {
            asked.resolve(unpack(text, handles));
        } catch (thrown) {
            asked.reject(thrown);
        }
    }

    function capability(name) {
        const ask = (...args) => {
            const error = new Error("");
            return new OwnPromise((resolve, reject) => {
                if (open >= MOST_OPEN) {
                    reject(refusal(error, 9, `more than ${MOST_OPEN} requests at one time`));
                    return;
                }
                const id = native.request(name, argumentsText(args));
                pending[id] = { __proto__: null, resolve, reject, error };
                open++;
            });
        };
        const sync = (...args) => {
            const error = new Error(""), answer = list();
            // The host's answer comes through this function before requestSync returns.
            native.requestSync(name, argumentsText(args), (kind, text, handles) => {
                answer.kind = kind;
                answer.text = text;
                answer.handles = handles;
            });
            if (answer.kind !== 0)
                throw refusal(error, answer.kind, answer.text);
            return unpack(answer.text, answer.handles);
        };
        fix(ask, "name", name);
        fix(sync, "name", name + ".sync");
        fix(ask, "sync", freeze(sync));
        return ask;
    }

    function fix(object, key, value) {
        defineProperty(object, key,
            { __proto__: null, value, enumerable: true, configurable: true, writable: false });
    }

    // "ai.respond" becomes host.ai.respond: first a tree of the names, then the objects.
    function plant(tree, name) {
        let node = tree, at = 0;
        for (;;) {
            const dot = indexOf(name, ".", at), word = slice(name, at, dot < 0 ? name.length : dot);
            node = node.below[word] ??= { __proto__: null, name: "", below: create(null) };
            if (dot < 0)
                break;
            at = dot + 1;
        }
        node.name = name;
    }

    function grow(node) {
        const object = node.name === "" ? {} : capability(node.name);
        for (const word in node.below)
            if (node.name === "" || word !== "sync")
                fix(object, word, grow(node.below[word]));
        return freeze(object);
    }

    // Adds what the names, one a line, stand for.
    function grant(host, names) {
        const tree = { __proto__: null, name: "", below: create(null) };
        for (let at = 0; at < names.length;) {
            const end = indexOf(names, "\n", at), name = slice(names, at, end < 0 ? names.length : end);
            if (name !== "" && name !== "log" && name !== "now" && name !== "locale")
                plant(tree, name);
            at = end < 0 ? names.length : end + 1;
        }
        for (const word in tree.below)
            fix(host, word, grow(tree.below[word]));
    }

    ({ __proto__: null, grant, answered });
}
