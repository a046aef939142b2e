/**
 * drowse.js: longer naps for a guest that only ticks. Many kernels have a periodic timer (Debian's has
 * 250 ticks a second): woken for each, an idle machine would cost a tenth of a core. When nothing has
 * gone in or out for a while, and the guest does no more than when it did least, its ticks are run in
 * batches.
 *
 * A guest that works, however silently, is woken in time: it does more than tick.
 *
 * @module
 */

export const DROWSY_NAP_MS = 50; // how late a silent, idle guest's timers may come
const WATCHED_MS = 500;
const HARDLY_MORE = 1.25; // × the least instructions a millisecond so far

export class Drowse {
  #drowsy = false;
  #least = Infinity;
  #from = {hostMs: -Infinity, insns: 0, guestMs: 0};
  #disturbed = true;

  /** Something came in or went out. */
  disturb() {
    this.#drowsy = false;
    this.#disturbed = true;
  }

  /**
   * After a slice: how long to nap, if `napMs` is until the guest's next timer.
   * @param {number} napMs @param {{hostMs: number, insns: number, guestMs: number}} at
   */
  nap(napMs, at) {
    if (this.#disturbed) {
      this.#disturbed = false;
      this.#from = at;
    } else if (at.hostMs - this.#from.hostMs >= WATCHED_MS) {
      const rate = (at.insns - this.#from.insns) / (at.guestMs - this.#from.guestMs);
      this.#least = Math.min(this.#least, rate);
      this.#drowsy = rate <= HARDLY_MORE * this.#least;
      this.#from = at;
    }
    return this.#drowsy && napMs >= 1 ? Math.max(napMs, DROWSY_NAP_MS) : napMs;
  }
}
