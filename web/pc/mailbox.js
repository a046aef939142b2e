/**
 * mailbox.js: input for a busy Worker, in shared memory. A message is only seen between two slices;
 * what lies here, the Worker sees at any moment it looks. Needs a page that is cross-origin isolated
 * (or Node); without one, everything goes by message.
 *
 *     words   [0] bytes ever put   [1] bytes ever taken   [2] 1: the Worker sleeps, send a message
 *     bytes   a ring of CAPACITY
 *
 * @module
 */

const HEADER = 16;
const CAPACITY = 16384; // divides 2 ** 32: the counts may wrap
const PUT = 0, TAKEN = 1, ASLEEP = 2;

export class Mailbox {
  #words;
  #ring;

  /** @param {SharedArrayBuffer} shared */
  constructor(shared) {
    this.#words = new Int32Array(shared, 0, 4);
    this.#ring = new Uint8Array(shared, HEADER, CAPACITY);
  }

  /** A mailbox's memory, or null where none can be shared. @returns {SharedArrayBuffer | null} */
  static allocate() {
    const scope = /** @type {{crossOriginIsolated?: boolean}} */ (globalThis);
    if (typeof SharedArrayBuffer !== 'function' || scope.crossOriginIsolated === false) return null;
    return new SharedArrayBuffer(HEADER + CAPACITY);
  }

  /** The host's: all of it or nothing. @param {Uint8Array} bytes @returns {boolean} */
  put(bytes) {
    const put = this.#words[PUT], waiting = (put - Atomics.load(this.#words, TAKEN)) >>> 0;
    if (bytes.length > CAPACITY - waiting) return false;
    for (let i = 0; i < bytes.length; i++) this.#ring[(put + i) & (CAPACITY - 1)] = bytes[i];
    Atomics.store(this.#words, PUT, (put + bytes.length) | 0);
    return true;
  }

  /** The host's, after put(): whether the Worker must be woken by a message. */
  get asleep() {
    return Atomics.load(this.#words, ASLEEP) === 1;
  }

  /** The Worker's: what has come in, or null. @returns {Uint8Array | null} */
  take() {
    const taken = this.#words[TAKEN], count = (Atomics.load(this.#words, PUT) - taken) >>> 0;
    if (!count) return null;
    const bytes = new Uint8Array(count);
    for (let i = 0; i < count; i++) bytes[i] = this.#ring[(taken + i) & (CAPACITY - 1)];
    Atomics.store(this.#words, TAKEN, (taken + count) | 0);
    return bytes;
  }

  /** The Worker's, before it sleeps; true when something is here, and it must not. */
  sleep() {
    Atomics.store(this.#words, ASLEEP, 1);
    if (Atomics.load(this.#words, PUT) === this.#words[TAKEN]) return false;
    this.awake();
    return true;
  }

  awake() {
    Atomics.store(this.#words, ASLEEP, 0);
  }
}
