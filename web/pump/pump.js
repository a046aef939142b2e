/**
 * pump.js: runs work in slices, gives the event loop its turn between two of them without paying
 * for it, sleeps when there is nothing to do, and measures what all of that costs.
 *
 *     const pump = new Pump({slice: ({budgetMs}) => work(budgetMs) ? 0 : Infinity});
 *     pump.start();
 *
 * What a slice does, and when there is more to do, is its owner's to say. How to yield is
 * yield.js's.
 *
 * @module
 */
import {Histogram} from './histogram.js';
import {makeYielder, strategies} from './yield.js';

/** @typedef {import('./yield.js').Strategy} Strategy */

/**
 * What a slice is told.
 * @typedef {object} Turn
 * @property {number} budgetMs how long it should take
 * @property {number} elapsedMs real time since the last slice began: what a simulation has to catch
 *   up with. Never more than `catchUpMs`: what lies further back is given up, and counted
 */

/**
 * @typedef {object} PumpOptions
 * @property {(turn: Turn) => number | void} slice does a slice of work. Returns for how many
 *   milliseconds there is nothing to do then: 0 or nothing when there is more to do now, Infinity
 *   when there is until wake()
 * @property {(napMs: number) => void} [onIdle] a nap begins
 * @property {Strategy} [strategy] how to yield; the best one that is here, unless given
 * @property {number} [sliceMs] a slice's length (8)
 * @property {number} [hurriedMs] its length for a while after hurry(), so that a key is soon seen (2)
 * @property {number} [hurryMs] how long that while is (1000)
 * @property {number} [catchUpMs] the most that elapsedMs is (100)
 * @property {EventTarget[]} [wakeOn] whose `message` events end a nap; in a browser's Worker its own
 *   global scope unless given
 * @property {number} [record] keep so many of the latest spans for timeline() (0)
 * @property {() => number} [now] a clock in milliseconds that only goes forward
 */

/** @typedef {{kind: 'slice' | 'gap' | 'nap', beginMs: number, endMs: number}} Span */

const LONGEST_TIMER_MS = 2 ** 30; // a timer's delay is 31 bits
const CLAMPED_MS = 4; // HTML, "timer initialisation steps": the least delay of a timer ...
const NESTING = 4; // ... that was set by a timer that was set by a timer ...

/** @type {() => EventTarget[]} */
function ownScope() {
  const scope = /** @type {any} */ (globalThis);
  return typeof scope.WorkerGlobalScope === 'function' && scope instanceof scope.WorkerGlobalScope ?
      [scope] : [];
}

export class Pump {
  /** @type {Required<PumpOptions>} */ #options;
  /** @type {import('./yield.js').Yielder | null} */ #yielder = null;
  /** @type {'stopped' | 'yielding' | 'napping' | 'slicing'} */ #state = 'stopped';
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #nesting = 0; // of timers, as the standard counts it
  #woken = false; // wake() was called inside a slice
  #hurriedUntil = -Infinity;
  #since = 0; // the present gap's or nap's beginning
  #dueMs = 0; // when the present nap should end
  #lastBegan = NaN;
  #lostMs = 0;
  #slices = new Histogram();
  #gaps = new Histogram();
  #late = new Histogram();
  #naps = 0;
  #nappedMs = 0;
  /** @type {Span[]} */ #spans = [];

  /** @param {PumpOptions} options */
  constructor(options) {
    this.#options = {
      onIdle: () => {}, strategy: strategies()[0], sliceMs: 8, hurriedMs: 2, hurryMs: 1000,
      catchUpMs: 100, wakeOn: ownScope(), record: 0, now: () => performance.now(), ...options,
    };
    if (typeof options.slice !== 'function') throw new TypeError('a pump needs a function `slice`');
    makeYielder(this.#options.strategy, () => {}).close(); // throws now rather than at start()
  }

  get strategy() {
    return this.#options.strategy;
  }

  get running() {
    return this.#state !== 'stopped';
  }

  /** Begins; the first slice runs after the event loop's turn. */
  start() {
    if (this.#state !== 'stopped') return;
    this.#yielder = makeYielder(this.#options.strategy, () => this.#asked());
    for (const target of this.#options.wakeOn) target.addEventListener('message', this.#onMessage);
    this.#lastBegan = NaN;
    this.#yield(this.#options.now());
  }

  /** Ends, also inside a slice. */
  stop() {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    this.#yielder?.close();
    this.#yielder = null;
    for (const target of this.#options.wakeOn) target.removeEventListener('message', this.#onMessage);
  }

  /** Something came in: a nap ends at once, right after whoever calls this has returned. */
  wake() {
    if (this.#state === 'slicing') this.#woken = true;
    if (!this.#endNap()) return;
    queueMicrotask(() => {
      if (this.#state === 'yielding') this.#turn(0);
    });
  }

  /** Someone types: slices are short for a while. */
  hurry() {
    this.#hurriedUntil = this.#options.now() + this.#options.hurryMs;
  }

  /** A message may have other listeners, which come first. */
  #onMessage = () => {
    if (this.#state === 'slicing') this.#woken = true;
    if (this.#endNap()) this.#yielder?.ask();
  };

  #endNap() {
    if (this.#state !== 'napping') return false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = this.#options.now();
    this.#span('nap', this.#since, now);
    this.#naps++;
    this.#nappedMs += now - this.#since;
    this.#since = this.#dueMs = now;
    this.#state = 'yielding';
    return true;
  }

  /** The yielder's turn: a slice is due, or a nap too short for a nested timer is to be armed. */
  #asked() {
    if (this.#state === 'yielding') this.#turn(0);
    else if (this.#state === 'napping' && this.#timer === undefined) this.#arm(0);
  }

  /** @param {number} now */
  #yield(now) {
    this.#state = 'yielding';
    this.#since = now;
    this.#dueMs = NaN;
    this.#yielder?.ask();
  }

  /** @param {number} now @param {number} ms */
  #nap(now, ms) {
    this.#state = 'napping';
    this.#since = now;
    this.#dueMs = now + ms;
    this.#timer = undefined;
    this.#options.onIdle(ms);
    if (this.#state !== 'napping' || ms === Infinity) return;
    // From a message's task, no timer is nested: a hop spares the clamp.
    if (ms < CLAMPED_MS && this.#nesting >= NESTING && this.#options.strategy !== 'timeout') this.#yielder?.ask();
    else this.#arm(this.#nesting);
  }

  /** @param {number} nesting */
  #arm(nesting) {
    const ms = Math.max(0, Math.ceil(this.#dueMs - this.#options.now()));
    this.#timer = setTimeout(() => {
      if (this.#dueMs - this.#options.now() > 1) {
        this.#arm(nesting + 1); // longer than a timer can be
        return;
      }
      this.#late.add(Math.max(0, this.#options.now() - this.#dueMs));
      this.#endNap();
      this.#turn(nesting + 1);
    }, Math.min(ms, LONGEST_TIMER_MS));
  }

  /** @param {number} nesting of timers, when one calls */
  #turn(nesting) {
    const {slice, sliceMs, hurriedMs, catchUpMs, now} = this.#options;
    const began = now();
    if (Number.isNaN(this.#dueMs)) {
      this.#gaps.add(began - this.#since);
      this.#span('gap', this.#since, began);
    }
    const elapsed = Number.isNaN(this.#lastBegan) ? 0 : began - this.#lastBegan;
    this.#lostMs += Math.max(0, elapsed - catchUpMs);
    this.#lastBegan = began;
    this.#state = 'slicing';
    this.#woken = false;
    this.#nesting = nesting;

    let nap;
    try {
      nap = slice({
        budgetMs: began < this.#hurriedUntil ? Math.min(hurriedMs, sliceMs) : sliceMs,
        elapsedMs: Math.min(elapsed, catchUpMs),
      }) ?? 0;
    } catch (error) {
      this.stop();
      throw error;
    }

    const ended = now();
    this.#slices.add(ended - began);
    this.#span('slice', began, ended);
    if (/** @type {string} */ (this.#state) !== 'slicing') return; // stopped inside
    if (this.#woken || !(nap >= 1)) this.#yield(ended);
    else this.#nap(ended, nap);
  }

  /** @param {Span['kind']} kind @param {number} beginMs @param {number} endMs */
  #span(kind, beginMs, endMs) {
    const {record} = this.#options;
    if (!record) return;
    this.#spans.push({kind, beginMs, endMs});
    if (this.#spans.length > 2 * record) this.#spans.splice(0, this.#spans.length - record);
  }

  /** The latest slices, gaps and naps, in order, when `record` was asked for. */
  timeline() {
    return this.#spans.slice(-this.#options.record);
  }

  /**
   * What it did since start() or clear(). The duty ratio is the time in slices ÷ the time that was
   * wanted, which is slices and the gaps between them, not naps; NaN when nothing was wanted.
   */
  stats() {
    const slices = this.#slices, gaps = this.#gaps;
    return {
      strategy: this.#options.strategy,
      duty: slices.sum / (slices.sum + gaps.sum),
      slices: slices.summary(), gaps: gaps.summary(),
      lateness: this.#late.summary(), // of naps that a timer ended
      naps: this.#naps, nappedMs: this.#nappedMs, lostMs: this.#lostMs,
      sliceHistogram: slices.buckets(), gapHistogram: gaps.buckets(),
    };
  }

  /** Begins to count anew. */
  clear() {
    this.#slices.clear();
    this.#gaps.clear();
    this.#late.clear();
    this.#naps = this.#nappedMs = this.#lostMs = 0;
  }
}
