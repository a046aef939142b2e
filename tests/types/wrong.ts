// What a plugin may not write. Each line below such a comment has to be an error, or the comment is.
async function mistakes(ctx: halter.Context): Promise<void> {
    // @ts-expect-error: what was not granted does not exist
    await host.fetch("https://example.org");
    // @ts-expect-error: nor is there any state
    await host.state.get("k");
    if (!host.fetch || !host.state?.set || !host.state.get || !host.open || !host.list)
        return;
    // @ts-expect-error: there is no such option
    await host.fetch("https://example.org", { methd: "POST" });
    // @ts-expect-error: a body is text
    await host.fetch("https://example.org", { method: "POST", body: { a: 1 } });
    // @ts-expect-error: bytes come as base64
    await host.fetch("https://example.org", { as: "bytes" });
    // @ts-expect-error: redirects are followed, refused or shown
    await host.fetch("https://example.org", { redirect: "never" });
    // @ts-expect-error: the body is text unless JSON was asked for
    const json: { a: 1 } = (await host.fetch("https://example.org")).body;
    // @ts-expect-error: it is a promise
    const status: number = host.fetch("https://example.org").status;
    // @ts-expect-error: a URL object is no text
    host.fetch.sync(new URL("https://example.org"));
    // @ts-expect-error: state is JSON
    await host.state.set("k", () => 1);
    // @ts-expect-error: state is JSON, of which a BigInt is no part
    await host.state.set("k", 1n);
    // @ts-expect-error: a value may be anything, null too
    const count: number = await host.state.get("k");
    // @ts-expect-error: a key is text
    host.state.get.sync(1);
    // @ts-expect-error: swap was not looked for
    await host.state.swap("k", 1, 2);
    // @ts-expect-error: there is no such mode
    await host.open("notes/a", "a");
    // @ts-expect-error: what is opened is a file, not text
    const text: string = await host.open("notes/a");
    // @ts-expect-error: entries have a type, the kind is for passed directories
    (await host.list("notes"))[0].kind;
    // @ts-expect-error: a file is made by the host
    new halter.File();
    // @ts-expect-error: the context is to be read
    ctx.deadline = 10;
    // @ts-expect-error: there may be no files
    ctx.files[0].read();
    // @ts-expect-error: the locale is to be read
    host.locale = "de";
    // @ts-expect-error: there is no module to import
    await import("node:fs");
    // @ts-expect-error: nor is there a process
    process.exit(0);
    // @ts-expect-error: nor fetch without a host
    await fetch("https://example.org");
    // @ts-expect-error: nor a document
    document.title = "x";
}
// @ts-expect-error: it takes two arguments
globalThis.transform = (raw, ctx, more) => raw;
// @ts-expect-error: it is a function
globalThis.transform = mistakes(host);
