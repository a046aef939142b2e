/**
 * script.js: waits for texts on the console and types others, as the native `halter boot` does.
 * Keys go out at the very instruction that completed the text: a scripted run in deterministic time
 * is the same each time.
 *
 * @module
 */

/** @typedef {{until: string, send?: string | null}} Step until: '' is seen at once */

const REMEMBERED = 1024;

export class Script {
  /** @type {Step[]} */ #steps;
  /** @type {(bytes: Uint8Array) => void} */ #type;
  #at = 0;
  #seen = '';
  over = false;

  /**
   * @param {Step[]} steps the last one ends the run if it types nothing
   * @param {(bytes: Uint8Array) => void} type
   */
  constructor(steps, type) {
    this.#steps = steps;
    this.#type = type;
  }

  /** Before the first instruction: steps that wait for nothing. */
  begin() {
    this.#advance();
  }

  /** A byte came out of the console. @param {number} byte */
  see(byte) {
    if (this.#at >= this.#steps.length) return;
    this.#seen = (this.#seen + String.fromCharCode(byte)).slice(-REMEMBERED);
    this.#advance();
  }

  #advance() {
    while (this.#at < this.#steps.length && this.#seen.endsWith(this.#steps[this.#at].until)) {
      const {send} = this.#steps[this.#at++];
      this.#seen = '';
      if (typeof send === 'string') this.#type(Uint8Array.from(send, (c) => c.charCodeAt(0)));
      else if (this.#at === this.#steps.length) this.over = true;
    }
  }
}

/** \n \r \t \e \\ \xNN, as on the command line. @param {string} text */
export function unescape(text) {
  /** @type {Record<string, string>} */
  const names = {n: '\n', r: '\r', t: '\t', e: '\x1b', '\\': '\\'};
  return text.replace(/\\(x[0-9a-fA-F]{2}|.|$)/g, (whole, what) => {
    if (what.length === 3) return String.fromCharCode(parseInt(what.slice(1), 16));
    if (!(what in names)) throw new Error(`${whole} is not an escape`);
    return names[what];
  });
}
