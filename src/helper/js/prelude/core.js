// The heart of the prelude: one call of transform, what its result comes to, and how its errors are
// told. It runs before the plugin and captures all it needs, so that nothing a plugin does to
// JSON, Promise or a prototype changes how the helper works. Lists in here have no prototype:
// a setter on Array.prototype would otherwise see every element that is added to them.
(function (native) {
    "use strict";
    const { parse, stringify } = JSON;
    const { apply, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
    const { freeze, keys, create, getPrototypeOf, prototype: objectPrototype } = Object;
    const { isArray } = Array;
    const NativePromise = Promise, promisePrototype = Promise.prototype, Str = String;
    const globalEval = eval, TypeErr = TypeError, Err = Error;
    const uncurry = (method) => (self, ...args) => apply(method, self, args);
    const tagOf = uncurry(objectPrototype.toString);
    const isPrototypeOf = uncurry(objectPrototype.isPrototypeOf);
    const hasOwn = Object.hasOwn;
    const indexOf = uncurry(Str.prototype.indexOf), lastIndexOf = uncurry(Str.prototype.lastIndexOf);
    const slice = uncurry(Str.prototype.slice), startsWith = uncurry(Str.prototype.startsWith);
    const test = uncurry(RegExp.prototype.exec);
    const symbolText = uncurry(Symbol.prototype.toString);

    // For inspect.js, which is compiled when the plugin has long had its way with the originals.
    const getter = (of, key) => uncurry(getOwnPropertyDescriptor(of, key).get);
    const typedArray = getPrototypeOf(Uint8Array.prototype);
    const pristine = {
        __proto__: null,
        test,
        mapForEach: uncurry(Map.prototype.forEach),
        mapSize: getter(Map.prototype, "size"),
        setForEach: uncurry(Set.prototype.forEach),
        setSize: getter(Set.prototype, "size"),
        typedTag: getter(typedArray, Symbol.toStringTag),
        typedLength: getter(typedArray, "length"),
        bufferLength: getter(ArrayBuffer.prototype, "byteLength"),
        dateText: uncurry(Date.prototype.toISOString),
        dateTime: uncurry(Date.prototype.getTime),
        regText: uncurry(RegExp.prototype.toString),
        numberValue: uncurry(Number.prototype.valueOf),
        stringValue: uncurry(Str.prototype.valueOf),
        booleanValue: uncurry(Boolean.prototype.valueOf),
        sourceText: uncurry(Function.prototype.toString),
        isErrorObject: Err.isError ?? ((value) => tagOf(value) === "[object Error]"),
    };

    // Numbers of enum wire_error_kind.
    const LOAD = 1, SCRIPT = 2, RESULT = 3, INPUT = 5;
    const MAX_DEPTH = 512; // WIRE_JSON_MAX_DEPTH: deeper JSON is refused by the host

    const list = () => ({ __proto__: null, length: 0 });
    const push = (to, item) => { to[to.length++] = item; };
    const isObject = (value) =>
        (typeof value === "object" && value !== null) || typeof value === "function";

    // ---- errors --------------------------------------------------------------------------------

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

    function complain(kind, name, message, path) {
        native.fail(kind, name, message, "", kind === LOAD ? pluginPath : "", kind === LOAD ? 1 : 0,
            kind === LOAD ? 1 : 0, path === undefined ? "" : path);
    }

    // ---- results -------------------------------------------------------------------------------

    const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
    const step = (key) => test(identifier, key) ? "." + key : "[" + stringify(key) + "]";

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
                return found(path, (test(/^[AEIOU]/, lost) ? "an " : "a ") + lost);
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

    // The result is had: writes it, or says what in it cannot be written.
    function settle(value) {
        let text;
        try {
            text = stringify(value);
        } catch (thrown) {
            const where = locateIn(value);
            if (where && where.what !== "")
                complain(RESULT, "TypeError", "the result cannot be written as JSON: " + where.what, where.path);
            else
                report(RESULT, where ? where.thrown : thrown, where ? where.path : "$");
            return;
        }
        if (typeof text !== "string" && value !== undefined) {
            const what = isObject(value) ? typeof value === "function" ? "a function"
                : "an object whose toJSON gives nothing" : "a symbol";
            complain(RESULT, "TypeError", "the result cannot be written as JSON: " + what, "$");
            return;
        }
        // Whether it has an empty object in it, or is nested too deep, is quickly seen in C.
        if (native.finish(text)) {
            const where = locateIn(value);
            if (where && where.what !== "")
                complain(RESULT, "TypeError", "the result cannot be written as JSON: " + where.what, where.path);
            else
                native.accept();
        }
    }

    // ---- loading and calling ---------------------------------------------------------------------

    let transform, pluginPath = "", locale = "und", call = 0;

    // Looks transform up, once. `const transform = ...` is no property of the global object.
    function loaded(path) {
        pluginPath = path;
        try {
            transform = "transform" in globalThis ? globalThis.transform : globalEval("transform");
        } catch (thrown) {
            if (!("transform" in globalThis))
                complain(LOAD, "TypeError", "the plugin sets no globalThis.transform");
            else
                report(LOAD, thrown);
            return;
        }
        if (typeof transform === "function")
            native.loaded();
        else if (transform === undefined)
            complain(LOAD, "TypeError", "the plugin sets no globalThis.transform");
        else
            complain(LOAD, "TypeError", "globalThis.transform is no function, it is " + shortText(transform));
    }

    // `await` takes a promise for its own kind when its constructor is Promise, else it calls a
    // `then` that the plugin may have replaced. Where the plugin has been at work the constructor is
    // pinned, so that a promise of the engine's is waited for by the engine.
    function pin(promise) {
        try {
            if (!isPrototypeOf(promisePrototype, promise) ||
                getOwnPropertyDescriptor(promise, "then") !== undefined)
                return;
            const shared = getOwnPropertyDescriptor(promisePrototype, "constructor");
            if (shared === undefined || shared.value !== NativePromise || hasOwn(promise, "constructor"))
                defineProperty(promise, "constructor",
                    { __proto__: null, value: NativePromise, configurable: true, writable: true });
        } catch {
            // A proxy or a frozen promise: then it is what it says it is.
        }
    }

    async function wait(promise, mine) {
        let value;
        try {
            pin(promise);
            value = await promise;
        } catch (thrown) {
            if (mine === call)
                report(SCRIPT, thrown);
            return;
        }
        if (mine === call)
            settle(value);
    }

    function run(text, now, place, tick, generation, deadline, files) {
        const mine = ++call;
        let raw, value, waits;
        locale = place;
        try {
            raw = parse(text);
        } catch (thrown) {
            report(INPUT, thrown);
            return;
        }
        try {
            value = transform(raw, freeze(files === undefined
                ? { now, locale: place, tick, generation, deadline }
                : { now, locale: place, tick, generation, deadline, files: openFiles(files) }));
            waits = isObject(value) && typeof value.then === "function";
        } catch (thrown) {
            report(SCRIPT, thrown);
            return;
        }
        if (waits)
            wait(value, mine);
        else
            settle(value);
    }

    // The call is over, however it ended: what it left behind can no longer speak for it.
    function over() {
        call++;
        timers.clear();
    }

    // ---- timers: a heap ordered by time, then by age ---------------------------------------------

    const timers = (() => {
        let heap = list(), byId = create(null), last = 0;
        const before = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);
        function swap(i, j) {
            const other = heap[i];
            heap[i] = heap[j];
            heap[j] = other;
        }
        function add(timer) {
            let i = heap.length;
            push(heap, timer);
            for (let up = (i - 1) >> 1; i > 0 && before(heap[i], heap[up]); up = (i - 1) >> 1) {
                swap(i, up);
                i = up;
            }
        }
        function take() {
            const first = heap[0];
            swap(0, --heap.length);
            delete heap[heap.length];
            for (let i = 0; ;) {
                let least = i;
                for (let down = 2 * i + 1; down <= 2 * i + 2 && down < heap.length; down++)
                    if (before(heap[down], heap[least]))
                        least = down;
                if (least === i)
                    return first;
                swap(i, least);
                i = least;
            }
        }
        function skipCleared() {
            while (heap.length && byId[heap[0].id] !== heap[0])
                take();
        }
        function start(callback, delay, args, repeats) {
            if (typeof callback !== "function")
                throw new TypeErr("a timer needs a function");
            delay = +delay;
            if (!(delay > 0))
                delay = repeats ? 1 : 0;
            const id = ++last;
            const timer = { __proto__: null, id, order: id, at: native.now() + delay, callback, args,
                every: repeats ? delay : -1 };
            byId[id] = timer;
            add(timer);
            return id;
        }
        return {
            __proto__: null,
            set: (callback, delay, args) => start(callback, delay, args, false),
            repeat: (callback, delay, args) => start(callback, delay, args, true),
            stop: (id) => { delete byId[+id]; },
            clear: () => {
                if (heap.length) {
                    heap = list();
                    byId = create(null);
                }
            },
            // In ms of native.now(), or -1.
            due: () => {
                skipCleared();
                return heap.length ? heap[0].at : -1;
            },
            // Runs the first that is due; its microtasks run before the next.
            fire: () => {
                skipCleared();
                if (heap.length === 0 || heap[0].at > native.now())
                    return;
                const timer = take();
                if (timer.every < 0) {
                    delete byId[timer.id];
                } else {
                    timer.at = native.now() + timer.every;
                    timer.order = ++last;
                    add(timer);
                }
                try {
                    apply(timer.callback, undefined, timer.args);
                } catch (thrown) {
                    report(SCRIPT, thrown);
                }
            },
        };
    })();

    // ---- the host --------------------------------------------------------------------------------

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

    function openFiles(handles, info) {
        return lazy("files")(handles, info);
    }

    function unpack(text, handles) {
        const value = text === "" ? undefined : parse(text);
        return handles === undefined ? value : openFiles(handles, value);
    }

    function answered(id, kind, text, handles) {
        const asked = pending[id];
        if (asked === undefined)
            return;
        delete pending[id];
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
            const error = new Err("");
            return new NativePromise((resolve, reject) => {
                const id = native.request(name, argumentsText(args));
                pending[id] = { __proto__: null, resolve, reject, error };
            });
        };
        const sync = (...args) => {
            const error = new Err(""), answer = list();
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

    const levels = { __proto__: null, debug: 0, info: 1, log: 1, warn: 2, warning: 2, error: 3 };

    function hostLog(...args) {
        if (!native.admit())
            return;
        const named = args.length > 1 && typeof args[0] === "string" ? levels[args[0]] : undefined;
        native.log(named ?? 1, lazy("inspect").format(args, named === undefined ? 0 : 1));
    }

    function grant(names) {
        const tree = { __proto__: null, name: "", below: create(null) };
        for (let at = 0; at < names.length;) {
            const end = indexOf(names, "\n", at), name = slice(names, at, end < 0 ? names.length : end);
            if (name !== "" && name !== "log" && name !== "now" && name !== "locale")
                plant(tree, name);
            at = end < 0 ? names.length : end + 1;
        }
        const host = {};
        fix(host, "log", hostLog);
        fix(host, "now", () => native.wall());
        defineProperty(host, "locale", { __proto__: null, get: () => locale, enumerable: true });
        for (const word in tree.below)
            fix(host, word, grow(tree.below[word]));
        fix(globalThis, "host", freeze(host));
    }

    // ---- what people expect in a script's world ---------------------------------------------------

    // The rest of the prelude is compiled when it is first used: most plugins need little of it.
    const modules = create(null);
    const kit = freeze({ __proto__: null, native, ownKeys, getOwnPropertyDescriptor, defineProperty, tagOf, hasOwn,
        indexOf, slice, symbolText, getPrototypeOf, list, push, isObject, isArray, keys, create, freeze, stringify, describe, pristine, lazy, levels });

    function lazy(name) {
        return modules[name] ??= native.module(name)(kit);
    }

    function global(name, value) {
        defineProperty(globalThis, name, { __proto__: null, value, writable: true, configurable: true });
    }

    function lazyGlobal(name, module) {
        defineProperty(globalThis, name, {
            __proto__: null,
            configurable: true,
            get: () => {
                const value = lazy(module)[name];
                global(name, value);
                return value;
            },
            set: (value) => global(name, value),
        });
    }

    global("setTimeout", function setTimeout(callback, delay, ...args) {
        return timers.set(callback, delay, args);
    });
    global("setInterval", function setInterval(callback, delay, ...args) {
        return timers.repeat(callback, delay, args);
    });
    global("clearTimeout", function clearTimeout(id) { timers.stop(id); });
    global("clearInterval", function clearInterval(id) { timers.stop(id); });
    global("queueMicrotask", function queueMicrotask(callback) {
        if (typeof callback !== "function")
            throw new TypeErr("queueMicrotask needs a function");
        (async () => {
            await undefined;
            callback();
        })();
    });
    lazyGlobal("console", "console");
    for (const name of ["TextEncoder", "TextDecoder", "atob", "btoa"])
        lazyGlobal(name, "encoding");
    for (const name of ["URL", "URLSearchParams"])
        lazyGlobal(name, "url");
    for (const name of ["structuredClone", "performance", "crypto"])
        lazyGlobal(name, "platform");

    // The engine compiles WebAssembly on threads whose word needs a run loop that a helper has not.
    if (typeof WebAssembly === "object") {
        const { Module, Instance } = WebAssembly;
        const promised = (work) => new NativePromise((resolve) => { resolve(work()); });
        WebAssembly.compile = function compile(bytes) {
            return promised(() => new Module(bytes));
        };
        WebAssembly.instantiate = function instantiate(source, imports) {
            return promised(() => {
                if (isPrototypeOf(Module.prototype, source))
                    return new Instance(source, imports);
                const module = new Module(source);
                return { module, instance: new Instance(module, imports) };
            });
        };
    }

    function rejected(promise, reason) {
        if (!native.admit())
            return;
        const error = describe(reason);
        native.log(2, "unhandled rejection: " + error.name + ": " + error.message +
            (error.stack === "" ? "" : "\n" + error.stack));
    }

    return { __proto__: null, run, loaded, grant, answered, over, due: timers.due, fire: timers.fire,
        rejected, threw: (thrown, column) => report(LOAD, thrown, undefined, column), openHandles: (...handles) => handles };
});
