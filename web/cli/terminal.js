/**
 * terminal.js: standard input and output as a PC's console. On a terminal every key goes to the
 * guest; Ctrl-A x leaves, and Ctrl-A Ctrl-A is the key itself.
 *
 * @module
 */

const CTRL_A = 1;
const MOST_UNDER_WAY = 65536; // bytes of a pipe that the guest has not taken yet

export class Terminal {
  #raw = false;
  #escaped = false;
  #underWay = 0;
  #broken = false;
  /** @type {() => void} */ #leave = () => {};

  constructor() {
    process.stdout.on('error', () => { // whoever read it is gone
      this.#broken = true;
      this.#leave();
    });
  }

  /** @param {Uint8Array} bytes @returns {Promise<void> | undefined} kept when there is room for more */
  write(bytes) {
    if (this.#broken || process.stdout.write(bytes)) return undefined;
    return new Promise((resolve) => {
      process.stdout.once('drain', resolve);
      process.stdout.once('error', () => resolve());
    });
  }

  /**
   * @param {(bytes: Uint8Array) => Promise<void>} send
   * @param {() => void} leave
   */
  listen(send, leave) {
    this.#leave = leave;
    if (this.#broken) leave();
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.once(signal, leave);
    const {stdin} = process;
    if (stdin.isTTY) {
      stdin.setRawMode(true);
      this.#raw = true;
    }
    stdin.on('error', () => {});
    stdin.on('data', (/** @type {Buffer} */ chunk) => {
      const keys = this.#raw ? this.#unescape(chunk) : chunk;
      if (!keys.length) return;
      this.#underWay += keys.length;
      if (this.#underWay > MOST_UNDER_WAY) stdin.pause();
      void send(keys).then(() => {
        this.#underWay -= keys.length;
        if (this.#underWay <= MOST_UNDER_WAY) stdin.resume();
      });
    });
  }

  /** @param {Uint8Array} keys */
  #unescape(keys) {
    const out = [];
    for (const key of keys) {
      const escaped = this.#escaped;
      this.#escaped = !escaped && key === CTRL_A;
      if (this.#escaped) continue;
      if (escaped && (key === 0x78 || key === 0x58)) this.#leave(); // x, X
      else out.push(key);
    }
    return Uint8Array.from(out);
  }

  /** As it was, with everything written. */
  async close() {
    if (this.#raw) process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stdin.unref?.();
    if (!this.#broken) await new Promise((resolve) => process.stdout.write('', resolve));
  }
}
