/**
 * histogram.js: durations in milliseconds, counted in buckets of 1/16 octave from 1 µs to 17 s, so that
 * a quantile is right within 5 % however long the run was, in 1.5 kB.
 *
 * @module
 */

const LEAST_MS = 0.001;
const PER_OCTAVE = 16;
const BUCKETS = 24 * PER_OCTAVE;

export class Histogram {
  #counts = new Uint32Array(BUCKETS);
  count = 0;
  sum = 0;
  max = 0;

  /** @param {number} ms */
  add(ms) {
    const at = ms <= LEAST_MS ? 0 : Math.floor(Math.log2(ms / LEAST_MS) * PER_OCTAVE);
    this.#counts[Math.min(at, BUCKETS - 1)]++;
    this.count++;
    this.sum += ms;
    if (ms > this.max) this.max = ms;
  }

  /** The duration that the share `q` (0 to 1) of all do not exceed; NaN when there is none. @param {number} q */
  quantile(q) {
    if (!this.count) return NaN;
    let left = Math.max(1, Math.ceil(q * this.count));
    let at = 0;
    while ((left -= this.#counts[at]) > 0) at++;
    return Math.min(LEAST_MS * 2 ** ((at + 0.5) / PER_OCTAVE), this.max);
  }

  get mean() {
    return this.count ? this.sum / this.count : NaN;
  }

  /** The buckets that are not empty. @returns {{fromMs: number, toMs: number, count: number}[]} */
  buckets() {
    const out = [];
    for (let at = 0; at < BUCKETS; at++) {
      const count = this.#counts[at];
      if (count) out.push({fromMs: LEAST_MS * 2 ** (at / PER_OCTAVE), toMs: LEAST_MS * 2 ** ((at + 1) / PER_OCTAVE), count});
    }
    return out;
  }

  clear() {
    this.#counts.fill(0);
    this.count = this.sum = this.max = 0;
  }

  /** The figures that a person asks for. */
  summary() {
    return {count: this.count, sumMs: this.sum, meanMs: this.mean, p50Ms: this.quantile(0.5), p95Ms: this.quantile(0.95),
      p99Ms: this.quantile(0.99), maxMs: this.max};
  }
}
