// What a plugin may write: all of it is right, under --strict.
async function everything(host: halter.Host, ctx: halter.Context): Promise<halter.Json> {
    host.log("warn", "a line", 1, { any: "thing" });
    const seconds: number = (host.now() - ctx.now) / 1000;
    if (host.fetch) {
        const page = await host.fetch("https://api.example.org/", { headers: { accept: "text/html" } });
        const text: string = page.body;
        const data = host.fetch.sync("https://api.example.org/", { as: "json", max_bytes: 1000 });
        const json: halter.Json = data.body;
        if (page.redirect !== undefined || !data.ok)
            return [text, json, data.headers["content-type"] ?? null, seconds];
    }
    if (host.state?.get && host.state.swap) {
        const before = await host.state.get("count");
        const swapped: boolean = host.state.swap.sync("count", before, 1);
        const keys: string[] = await host.state.keys!("co");
        await host.state.set!("list", [1, "two", { three: null }]);
        return [swapped, keys];
    }
    if (host.open && host.list) {
        const file = await host.open("notes/today.md", "r+");
        const bytes: Uint8Array = file.read(100, { as: "bytes" });
        const written: number = file.write(bytes) + file.write("text");
        file.seek(0);
        file.close();
        const names: string[] = (await host.list("notes")).filter(e => e.type === "file").map(e => e.name);
        return [written, names, file.size];
    }
    for (const file of ctx.files ?? [])
        console.log(file.read(), file.list().map(entry => entry.kind));
    try {
        return await host.ai.respond("a capability of the application's own");
    } catch (error) {
        return (error as halter.DeniedError).name;
    }
}

globalThis.transform = (raw, ctx) => everything(host, ctx);
globalThis.transform = () => undefined;

const id = setTimeout((a: number, b: string) => console.info(a, b), 10, 1, "b");
clearTimeout(id);
queueMicrotask(() => console.table([{ a: 1 }]));
const copy: { a: number[] } = structuredClone({ a: [1] });
const url = new URL("?q=1", "https://example.org");
url.searchParams.append("n", String(copy.a.length));
const encoded: string = btoa(new TextDecoder("utf-8", { fatal: true }).decode(new TextEncoder().encode(url.href)));
crypto.getRandomValues(new Uint8Array(encoded.length));
