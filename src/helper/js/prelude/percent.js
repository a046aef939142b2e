// Percent-encoding: which characters are written as %XX where (https://url.spec.whatwg.org/#percent-encoded-bytes).
"use strict";
{
    const { native, create } = this;
    // Printable ASCII that is encoded besides controls and what is not ASCII; each set adds to the one before.
    const fragment = " \"<>`", query = " \"#<>", path = query + "?^`{}", userinfo = path + "/:;=@[\\]|";
    const sets = { __proto__: null, control: "", fragment, query, specialQuery: query + "'", path, userinfo,
        component: userinfo + "$&+,", form: userinfo + "$&+,!'()~%" };
    const tables = create(null);
    for (const name in sets) {
        tables[name] = [];
        for (let code = 0; code < 128; code++)
            tables[name][code] = code < 0x20 || code === 0x7f || sets[name].includes(String.fromCharCode(code));
    }
    const hex = (byte) => "%" + (byte < 16 ? "0" : "") + byte.toString(16).toUpperCase();

    // One code point.
    function encode(point, set) {
        const code = point.charCodeAt(0);
        if (code < 128)
            return tables[set][code] ? hex(code) : point;
        let text = "";
        for (const byte of native.utf8Encode(point))
            text += hex(byte);
        return text;
    }

    function encodeText(text, set) {
        let out = "";
        for (const point of text)
            out += set === "form" && point === " " ? "+" : encode(point, set);
        return out;
    }

    function decodeBytes(text) {
        const bytes = native.utf8Encode(text), out = new Uint8Array(bytes.length);
        let length = 0;
        for (let i = 0; i < bytes.length; i++) {
            const digits = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : "";
            if (/^[0-9A-Fa-f]{2}$/.test(digits)) {
                out[length++] = parseInt(digits, 16);
                i += 2;
            } else {
                out[length++] = bytes[i];
            }
        }
        return out.subarray(0, length);
    }

    // Without its byte order mark handling: what was encoded comes back.
    const decode = (text) => text.includes("%") ? native.utf8Decode(decodeBytes(text).slice(), false, false, () => {})
        : text;

    ({ __proto__: null, encode, encodeText, decode });
}
