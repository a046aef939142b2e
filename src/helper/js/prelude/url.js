// URL and URLSearchParams: the URL Standard's parser, state for state (https://url.spec.whatwg.org/).
// Names of states, and of what is encoded where, are the standard's. Hosts are urlhost.js's.
"use strict";
{
    const { lazy, defineProperty } = this;
    const { parseHost, serializeHost, Invalid } = lazy("urlhost");
    const { encode, decode, encodeText } = lazy("percent");

    const ports = { __proto__: null, ftp: 21, file: null, http: 80, https: 443, ws: 80, wss: 443 };
    const isSpecial = (url) => url.scheme in ports;
    const isAlpha = (c) => c !== undefined && /^[A-Za-z]$/.test(c);
    const isWindowsLetter = (text) => /^[A-Za-z][:|]$/.test(text);
    const isSingleDot = (text) => /^(?:\.|%2e)$/i.test(text);
    const isDoubleDot = (text) => /^(?:\.|%2e){2}$/i.test(text);
    const startsWithWindowsLetter = (input, at) => /^[A-Za-z][:|](?:$|[/\\?#])/.test(input.slice(at, at + 3).join(""));

    const fail = (what) => {
        throw new Invalid(what);
    };

    function emptyUrl() {
        return { scheme: "", username: "", password: "", host: null, port: null, path: [], opaque: false, query: null,
            fragment: null };
    }

    function shorten(url) {
        if (url.scheme === "file" && url.path.length === 1 && /^[A-Za-z]:$/.test(url.path[0]))
            return;
        url.path.pop();
    }

    // The parser is a machine that reads one code point at a time; each state is a method that is given it
    // (undefined at the end) and may move `at`. True ends the parsing early.
    class Parser {
        constructor(input, base, url, override) {
            this.input = [...input];
            this.base = base;
            this.url = url;
            this.override = override;
            this.state = override ?? "schemeStart";
            this.buffer = "";
            this.seenAt = this.insideBrackets = this.seenPassword = false;
            this.at = 0;
        }

        run() {
            for (; ; this.at++) {
                const c = this.input[this.at];
                if (this[this.state](c) || c === undefined && this.at >= this.input.length)
                    return this.url;
            }
        }

        back(state) {
            this.state = state;
            this.at--;
        }

        rest(count) {
            return this.input.slice(this.at + 1, this.at + 1 + count).join("");
        }

        schemeStart(c) {
            if (isAlpha(c)) {
                this.buffer += c.toLowerCase();
                this.state = "scheme";
            } else if (this.override === undefined) {
                this.back("noScheme");
            } else {
                return true;
            }
        }

        scheme(c) {
            if (c !== undefined && /^[A-Za-z0-9+.-]$/.test(c)) {
                this.buffer += c.toLowerCase();
                return;
            }
            if (c !== ":") {
                if (this.override !== undefined)
                    return true;
                this.buffer = "";
                this.at = -1;
                this.state = "noScheme";
                return;
            }
            const { url, buffer } = this;
            if (this.override !== undefined) {
                if (isSpecial(url) !== buffer in ports ||
                    (buffer === "file" && (url.username !== "" || url.password !== "" || url.port !== null)) ||
                    (url.scheme === "file" && url.host === ""))
                    return true;
                url.scheme = buffer;
                if (url.port === ports[buffer])
                    url.port = null;
                return true;
            }
            url.scheme = buffer;
            this.buffer = "";
            if (url.scheme === "file")
                this.state = "file";
            else if (isSpecial(url))
                this.state = this.base?.scheme === url.scheme ? "specialRelativeOrAuthority"
                    : "specialAuthoritySlashes";
            else if (this.rest(1) === "/") {
                this.state = "pathOrAuthority";
                this.at++;
            } else {
                url.path = "";
                url.opaque = true;
                this.state = "opaquePath";
            }
        }

        noScheme(c) {
            const { base, url } = this;
            if (base === null || (base.opaque && c !== "#"))
                fail("it is relative, and there is no base to be relative to");
            if (base.opaque) {
                Object.assign(url, { scheme: base.scheme, path: base.path, opaque: true, query: base.query,
                    fragment: "" });
                this.state = "fragment";
            } else {
                this.back(base.scheme === "file" ? "file" : "relative");
            }
        }

        specialRelativeOrAuthority(c) {
            if (c === "/" && this.rest(1) === "/") {
                this.state = "specialAuthorityIgnoreSlashes";
                this.at++;
            } else {
                this.back("relative");
            }
        }

        pathOrAuthority(c) {
            if (c === "/")
                this.state = "authority";
            else
                this.back("path");
        }

        relative(c) {
            const { base, url } = this;
            url.scheme = base.scheme;
            if (c === "/") {
                this.state = "relativeSlash";
                return;
            }
            if (isSpecial(url) && c === "\\") {
                this.state = "relativeSlash";
                return;
            }
            Object.assign(url, { username: base.username, password: base.password, host: base.host, port: base.port,
                path: [...base.path], query: base.query });
            if (c === "?") {
                url.query = "";
                this.state = "query";
            } else if (c === "#") {
                url.fragment = "";
                this.state = "fragment";
            } else if (c !== undefined) {
                url.query = null;
                shorten(url);
                this.back("path");
            }
        }

        relativeSlash(c) {
            const { base, url } = this;
            if (isSpecial(url) && (c === "/" || c === "\\")) {
                this.state = "specialAuthorityIgnoreSlashes";
            } else if (c === "/") {
                this.state = "authority";
            } else {
                Object.assign(url, { username: base.username, password: base.password, host: base.host,
                    port: base.port });
                this.back("path");
            }
        }

        specialAuthoritySlashes(c) {
            if (c === "/" && this.rest(1) === "/") {
                this.state = "specialAuthorityIgnoreSlashes";
                this.at++;
            } else {
                this.back("specialAuthorityIgnoreSlashes");
            }
        }

        specialAuthorityIgnoreSlashes(c) {
            if (c !== "/" && c !== "\\")
                this.back("authority");
        }

        authority(c) {
            const { url } = this;
            if (c === "@") {
                const text = this.seenAt ? "%40" + this.buffer : this.buffer;
                this.seenAt = true;
                for (const point of text) {
                    if (point === ":" && !this.seenPassword) {
                        this.seenPassword = true;
                        continue;
                    }
                    if (this.seenPassword)
                        url.password += encode(point, "userinfo");
                    else
                        url.username += encode(point, "userinfo");
                }
                this.buffer = "";
            } else if (c === undefined || c === "/" || c === "?" || c === "#" || (isSpecial(url) && c === "\\")) {
                if (this.seenAt && this.buffer === "")
                    fail("it names a user and no host");
                this.at -= [...this.buffer].length + 1;
                this.buffer = "";
                this.state = "host";
            } else {
                this.buffer += c;
            }
        }

        host(c) {
            const { url } = this;
            if (this.override !== undefined && url.scheme === "file") {
                this.back("fileHost");
            } else if (c === ":" && !this.insideBrackets) {
                if (this.buffer === "")
                    fail("it names a port and no host");
                if (this.override === "hostname")
                    fail("a hostname has no port");
                url.host = parseHost(this.buffer, !isSpecial(url));
                this.buffer = "";
                this.state = "port";
            } else if (c === undefined || c === "/" || c === "?" || c === "#" || (isSpecial(url) && c === "\\")) {
                this.at--;
                if (isSpecial(url) && this.buffer === "")
                    fail("it has no host");
                if (this.override !== undefined && this.buffer === "" &&
                    (url.username !== "" || url.password !== "" || url.port !== null))
                    fail("it names a user or a port and no host");
                url.host = parseHost(this.buffer, !isSpecial(url));
                this.buffer = "";
                this.state = "pathStart";
                return this.override !== undefined;
            } else {
                if (c === "[")
                    this.insideBrackets = true;
                if (c === "]")
                    this.insideBrackets = false;
                this.buffer += c;
            }
        }

        hostname(c) {
            return this.host(c);
        }

        port(c) {
            const { url } = this;
            if (c !== undefined && c >= "0" && c <= "9") {
                this.buffer += c;
            } else if (c === undefined || c === "/" || c === "?" || c === "#" || (isSpecial(url) && c === "\\") ||
                this.override !== undefined) {
                if (this.buffer !== "") {
                    const port = +this.buffer;
                    if (port > 65535)
                        fail("its port is above 65535");
                    url.port = port === ports[url.scheme] ? null : port;
                    this.buffer = "";
                    if (this.override !== undefined)
                        return true;
                }
                if (this.override !== undefined)
                    fail("it is no port");
                this.back("pathStart");
            } else {
                fail("its port is no number");
            }
        }

        file(c) {
            const { url, base } = this;
            url.scheme = "file";
            url.host = "";
            if (c === "/" || c === "\\") {
                this.state = "fileSlash";
            } else if (base?.scheme === "file") {
                Object.assign(url, { host: base.host, path: [...base.path], query: base.query });
                if (c === "?") {
                    url.query = "";
                    this.state = "query";
                } else if (c === "#") {
                    url.fragment = "";
                    this.state = "fragment";
                } else if (c !== undefined) {
                    url.query = null;
                    if (startsWithWindowsLetter(this.input, this.at))
                        url.path = [];
                    else
                        shorten(url);
                    this.back("path");
                }
            } else {
                this.back("path");
            }
        }

        fileSlash(c) {
            const { url, base } = this;
            if (c === "/" || c === "\\") {
                this.state = "fileHost";
                return;
            }
            if (base?.scheme === "file") {
                url.host = base.host;
                if (!startsWithWindowsLetter(this.input, this.at) && base.path.length > 0 &&
                    /^[A-Za-z]:$/.test(base.path[0]))
                    url.path.push(base.path[0]);
            }
            this.back("path");
        }

        fileHost(c) {
            const { url } = this;
            if (c !== undefined && c !== "/" && c !== "\\" && c !== "?" && c !== "#") {
                this.buffer += c;
                return;
            }
            this.at--;
            if (this.override === undefined && isWindowsLetter(this.buffer)) {
                this.state = "path";
            } else if (this.buffer === "") {
                url.host = "";
                if (this.override !== undefined)
                    return true;
                this.state = "pathStart";
            } else {
                const host = parseHost(this.buffer, !isSpecial(url));
                url.host = host === "localhost" ? "" : host;
                if (this.override !== undefined)
                    return true;
                this.buffer = "";
                this.state = "pathStart";
            }
        }

        pathStart(c) {
            const { url } = this;
            if (isSpecial(url)) {
                this.state = "path";
                if (c !== "/" && c !== "\\")
                    this.at--;
            } else if (this.override === undefined && c === "?") {
                url.query = "";
                this.state = "query";
            } else if (this.override === undefined && c === "#") {
                url.fragment = "";
                this.state = "fragment";
            } else if (c !== undefined) {
                this.state = "path";
                if (c !== "/")
                    this.at--;
            } else if (this.override !== undefined && url.host === null) {
                url.path.push("");
            }
        }

        path(c) {
            const { url } = this;
            const slash = c === "/" || (isSpecial(url) && c === "\\");
            if (c !== undefined && !slash && (this.override !== undefined || (c !== "?" && c !== "#"))) {
                this.buffer += encode(c, "path");
                return;
            }
            if (isDoubleDot(this.buffer)) {
                shorten(url);
                if (!slash)
                    url.path.push("");
            } else if (isSingleDot(this.buffer)) {
                if (!slash)
                    url.path.push("");
            } else {
                if (url.scheme === "file" && url.path.length === 0 && isWindowsLetter(this.buffer))
                    this.buffer = this.buffer[0] + ":";
                url.path.push(this.buffer);
            }
            this.buffer = "";
            if (c === "?") {
                url.query = "";
                this.state = "query";
            } else if (c === "#") {
                url.fragment = "";
                this.state = "fragment";
            }
        }

        opaquePath(c) {
            const { url } = this;
            if (c === "?") {
                url.query = "";
                this.state = "query";
            } else if (c === "#") {
                url.fragment = "";
                this.state = "fragment";
            } else if (c === " ") {
                url.path += this.rest(1) === "?" || this.rest(1) === "#" ? "%20" : " ";
            } else if (c !== undefined) {
                url.path += encode(c, "control");
            }
        }

        query(c) {
            const { url } = this;
            if (c !== undefined && (this.override !== undefined || c !== "#")) {
                url.query += encode(c, isSpecial(url) ? "specialQuery" : "query");
            } else if (c === "#") {
                url.fragment = "";
                this.state = "fragment";
            }
        }

        fragment(c) {
            if (c !== undefined)
                this.url.fragment += encode(c, "fragment");
        }
    }

    function parse(input, base) {
        const url = emptyUrl();
        const text = input.replace(/^[\0- ]+|[\0- ]+$/g, "").replace(/[\t\n\r]/g, "");
        return new Parser(text, base, url, undefined).run();
    }

    // A setter: parses into a copy, and keeps it when it is valid.
    function change(url, input, state, prepare) {
        const copy = { ...url, path: url.opaque ? url.path : [...url.path] };
        prepare?.(copy);
        try {
            new Parser(input.replace(/[\t\n\r]/g, ""), null, copy, state).run();
        } catch (thrown) {
            if (thrown instanceof Invalid) {
                // A host that was read before the port was found to be wrong stays.
                if (state === "host" && copy.host !== url.host && thrown.message.includes("port"))
                    return copy;
                return url;
            }
            throw thrown;
        }
        return copy;
    }

    function pathText(url) {
        return url.opaque ? url.path : url.path.map((segment) => "/" + segment).join("");
    }

    function serialize(url, withoutFragment) {
        let text = url.scheme + ":";
        if (url.host !== null) {
            text += "//";
            if (url.username !== "" || url.password !== "")
                text += url.username + (url.password === "" ? "" : ":" + url.password) + "@";
            text += serializeHost(url.host) + (url.port === null ? "" : ":" + url.port);
        } else if (!url.opaque && url.path.length > 1 && url.path[0] === "") {
            text += "/.";
        }
        text += pathText(url);
        if (url.query !== null)
            text += "?" + url.query;
        if (url.fragment !== null && !withoutFragment)
            text += "#" + url.fragment;
        return text;
    }

    function originOf(url) {
        if (url.scheme === "blob") {
            try {
                const inner = parse(pathText(url), null);
                return inner.scheme === "http" || inner.scheme === "https" ? originOf(inner) : "null";
            } catch {
                return "null";
            }
        }
        if (!isSpecial(url) || url.scheme === "file")
            return "null";
        return url.scheme + "://" + serializeHost(url.host) + (url.port === null ? "" : ":" + url.port);
    }

    const text = (value) => `${value}`.toWellFormed();

    // ---- URLSearchParams -------------------------------------------------------------------------

    function readForm(input) {
        return input.split("&").filter((pair) => pair !== "").map((pair) => {
            const at = pair.indexOf("=");
            const part = (piece) => decode(piece.replaceAll("+", " "));
            return at < 0 ? [part(pair), ""] : [part(pair.slice(0, at)), part(pair.slice(at + 1))];
        });
    }

    function writeForm(pairs) {
        return pairs.map(([name, value]) => encodeText(name, "form") + "=" + encodeText(value, "form")).join("&");
    }

    function pairsOf(init) {
        if (typeof init !== "object" && typeof init !== "function" || init === null)
            return readForm(text(init).replace(/^\?/, ""));
        if (typeof init[Symbol.iterator] === "function")
            return [...init].map((pair) => {
                const both = [...pair];
                if (both.length !== 2)
                    throw new TypeError("each pair of URLSearchParams has a name and a value");
                return [text(both[0]), text(both[1])];
            });
        return Reflect.ownKeys(init)
            .filter((key) => Object.getOwnPropertyDescriptor(init, key)?.enumerable)
            .map((key) => [text(key), text(init[key])]);
    }

    let adopt; // makes the searchParams of a URL

    class URLSearchParams {
        #pairs; #changed;

        static {
            adopt = (pairs, changed) => {
                const made = new URLSearchParams();
                made.#pairs = pairs;
                made.#changed = changed;
                return { params: made, replace: (others) => { made.#pairs = others; } };
            };
        }
        constructor(init = "") {
            this.#pairs = pairsOf(init);
        }
        #update() {
            this.#changed?.(writeForm(this.#pairs));
        }
        get size() {
            return this.#pairs.length;
        }
        append(name, value) {
            this.#pairs.push([text(name), text(value)]);
            this.#update();
        }
        delete(name, value) {
            name = text(name);
            this.#pairs = this.#pairs.filter((pair) => pair[0] !== name ||
                (value !== undefined && pair[1] !== text(value)));
            this.#update();
        }
        get(name) {
            name = text(name);
            return this.#pairs.find((pair) => pair[0] === name)?.[1] ?? null;
        }
        getAll(name) {
            name = text(name);
            return this.#pairs.filter((pair) => pair[0] === name).map((pair) => pair[1]);
        }
        has(name, value) {
            name = text(name);
            return this.#pairs.some((pair) => pair[0] === name && (value === undefined || pair[1] === text(value)));
        }
        set(name, value) {
            name = text(name);
            const first = this.#pairs.find((pair) => pair[0] === name);
            if (first === undefined) {
                this.#pairs.push([name, text(value)]);
            } else {
                first[1] = text(value);
                this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== name);
            }
            this.#update();
        }
        sort() {
            this.#pairs.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
            this.#update();
        }
        forEach(callback, self) {
            for (let i = 0; i < this.#pairs.length; i++)
                callback.call(self, this.#pairs[i][1], this.#pairs[i][0], this);
        }
        *entries() {
            for (let i = 0; i < this.#pairs.length; i++)
                yield [...this.#pairs[i]];
        }
        *keys() {
            for (const [name] of this.entries())
                yield name;
        }
        *values() {
            for (const [, value] of this.entries())
                yield value;
        }
        [Symbol.iterator]() {
            return this.entries();
        }
        toString() {
            return writeForm(this.#pairs);
        }
    }

    // ---- URL -------------------------------------------------------------------------------------

    class URL {
        #url; #params;

        constructor(input, base) {
            try {
                this.#url = parse(text(input), base === undefined ? null : parse(text(base), null));
            } catch (thrown) {
                if (!(thrown instanceof Invalid))
                    throw thrown;
                const error = new TypeError(`"${text(input)}" is no URL: ${thrown.message}`);
                error.code = "ERR_INVALID_URL";
                throw error;
            }
        }
        static canParse(input, base) {
            return URL.parse(input, base) !== null;
        }
        static parse(input, base) {
            try {
                return base === undefined ? new URL(input) : new URL(input, base);
            } catch (thrown) {
                if (thrown.code === "ERR_INVALID_URL")
                    return null;
                throw thrown;
            }
        }
        #renewParams() {
            this.#params?.replace(readForm(this.#url.query ?? ""));
        }
        get href() {
            return serialize(this.#url);
        }
        set href(value) {
            this.#url = new URL(value).#url;
            this.#renewParams();
        }
        get origin() {
            return originOf(this.#url);
        }
        get protocol() {
            return this.#url.scheme + ":";
        }
        set protocol(value) {
            this.#url = change(this.#url, text(value) + ":", "schemeStart");
        }
        #hasNoCredentials() {
            return this.#url.host === null || this.#url.host === "" || this.#url.scheme === "file";
        }
        get username() {
            return this.#url.username;
        }
        set username(value) {
            if (!this.#hasNoCredentials())
                this.#url.username = encodeText(text(value), "userinfo");
        }
        get password() {
            return this.#url.password;
        }
        set password(value) {
            if (!this.#hasNoCredentials())
                this.#url.password = encodeText(text(value), "userinfo");
        }
        get host() {
            const { host, port } = this.#url;
            return host === null ? "" : serializeHost(host) + (port === null ? "" : ":" + port);
        }
        set host(value) {
            if (!this.#url.opaque)
                this.#url = change(this.#url, text(value), "host");
        }
        get hostname() {
            return this.#url.host === null ? "" : serializeHost(this.#url.host);
        }
        set hostname(value) {
            if (!this.#url.opaque)
                this.#url = change(this.#url, text(value), "hostname");
        }
        get port() {
            return this.#url.port === null ? "" : `${this.#url.port}`;
        }
        set port(value) {
            if (this.#hasNoCredentials())
                return;
            if (text(value) === "")
                this.#url.port = null;
            else
                this.#url = change(this.#url, text(value), "port");
        }
        get pathname() {
            return pathText(this.#url);
        }
        set pathname(value) {
            if (!this.#url.opaque)
                this.#url = change(this.#url, text(value), "pathStart", (copy) => { copy.path = []; });
        }
        get search() {
            return this.#url.query ? "?" + this.#url.query : "";
        }
        set search(value) {
            const query = text(value).replace(/^\?/, "");
            if (text(value) === "")
                this.#url.query = null;
            else
                this.#url = change(this.#url, query, "query", (copy) => { copy.query = ""; });
            this.#renewParams();
        }
        get searchParams() {
            this.#params ??= adopt(readForm(this.#url.query ?? ""), (query) => {
                this.#url.query = query === "" ? null : query;
            });
            return this.#params.params;
        }
        get hash() {
            return this.#url.fragment ? "#" + this.#url.fragment : "";
        }
        set hash(value) {
            const fragment = text(value).replace(/^#/, "");
            if (text(value) === "")
                this.#url.fragment = null;
            else
                this.#url = change(this.#url, fragment, "fragment", (copy) => { copy.fragment = ""; });
        }
        toString() {
            return this.href;
        }
        toJSON() {
            return this.href;
        }
    }

    for (const [of, name] of [[URL, "URL"], [URLSearchParams, "URLSearchParams"]]) {
        defineProperty(of.prototype, Symbol.toStringTag, { __proto__: null, value: name, configurable: true });
        for (const key of Object.getOwnPropertyNames(of.prototype))
            if (key !== "constructor")
                defineProperty(of.prototype, key, { __proto__: null, enumerable: true });
    }
    ({ __proto__: null, URL, URLSearchParams });
}
