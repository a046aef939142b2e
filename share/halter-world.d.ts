/**
 * The rest of a plugin's world: what a browser has too. For a program that is compiled without the
 * library "dom", which declares all of this, and much that a plugin has not got. With halter.d.ts:
 * `"lib": ["es2023"], "types": [], "files": ["halter.d.ts", "halter-world.d.ts", "plugin.js"]`.
 */

interface Console {
    log(...values: unknown[]): void;
    debug(...values: unknown[]): void;
    info(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
    trace(...values: unknown[]): void;
    dir(value?: unknown, options?: unknown): void;
    dirxml(...values: unknown[]): void;
    table(rows?: unknown, columns?: string[]): void;
    assert(condition?: boolean, ...values: unknown[]): void;
    count(label?: string): void;
    countReset(label?: string): void;
    group(...values: unknown[]): void;
    groupCollapsed(...values: unknown[]): void;
    groupEnd(): void;
    time(label?: string): void;
    timeLog(label?: string, ...values: unknown[]): void;
    timeEnd(label?: string): void;
}
declare var console: Console;

/** Timers run inside a call, while its promise is waited for. */
declare function setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T, options?: { transfer?: ArrayBuffer[] }): T;
/** Base64 of a string whose characters are bytes, and back. */
declare function btoa(bytes: string): string;
declare function atob(base64: string): string;

declare class TextEncoder {
    readonly encoding: "utf-8";
    encode(text?: string): Uint8Array;
    encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}
/** Of UTF-8 only. */
declare class TextDecoder {
    constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URL {
    constructor(url: string | URL, base?: string | URL);
    static canParse(url: string | URL, base?: string | URL): boolean;
    static parse(url: string | URL, base?: string | URL): URL | null;
    href: string;
    readonly origin: string;
    protocol: string;
    username: string;
    password: string;
    host: string;
    hostname: string;
    port: string;
    pathname: string;
    search: string;
    readonly searchParams: URLSearchParams;
    hash: string;
    toString(): string;
    toJSON(): string;
}
declare class URLSearchParams {
    constructor(from?: string | Iterable<[string, string]> | { [name: string]: string });
    readonly size: number;
    append(name: string, value: string): void;
    delete(name: string, value?: string): void;
    get(name: string): string | null;
    getAll(name: string): string[];
    has(name: string, value?: string): boolean;
    set(name: string, value: string): void;
    sort(): void;
    forEach(visit: (value: string, name: string, all: URLSearchParams) => void, thisArg?: unknown): void;
    entries(): IterableIterator<[string, string]>;
    keys(): IterableIterator<string>;
    values(): IterableIterator<string>;
    [Symbol.iterator](): IterableIterator<[string, string]>;
    toString(): string;
}

declare var performance: { now(): number; readonly timeOrigin: number; toJSON(): { timeOrigin: number } };
declare var crypto: {
    /** At most 65536 bytes at a time. */
    getRandomValues<T extends Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array
        | Int32Array | Uint32Array | BigInt64Array | BigUint64Array>(array: T): T;
    randomUUID(): string;
};
