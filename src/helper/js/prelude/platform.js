// structuredClone, performance and crypto.
// https://html.spec.whatwg.org/#structured-cloning
"use strict";
{
    const { native, tagOf, isArray, keys, getPrototypeOf, getOwnPropertyDescriptor, symbolText, isObject } = this;
    const Bytes = Uint8Array, { isView } = ArrayBuffer;
    const typedTag = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
    const errors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

    function uncloneable(value) {
        const what = typeof value === "symbol" ? symbolText(value)
            : typeof value === "function" ? "a function" : tagOf(value).slice(8, -1);
        const error = new Error(`${what} cannot be cloned`);
        error.name = "DataCloneError";
        error.code = 25;
        return error;
    }

    function cloneBuffer(buffer, known) {
        if (!known.has(buffer))
            known.set(buffer, buffer.slice(0));
        return known.get(buffer);
    }

    function cloneView(view, known) {
        const buffer = cloneBuffer(view.buffer, known), name = typedTag.call(view);
        if (name === undefined)
            return new DataView(buffer, view.byteOffset, view.byteLength);
        return new globalThis[name](buffer, view.byteOffset, view.length);
    }

    function cloneError(error, known) {
        const own = (key) => getOwnPropertyDescriptor(error, key), { name } = error;
        const message = own("message"), cause = own("cause"), stack = own("stack");
        const clone = new (errors[name] ?? Error)(message === undefined ? undefined : `${message.value}`);
        const set = (key, value) =>
            Object.defineProperty(clone, key, { value, writable: true, configurable: true });
        known.set(error, clone);
        if (stack !== undefined && typeof stack.value === "string")
            set("stack", stack.value);
        if (cause !== undefined && "value" in cause)
            set("cause", cloneValue(cause.value, known));
        return clone;
    }

    // Objects whose members are cloned with them, once the clone is known.
    function cloneMembers(value, clone, known) {
        known.set(value, clone);
        for (const key of keys(value))
            Object.defineProperty(clone, key, { value: cloneValue(value[key], known), writable: true, enumerable: true,
                configurable: true });
        return clone;
    }

    function cloneMap(value, known) {
        const clone = new Map(), entries = [...Map.prototype.entries.call(value)];
        known.set(value, clone);
        for (const [key, item] of entries)
            clone.set(cloneValue(key, known), cloneValue(item, known));
        return clone;
    }

    function cloneSet(value, known) {
        const clone = new Set(), items = [...Set.prototype.values.call(value)];
        known.set(value, clone);
        for (const item of items)
            clone.add(cloneValue(item, known));
        return clone;
    }

    function remember(value, clone, known) {
        known.set(value, clone);
        return clone;
    }

    function cloneValue(value, known) {
        if (typeof value === "symbol" || typeof value === "function")
            throw uncloneable(value);
        if (!isObject(value))
            return value;
        if (known.has(value))
            return known.get(value);
        if (isView(value))
            return remember(value, cloneView(value, known), known);
        if (Error.isError?.(value) ?? tagOf(value) === "[object Error]")
            return cloneError(value, known);
        if (isArray(value)) {
            const clone = [];
            clone.length = value.length;
            return cloneMembers(value, clone, known);
        }
        switch (tagOf(value)) {
        case "[object Boolean]":
            return remember(value, Object(Boolean.prototype.valueOf.call(value)), known);
        case "[object Number]":
            return remember(value, Object(Number.prototype.valueOf.call(value)), known);
        case "[object String]":
            return remember(value, Object(String.prototype.valueOf.call(value)), known);
        case "[object BigInt]":
            return remember(value, Object(BigInt.prototype.valueOf.call(value)), known);
        case "[object Date]":
            return remember(value, new Date(Date.prototype.getTime.call(value)), known);
        case "[object RegExp]":
            return remember(value, new RegExp(value.source, value.flags), known);
        case "[object ArrayBuffer]":
            return cloneBuffer(value, known);
        case "[object Map]":
            return cloneMap(value, known);
        case "[object Set]":
            return cloneSet(value, known);
        case "[object Object]":
        case "[object Arguments]":
            return cloneMembers(value, {}, known);
        }
        throw uncloneable(value);
    }

    function structuredClone(value, options) {
        const known = new Map();
        for (const buffer of options?.transfer ?? []) {
            if (!(buffer instanceof ArrayBuffer) || buffer.detached || known.has(buffer))
                throw uncloneable(buffer);
            known.set(buffer, buffer.slice(0));
        }
        const moved = [...known.keys()];
        const clone = cloneValue(value, known);
        for (const buffer of moved)
            buffer.transfer();
        return clone;
    }

    const origin = native.wall() - native.now();
    const performance = {
        now: () => native.now(),
        get timeOrigin() {
            return origin;
        },
        toJSON: () => ({ timeOrigin: origin }),
    };

    const hex = [];
    for (let i = 0; i < 256; i++)
        hex[i] = (i + 256).toString(16).slice(1);

    const crypto = {
        getRandomValues(view) {
            const name = isView(view) ? typedTag.call(view) : undefined;
            if (name === undefined || name.startsWith("Float"))
                throw new TypeError("getRandomValues needs an array of integers");
            if (view.byteLength > 65536) {
                const error = new Error("getRandomValues fills 65536 bytes at most");
                error.name = "QuotaExceededError";
                throw error;
            }
            native.random(new Bytes(view.buffer, view.byteOffset, view.byteLength));
            return view;
        },
        randomUUID() {
            const bytes = new Bytes(16);
            native.random(bytes);
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let text = "";
            for (let i = 0; i < 16; i++)
                text += (i === 4 || i === 6 || i === 8 || i === 10 ? "-" : "") + hex[bytes[i]];
            return text;
        },
    };

    ({ __proto__: null, structuredClone, performance, crypto });
}
