// Hosts of URLs: domains, IPv4 and IPv6 addresses (https://url.spec.whatwg.org/#host-parsing).
//
// Domains that are not ASCII are mapped with what the engine has: NFKC, lower case and Punycode (RFC 3492).
// That agrees with UTS #46 but for rules of single scripts (joiners, bidirectional labels), which are not checked.
"use strict";
{
    const { lazy } = this;
    const { encode, decode } = lazy("percent");
    const forbidden = /[\0\t\n\r #/:<>?@[\\\]^|]/, forbiddenDomain = /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;
    // url.js knows it by its kind: TypeErrors of other origins are not "no URL".
    class Invalid extends TypeError {}
    const fail = (what) => {
        throw new Invalid(what);
    };

    function parseHost(input, opaque) {
        if (input[0] === "[") {
            if (input.at(-1) !== "]")
                fail("its IPv6 address has no ]");
            return parseIpv6(input.slice(1, -1));
        }
        if (opaque) {
            if (forbidden.test(input))
                fail("its host has a character that no host has");
            return [...input].map((point) => encode(point, "control")).join("");
        }
        const domain = toAscii(decode(input));
        if (domain === "" || forbiddenDomain.test(domain))
            fail("its host has a character that no domain has");
        return endsInNumber(domain) ? parseIpv4(domain) : domain;
    }

    function endsInNumber(domain) {
        const parts = domain.split(".");
        if (parts.at(-1) === "" && parts.length > 1)
            parts.pop();
        const last = parts.at(-1);
        return /^[0-9]+$/.test(last) || /^0x[0-9a-f]*$/i.test(last);
    }

    function parseNumber(text) {
        if (text === "")
            return NaN;
        if (/^0x/i.test(text))
            return text.length === 2 ? 0 : /^0x[0-9a-f]+$/i.test(text) ? parseInt(text, 16) : NaN;
        if (text.length > 1 && text[0] === "0")
            return /^[0-7]+$/.test(text) ? parseInt(text, 8) : NaN;
        return /^[0-9]+$/.test(text) ? +text : NaN;
    }

    // A number: that is how the rest knows it from a domain.
    function parseIpv4(input) {
        const parts = input.split(".");
        if (parts.at(-1) === "" && parts.length > 1)
            parts.pop();
        const numbers = parts.map(parseNumber), last = numbers.pop();
        if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length)))
            fail("its host is no IPv4 address");
        return numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
    }

    // An array of eight pieces.
    function parseIpv6(input) {
        const bad = () => fail("its host is no IPv6 address");
        const halves = input.split("::");
        if (halves.length > 2)
            bad();
        const [front, back] = halves.map((half) => half === "" ? [] : half.split(":"));
        const pieces = (parts, last) => parts.flatMap((part, i) => {
            if (last && i === parts.length - 1 && part.includes("."))
                return embeddedIpv4(part, bad);
            return /^[0-9A-Fa-f]{1,4}$/.test(part) ? [parseInt(part, 16)] : bad();
        });
        const left = pieces(front, back === undefined), right = back === undefined ? [] : pieces(back, true);
        const missing = 8 - left.length - right.length;
        if (back === undefined ? missing !== 0 : missing < 1)
            bad();
        return [...left, ...new Array(missing).fill(0), ...right];
    }

    function embeddedIpv4(text, bad) {
        const numbers = text.split(".").map((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) ? +part : NaN);
        if (numbers.length !== 4 || numbers.some((n) => !(n <= 255)))
            bad();
        return [numbers[0] * 256 + numbers[1], numbers[2] * 256 + numbers[3]];
    }

    function serializeHost(host) {
        if (typeof host === "number")
            return [24, 16, 8, 0].map((shift) => Math.floor(host / 2 ** shift) % 256).join(".");
        return typeof host === "string" ? host : "[" + serializeIpv6(host) + "]";
    }

    // The first of the longest runs of two zeros or more is written as ::.
    function serializeIpv6(pieces) {
        let from = -1, length = 1;
        for (let i = 0; i < 8; i++) {
            let run = 0;
            while (i + run < 8 && pieces[i + run] === 0)
                run++;
            if (run > length) {
                from = i;
                length = run;
            }
            i += run;
        }
        const hex = (some) => some.map((piece) => piece.toString(16)).join(":");
        return from < 0 ? hex(pieces) : hex(pieces.slice(0, from)) + "::" + hex(pieces.slice(from + length));
    }

    // ---- domains ---------------------------------------------------------------------------------

    const ignored = /[\xad\u034f\u180b-\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff]/g;
    const disallowed = /[\p{Cc}\p{Cn}\p{Co}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\ufffd\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

    function toAscii(domain) {
        if (/^[\0-\x7f]*$/.test(domain)) {
            const lower = domain.toLowerCase();
            return /(?:^|\.)xn--/.test(lower) ? lower.split(".").map(checkPunycode).join(".") : lower;
        }
        const mapped = domain.replace(ignored, "").normalize("NFKC").toLowerCase().normalize("NFC")
            .replace(/[\u3002\uff0e\uff61]/g, ".");
        return mapped.split(".").map(labelToAscii).join(".");
    }

    function labelToAscii(label) {
        if (/^[\0-\x7f]*$/.test(label))
            return label.startsWith("xn--") ? checkPunycode(label) : label;
        checkLabel(label);
        return "xn--" + punycode(label);
    }

    function checkLabel(label) {
        if (disallowed.test(label) || /^\p{M}/u.test(label))
            fail("its host has a character that no domain has");
    }

    function checkPunycode(label) {
        if (!label.startsWith("xn--"))
            return label;
        const plain = unpunycode(label.slice(4));
        checkLabel(plain);
        if (plain.normalize("NFKC").toLowerCase() !== plain || /^[\0-\x7f]*$/.test(plain))
            fail("its host is encoded as no domain is");
        return label;
    }

    const BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128;

    function adapt(delta, count, first) {
        let k = 0;
        delta = first ? Math.floor(delta / DAMP) : delta >> 1;
        delta += Math.floor(delta / count);
        for (; delta > ((BASE - TMIN) * TMAX) >> 1; k += BASE)
            delta = Math.floor(delta / (BASE - TMIN));
        return k + Math.floor((BASE - TMIN + 1) * delta / (delta + SKEW));
    }

    const threshold = (k, bias) => k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
    const digitText = (digit) => String.fromCharCode(digit < 26 ? digit + 97 : digit + 22);

    function punycode(label) {
        const points = [...label].map((c) => c.codePointAt(0));
        let out = points.filter((p) => p < 128).map((p) => String.fromCharCode(p)).join("");
        let handled = out.length, n = FIRST, delta = 0, bias = BIAS;
        const basic = handled;
        if (basic > 0)
            out += "-";
        while (handled < points.length) {
            const next = Math.min(...points.filter((p) => p >= n));
            delta += (next - n) * (handled + 1);
            n = next;
            for (const point of points) {
                if (point < n)
                    delta++;
                if (point !== n)
                    continue;
                let q = delta;
                for (let k = BASE; ; k += BASE) {
                    const t = threshold(k, bias);
                    if (q < t)
                        break;
                    out += digitText(t + (q - t) % (BASE - t));
                    q = Math.floor((q - t) / (BASE - t));
                }
                out += digitText(q);
                bias = adapt(delta, handled + 1, handled === basic);
                delta = 0;
                handled++;
            }
            delta++;
            n++;
        }
        return out;
    }

    function unpunycode(text) {
        const dash = text.lastIndexOf("-"), points = [...text.slice(0, Math.max(dash, 0))].map((c) => c.codePointAt(0));
        let n = FIRST, i = 0, bias = BIAS;
        for (let at = dash < 0 ? 0 : dash + 1; at < text.length;) {
            const before = i;
            for (let weight = 1, k = BASE; ; k += BASE) {
                const c = text.charCodeAt(at++), digit = c >= 97 && c <= 122 ? c - 97 : c >= 48 && c <= 57 ? c - 22 : NaN;
                if (!(digit < BASE))
                    fail("its host is encoded as no domain is");
                i += digit * weight;
                const t = threshold(k, bias);
                if (digit < t)
                    break;
                weight *= BASE - t;
            }
            bias = adapt(i - before, points.length + 1, before === 0);
            n += Math.floor(i / (points.length + 1));
            i %= points.length + 1;
            if (!(n <= 0x10ffff))
                fail("its host is encoded as no domain is");
            points.splice(i++, 0, n);
        }
        return String.fromCodePoint(...points);
    }

    ({ __proto__: null, parseHost, serializeHost, Invalid });
}
