/**
 * What a halter plugin finds in its world, for TypeScript and for editors. Put
 * `/// <reference path="halter.d.ts" />` at the top of a plugin, or the file's folder into
 * `typeRoots`. What was not granted does not exist at run time: test for it where a plugin can do
 * without (`if (host.fetch) …`), which is why those members are optional here.
 */

/** Set by the plugin: one record in, one record out. A promise is awaited. */
declare var transform: (raw: any, ctx: halter.Context) => unknown;

declare const host: halter.Host;

declare namespace halter {
    /** Anything that JSON can hold. */
    type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

    /** What is known about a call. */
    interface Context {
        /** Milliseconds since 1970. */
        readonly now: number;
        /** BCP 47, e.g. "de-AT". */
        readonly locale: string;
        /** The number of the call, counted by the host. */
        readonly tick: number;
        /** The number of the process: another one means that global variables began anew. */
        readonly generation: number;
        /** Milliseconds that this call may take. */
        readonly deadline: number;
        /** Descriptors that the application passed with this call. */
        readonly files?: readonly File[];
    }

    /**
     * A function that the host answers. It gives a promise; `.sync(…)` blocks the script, and
     * nothing else, until the answer is there. While the host works the deadline stands still.
     */
    interface Call<A extends unknown[], R> {
        (...args: A): Promise<R>;
        sync(...args: A): R;
    }

    interface Host {
        /** One line for the application's log. A level may come first: "debug", "info", "warn", "error". */
        log(...values: unknown[]): void;
        /** Milliseconds since 1970. */
        now(): number;
        readonly locale: string;
        /** With a grant such as network:https://api.example.org. */
        fetch?: Fetch;
        /** With the grant state. */
        state?: State;
        /** With a grant such as files:notes:read=/home/me/notes: opens a file below that tree. */
        open?: Call<[path: string, mode?: OpenMode], File>;
        /** Likewise: what is in a folder, at most 2000 entries. */
        list?: Call<[path: string], Entry[]>;
        /** Capabilities of the application's own. */
        [capability: string]: any;
    }

    interface FetchOptions {
        /** GET unless given; not CONNECT, TRACE or TRACK. */
        method?: string;
        headers?: { [name: string]: string };
        body?: string | null;
        /** What the body becomes; "text" unless given. */
        as?: "text" | "json" | "base64";
        /** "follow" unless given; at most ten, each of which is decided about anew. */
        redirect?: "follow" | "error" | "manual";
        /** For everything, redirects included; 30000 unless given, at most 600000. */
        timeout_ms?: number;
        /** Of the body, after decompression; 8 MiB unless given, at most 64 MiB. */
        max_bytes?: number;
    }

    interface Response<B> {
        /** The status is from 200 to 299. */
        readonly ok: boolean;
        readonly status: number;
        /** Where it came from in the end. */
        readonly url: string;
        readonly redirected: boolean;
        /** Names in lower case; values of one name are joined by ", ". */
        readonly headers: { readonly [name: string]: string };
        readonly body: B;
        /** With redirect "manual": where it would have led. There is no body then. */
        readonly redirect?: string;
    }

    interface Fetch {
        (url: string, options: FetchOptions & { as: "json" }): Promise<Response<Json>>;
        (url: string, options?: FetchOptions): Promise<Response<string>>;
        sync(url: string, options: FetchOptions & { as: "json" }): Response<Json>;
        sync(url: string, options?: FetchOptions): Response<string>;
    }

    /**
     * Values that survive the process. Where a promise of a change is fulfilled, the change is on
     * the disk. null stands for "nothing there", in both directions.
     */
    interface State {
        get?: Call<[key: string], Json>;
        /** The keys that begin with the prefix, in order. */
        keys?: Call<[prefix?: string], string[]>;
        set?: Call<[key: string, value: Json], null>;
        /** Whether there was one. */
        delete?: Call<[key: string], boolean>;
        /** Sets the value if it is the expected one now, and says whether it was. */
        swap?: Call<[key: string, expected: Json, value: Json], boolean>;
    }

    /** "r" reads, "r+" reads and writes what is there, "w" makes or empties it, "x" makes it anew. */
    type OpenMode = "r" | "r+" | "w" | "x";

    interface File {
        /** What the host said about it: host.open tells the path. */
        readonly info: any;
        readonly size: number;
        /** All that is left, or at most so many bytes. */
        read(bytes?: number): string;
        read(options: { as: "bytes" }): Uint8Array;
        read(bytes: number, options: { as: "bytes" }): Uint8Array;
        /** Bytes written. */
        write(data: string | ArrayBuffer | ArrayBufferView): number;
        seek(position: number): void;
        /** For a directory that the application passed; its entries cannot be opened from here. */
        list(): { name: string; kind: string }[];
        close(): void;
    }

    interface Entry {
        readonly name: string;
        readonly type: "file" | "directory" | "link" | "other";
        readonly size: number;
    }

    /** Policy says no. */
    interface DeniedError extends Error {
        name: "DeniedError";
    }
    /** It was allowed and did not work. */
    interface HostError extends Error {
        name: "HostError";
    }
    /** A quota, a rate or a size. */
    interface QuotaError extends Error {
        name: "QuotaError";
    }
}
