// The heart of the prelude: one call of transform, and what its result comes to. It is run before the
// plugin and captures all it needs, so that nothing a plugin does to JSON, Promise or a prototype
// changes how the helper works. Lists in here have no prototype: a setter on Array.prototype would
// otherwise see every element that is added to them.
//
// Every file of the prelude is one block, evaluated with what it gets as `this`; its last expression
// is what it gives. So each is parsed once, and leaves no name behind.
"use strict";
{
    const native = this;
    const { parse, stringify } = JSON;
    const { apply, ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
    const { freeze, keys, create, getPrototypeOf, hasOwn, prototype: objectPrototype } = Object;
    const { isArray } = Array;
    const OwnPromise = Promise, promisePrototype = Promise.prototype, string = String.prototype;
    const globalEval = eval;
    const uncurry = (method) => (self, a, b) => apply(method, self, [a, b]);
    const isPrototypeOf = uncurry(objectPrototype.isPrototypeOf);

    // Numbers of enum wire_error_kind.
    const LOAD = 1, SCRIPT = 2, RESULT = 3, INPUT = 5;

    const isObject = (value) =>
        (typeof value === "object" && value !== null) || typeof value === "function";

    // What the other files of the prelude get as `this`.
    const kit = {
        __proto__: null, native, LOAD, SCRIPT, parse, stringify, apply, ownKeys, getOwnPropertyDescriptor,
        defineProperty, freeze, keys, create, getPrototypeOf, hasOwn, isArray, isObject, lazy,
        tagOf: uncurry(objectPrototype.toString),
        indexOf: uncurry(string.indexOf),
        lastIndexOf: uncurry(string.lastIndexOf),
        slice: uncurry(string.slice),
        startsWith: uncurry(string.startsWith),
        exec: uncurry(RegExp.prototype.exec),
        sourceText: uncurry(Function.prototype.toString),
        symbolText: uncurry(Symbol.prototype.toString),
        list: () => ({ __proto__: null, length: 0 }),
        push: (to, item) => { to[to.length++] = item; },
        plugin: { __proto__: null, path: "", locale: "und" },
        timers: undefined, // once there are any
    };
    const { plugin } = kit;
    const modules = create(null);

    // The other files are evaluated when they are first needed: most plugins need little of them.
    function lazy(name) {
        return modules[name] ??= native.module(name, kit);
    }

    const report = (kind, thrown, path, column) => lazy("errors").report(kind, thrown, path, column);
    const complain = (kind, name, message, path) => lazy("errors").complain(kind, name, message, path);

    // ---- results -------------------------------------------------------------------------------

    const noJson = (what, path) =>
        complain(RESULT, "TypeError", "the result cannot be written as JSON: " + what, path);

    // The result is had: writes it, or says what in it cannot be written.
    function settle(value) {
        let text;
        try {
            text = stringify(value);
        } catch (thrown) {
            const where = lazy("errors").locateIn(value);
            if (where && where.what !== "")
                noJson(where.what, where.path);
            else
                report(RESULT, where ? where.thrown : thrown, where ? where.path : "$");
            return;
        }
        if (typeof text !== "string" && value !== undefined) {
            noJson(typeof value === "function" ? "a function" : typeof value === "symbol" ? "a symbol"
                : "an object whose toJSON gives nothing", "$");
            return;
        }
        // Whether it has an empty object in it, or is nested too deep, is quickly seen in C.
        if (native.finish(text)) {
            const where = lazy("errors").locateIn(value);
            if (where && where.what !== "")
                noJson(where.what, where.path);
            else
                native.accept();
        }
    }

    // ---- loading and calling ---------------------------------------------------------------------

    let transform, call = 0;

    // Looks transform up, once. A `const transform` is no property of the global object.
    function loaded(path) {
        plugin.path = path;
        try {
            transform = "transform" in globalThis ? globalThis.transform : globalEval("transform");
        } catch (thrown) {
            if ("transform" in globalThis)
                report(LOAD, thrown);
            else
                complain(LOAD, "TypeError", "the plugin sets no globalThis.transform");
            return;
        }
        if (typeof transform === "function")
            native.loaded();
        else if (transform === undefined)
            complain(LOAD, "TypeError", "the plugin sets no globalThis.transform");
        else
            complain(LOAD, "TypeError", "globalThis.transform is no function, it is " + lazy("inspect")(transform));
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
            if (shared === undefined || shared.value !== OwnPromise || hasOwn(promise, "constructor"))
                defineProperty(promise, "constructor",
                    { __proto__: null, value: OwnPromise, configurable: true, writable: true });
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

    function run(text, now, locale, tick, generation, deadline, files) {
        const mine = ++call;
        let raw, value, waits;
        plugin.locale = locale;
        try {
            raw = parse(text);
        } catch (thrown) {
            report(INPUT, thrown);
            return;
        }
        try {
            value = transform(raw, freeze(files === undefined ? { now, locale, tick, generation, deadline }
                : { now, locale, tick, generation, deadline, files: lazy("files")(files, []) }));
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

    // What a first call would have to compile is compiled here, by a call before there is a plugin.
    function warm(text) {
        transform = (raw) => raw;
        run(text, 0, "und", 0, 0, 0, undefined);
        transform = undefined;
    }

    // The call is over, however it ended: what it left behind can no longer speak for it.
    function over() {
        call++;
        if (kit.timers !== undefined)
            kit.timers.clear();
    }

    // ---- the host --------------------------------------------------------------------------------

    const levels = { __proto__: null, debug: 0, info: 1, log: 1, warn: 2, warning: 2, error: 3 };

    const host = {
        log(...args) {
            if (!native.admit())
                return;
            const level = args.length > 1 && typeof args[0] === "string" ? levels[args[0]] : undefined;
            native.log(level ?? 1, lazy("inspect").format(args, level === undefined ? 0 : 1));
        },
        now: () => native.wall(),
        get locale() {
            return plugin.locale;
        },
    };

    function grant(names) {
        if (names !== "")
            lazy("host").grant(host, names);
        defineProperty(globalThis, "host", { __proto__: null, value: freeze(host), enumerable: true });
    }

    // ---- what people expect in a script's world ---------------------------------------------------

    function define(name, value) {
        defineProperty(globalThis, name, { __proto__: null, value, writable: true, configurable: true });
    }

    function defineLater(module, name) {
        defineProperty(globalThis, name, {
            __proto__: null,
            configurable: true,
            get: () => {
                const value = lazy(module)[name];
                define(name, value);
                return value;
            },
            set: (value) => define(name, value),
        });
    }

    defineLater("console", "console");
    defineLater("timers", "setTimeout");
    defineLater("timers", "clearTimeout");
    defineLater("timers", "setInterval");
    defineLater("timers", "clearInterval");
    defineLater("encoding", "TextEncoder");
    defineLater("encoding", "TextDecoder");
    defineLater("encoding", "atob");
    defineLater("encoding", "btoa");
    defineLater("url", "URL");
    defineLater("url", "URLSearchParams");
    defineLater("platform", "structuredClone");
    defineLater("platform", "performance");
    defineLater("platform", "crypto");
    define("queueMicrotask", function queueMicrotask(callback) {
        if (typeof callback !== "function")
            throw new TypeError("queueMicrotask needs a function");
        (async () => {
            await undefined;
            callback();
        })();
    });

    // The engine compiles WebAssembly on threads whose word needs a run loop that a helper has not.
    const promised = (work) => new OwnPromise((resolve) => { resolve(work()); });
    const wasm = WebAssembly;
    wasm.compile = function compile(bytes) {
        return promised(() => new wasm.Module(bytes));
    };
    wasm.instantiate = function instantiate(source, imports) {
        return promised(() => {
            if (source instanceof wasm.Module)
                return new wasm.Instance(source, imports);
            const module = new wasm.Module(source);
            return { module, instance: new wasm.Instance(module, imports) };
        });
    };

    function rejected(promise, reason) {
        if (!native.admit())
            return;
        const error = lazy("errors").describe(reason);
        native.log(2, "unhandled rejection: " + error.name + ": " + error.message +
            (error.stack === "" ? "" : "\n" + error.stack));
    }

    ({
        __proto__: null, run, warm, loaded, over, rejected, grant,
        answered: (id, kind, text, handles) => lazy("host").answered(id, kind, text, handles),
        due: () => kit.timers === undefined ? -1 : kit.timers.due(),
        fire: () => kit.timers.fire(),
        threw: (thrown, column) => report(LOAD, thrown, undefined, column),
    });
}
