// TextEncoder, TextDecoder, atob and btoa. The bytes are handled in C.
// https://encoding.spec.whatwg.org/, https://html.spec.whatwg.org/#atob
"use strict";
{
    const { native, create, defineProperty } = this;
    const Bytes = Uint8Array, Buffer = ArrayBuffer, { isView } = ArrayBuffer;
    const { fromCharCode } = String;

    const labels = create(null);
    for (const [name, all] of Object.entries({
        "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
        "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
        "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 " +
            "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    }))
        for (const label of all.split(" "))
            labels[label] = name;

    // The characters of 0x80 to 0x9f in windows-1252; the rest of it is Latin-1.
    const upper = [0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152,
        0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a,
        0x153, 0x9d, 0x17e, 0x178];

    function bytesOf(input) {
        if (input === undefined)
            return new Bytes(0);
        if (isView(input))
            return new Bytes(input.buffer, input.byteOffset, input.byteLength);
        if (input instanceof Buffer)
            return new Bytes(input);
        throw new TypeError("bytes are needed: an ArrayBuffer or a view of one");
    }

    class TextEncoder {
        get encoding() {
            return "utf-8";
        }
        encode(text = "") {
            return native.utf8Encode(`${text}`);
        }
        encodeInto(text, into) {
            if (!(into instanceof Bytes))
                throw new TypeError("encodeInto needs a Uint8Array");
            let read = 0;
            const written = native.utf8EncodeInto(`${text}`, into, (count) => { read = count; });
            return { read, written };
        }
    }

    class TextDecoder {
        #name; #fatal; #ignoreBOM; #kept = new Bytes(0); #started = false;

        constructor(label = "utf-8", options = {}) {
            const wanted = `${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
            this.#name = labels[wanted];
            if (this.#name === undefined)
                throw new RangeError(`no decoder for the encoding "${wanted}": utf-8, utf-16le and windows-1252 are there`);
            this.#fatal = !!options.fatal;
            this.#ignoreBOM = !!options.ignoreBOM;
        }
        get encoding() {
            return this.#name;
        }
        get fatal() {
            return this.#fatal;
        }
        get ignoreBOM() {
            return this.#ignoreBOM;
        }
        decode(input, options = {}) {
            const more = !!options.stream;
            let bytes = bytesOf(input), kept = 0;
            if (this.#kept.length) {
                const all = new Bytes(this.#kept.length + bytes.length);
                all.set(this.#kept);
                all.set(bytes, this.#kept.length);
                bytes = all;
            }
            const text = this.#name === "utf-8" ? native.utf8Decode(bytes, more, this.#fatal, (count) => { kept = count; })
                : this.#name === "utf-16le" ? this.#utf16(bytes, more, (count) => { kept = count; })
                    : windows1252(bytes);
            if (text === null) {
                this.#reset();
                throw new TypeError("the bytes are not valid " + this.#name);
            }
            const started = this.#started;
            if (more) {
                this.#kept = bytes.slice(bytes.length - kept);
                this.#started = started || text !== "";
            } else {
                this.#reset();
            }
            return !started && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff && this.#name !== "windows-1252"
                ? text.slice(1) : text;
        }
        #reset() {
            this.#kept = new Bytes(0);
            this.#started = false;
        }
        #utf16(bytes, more, keep) {
            let end = bytes.length & ~1, text = "";
            const last = end >= 2 ? bytes[end - 2] | bytes[end - 1] << 8 : 0;
            if (more && (last & 0xfc00) === 0xd800)
                end -= 2;
            if (more)
                keep(bytes.length - end);
            for (let i = 0; i < end; i += 2)
                text += fromCharCode(bytes[i] | bytes[i + 1] << 8);
            // One error for what the end cuts off: a byte, a surrogate without its second, or both.
            const cut = !more && end < bytes.length;
            if (this.#fatal && (cut || !text.isWellFormed()))
                return null;
            if (cut && (last & 0xfc00) !== 0xd800)
                text += "\ufffd";
            return text.toWellFormed();
        }
    }

    function windows1252(bytes) {
        let text = "";
        for (let i = 0; i < bytes.length; i++)
            text += fromCharCode(bytes[i] >= 0x80 && bytes[i] < 0xa0 ? upper[bytes[i] - 0x80] : bytes[i]);
        return text;
    }

    for (const [of, name] of [[TextEncoder, "TextEncoder"], [TextDecoder, "TextDecoder"]])
        defineProperty(of.prototype, Symbol.toStringTag, { __proto__: null, value: name, configurable: true });

    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const digits = create(null);
    for (let i = 0; i < 64; i++)
        digits[alphabet[i]] = i;

    function invalid(message) {
        const error = new Error(message);
        error.name = "InvalidCharacterError";
        return error;
    }

    function btoa(data) {
        const text = `${data}`;
        let out = "";
        for (let i = 0; i < text.length; i += 3) {
            const a = text.charCodeAt(i), b = text.charCodeAt(i + 1), c = text.charCodeAt(i + 2);
            if (a > 255 || b > 255 || c > 255)
                throw invalid("btoa takes characters up to U+00FF");
            out += alphabet[a >> 2] + alphabet[(a & 3) << 4 | b >> 4] +
                (i + 1 < text.length ? alphabet[(b & 15) << 2 | c >> 6] : "=") +
                (i + 2 < text.length ? alphabet[c & 63] : "=");
        }
        return out;
    }

    function atob(data) {
        let text = `${data}`.replace(/[\t\n\f\r ]+/g, "");
        if (text.length % 4 === 0)
            text = text.replace(/==?$/, "");
        if (text.length % 4 === 1)
            throw invalid("atob was given text of a length that is not base64");
        let out = "", bits = 0, held = 0;
        for (let i = 0; i < text.length; i++) {
            const digit = digits[text[i]];
            if (digit === undefined)
                throw invalid("atob was given a character that is not base64");
            held = (held << 6 | digit) & 0xffff;
            bits += 6;
            if (bits >= 8) {
                bits -= 8;
                out += fromCharCode(held >> bits & 255);
            }
        }
        return out;
    }

    ({ __proto__: null, TextEncoder, TextDecoder, atob, btoa });
}
