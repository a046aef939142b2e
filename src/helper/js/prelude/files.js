// The objects that a plugin gets for the descriptors its host passed. Opening is the host's: nothing here
// takes a path.
"use strict";
{
    const { native, freeze, isArray, lazy } = this;
    const Bytes = Uint8Array, { isView } = ArrayBuffer, Buffer = ArrayBuffer;
    const KEY = Symbol("made by the host");

    function bytesOf(data) {
        if (typeof data === "string")
            return native.utf8Encode(data);
        if (isView(data))
            return new Bytes(data.buffer, data.byteOffset, data.byteLength);
        if (data instanceof Buffer)
            return new Bytes(data);
        throw new TypeError("write takes text or bytes");
    }

    class HostFile {
        #handle; #decoder;

        constructor(key, handle, info) {
            if (key !== KEY)
                throw new TypeError("files are opened by the host");
            this.#handle = handle;
            this.info = info;
            freeze(this);
        }
        // read() is all that is left, read(n) up to n bytes; text unless { as: "bytes" }.
        read(most, options = {}) {
            if (typeof most === "object" && most !== null) {
                options = most;
                most = undefined;
            }
            const bytes = native.fileRead(this.#handle, most === undefined ? -1 : most);
            if (options.as === "bytes")
                return bytes;
            this.#decoder ??= new (lazy("encoding").TextDecoder)();
            return this.#decoder.decode(bytes, { stream: most !== undefined && bytes.length > 0 });
        }
        write(data) {
            return native.fileWrite(this.#handle, bytesOf(data));
        }
        seek(position) {
            native.fileSeek(this.#handle, +position);
            this.#decoder = undefined;
        }
        get size() {
            return native.fileSize(this.#handle);
        }
        // The entries of a passed directory. They cannot be opened from here.
        list() {
            const entries = [];
            native.fileList(this.#handle, (name, kind) => { entries.push({ name, kind }); });
            return entries;
        }
        close() {
            native.fileClose(this.#handle);
        }
        [Symbol.dispose ?? Symbol()]() {
            this.close();
        }
    }

    // One descriptor is a file, several are an array of them; `info` is what the host said besides.
    (function open(handles, info) {
        const files = handles.map((handle, i) => new HostFile(KEY, handle, isArray(info) ? info[i] : info));
        return files.length === 1 && !isArray(info) ? files[0] : freeze(files);
    });
}
