/**
 * audit.js: what a loop pays for yielding. A loop that lets its event loop in by setTimeout(loop, 0)
 * loses a third of its time to a rule of the HTML standard, and nothing says so: this does.
 *
 *     const loop = auditLoop(() => { work(); setTimeout(loop, 0); });
 *     loop();
 *     setTimeout(() => console.log(loop.report().text), 2000);
 *
 * It looks at a loop of one's own from outside, changing nothing, and names the tax when it sees one.
 *
 * @module
 */
import {Histogram} from './histogram.js';

/**
 * What is seen: `clamp`: the 4 ms of a nested timer in a browser. `timer`: the 1 ms of one in Node.
 * `frame`: one slice a frame of the screen. `throttled`: a hidden page's timers, once a second or less.
 * `starving`: the gaps are short because nothing else gets in. `slow`: gaps are long for none of these
 * reasons. `fair`: nothing to complain of. `unknown`: too few slices yet.
 * @typedef {'clamp' | 'timer' | 'frame' | 'throttled' | 'starving' | 'slow' | 'fair' | 'unknown'} Verdict
 *
 * @typedef {object} Audit
 * @property {Verdict} verdict
 * @property {string} text the verdict for people, with its figures and what to do
 * @property {number} duty time in slices ÷ all time since the first
 * @property {number} slices
 * @property {{p50Ms: number, p99Ms: number}} slice
 * @property {{p50Ms: number, p99Ms: number}} gap
 * @property {number} servedMs how late a timer came that the audit itself set, at worst; NaN before one
 */

const ENOUGH = 20; // slices for a verdict
const CLAMP_MS = [3.6, 5.2]; // 4 ms and what it costs to be woken
const NODE_TIMER_MS = [0.9, 2];
const FRAME_MS = [15.5, 17.8];
const THROTTLED_MS = 500;
const FAIR_DUTY = 0.9;
const PROBE_MS = 20;
const STARVED_MS = 500;

/** @param {number} value @param {number[]} range */
const within = (value, [least, most]) => value >= least && value <= most;
/** @param {number} duty */
const percent = (duty) => `${Math.round(duty * 100)} %`;

/** @type {(seen: Omit<Audit, 'verdict' | 'text'>) => Verdict} */
function judge({slices, duty, slice, gap, servedMs}) {
  if (slices < ENOUGH) return 'unknown';
  if (servedMs > STARVED_MS + 4 * slice.p99Ms) return 'starving';
  if (gap.p50Ms > THROTTLED_MS) return 'throttled';
  if (duty >= FAIR_DUTY) return 'fair';
  if (within(gap.p50Ms, CLAMP_MS)) return 'clamp';
  if (within(gap.p50Ms, NODE_TIMER_MS)) return 'timer';
  if (within(slice.p50Ms + gap.p50Ms, FRAME_MS)) return 'frame';
  return 'slow';
}

/** @type {Record<Verdict, (seen: Omit<Audit, 'verdict' | 'text'>) => string>} */
const WORDS = {
  clamp: ({duty, slice, gap}) => `a timer's clamp: ${gap.p50Ms.toFixed(1)} ms pass after each slice of ` +
      `${slice.p50Ms.toFixed(1)} ms, so that the loop runs ${percent(duty)} of the time. The HTML standard raises ` +
      'setTimeout(f, 0) to 4 ms once timers are nested five deep. Yield by a MessageChannel instead, or use Pump',
  timer: ({duty, gap}) => `a timer's least delay: ${gap.p50Ms.toFixed(1)} ms pass after each slice, so that the loop ` +
      `runs ${percent(duty)} of the time. Node makes 1 ms of setTimeout(f, 0). Yield by setImmediate instead, or use Pump`,
  frame: ({duty, slice, gap}) => `one slice a frame: each waits for the screen (${(slice.p50Ms + gap.p50Ms).toFixed(1)} ms), so that ` +
      `the loop runs ${percent(duty)} of the time. requestAnimationFrame is for drawing: run the work in a Worker, with Pump`,
  throttled: ({gap}) => `a hidden page: its timers come every ${(gap.p50Ms / 1000).toFixed(1)} s. Run the work in a Worker, which is not throttled, with Pump`,
  starving: ({duty, servedMs}) => `it starves the others: the loop runs ${percent(duty)} of the time, and a timer came ` +
      `${Math.round(servedMs)} ms late. What it yields by lets no timer and no message in: setImmediate in Node, a MessageChannel or a postTask of background priority in browsers do`,
  slow: ({duty, gap}) => `long gaps: ${gap.p50Ms.toFixed(1)} ms after each slice, so that the loop runs ${percent(duty)} of the time. ` +
      'Something else has the event loop, or the loop waits for more than its turn',
  fair: ({duty, gap}) => `nothing to complain of: the loop runs ${percent(duty)} of the time, with gaps of ${gap.p50Ms.toFixed(2)} ms, and lets others in`,
  unknown: ({slices}) => `only ${slices} slices so far: too few to tell`,
};

/** How late timers come while the loop runs, from timers of the audit's own. */
class Probe {
  worstMs = NaN;
  #setAt = NaN;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #now;

  /** @param {() => number} now */
  constructor(now) {
    this.#now = now;
  }

  /** Once, at a slice's end: only one timer is under way. */
  set() {
    if (!Number.isNaN(this.#setAt)) return;
    this.#setAt = this.#now();
    this.#timer = setTimeout(() => {
      this.worstMs = this.lateMs;
      this.#setAt = NaN;
    }, PROBE_MS);
    const timer = /** @type {{unref?: () => void}} */ (/** @type {unknown} */ (this.#timer));
    timer.unref?.(); // in Node it keeps nothing alive
  }

  /** At worst so far, with the one that is still waited for. */
  get lateMs() {
    const waiting = Number.isNaN(this.#setAt) ? 0 : this.#now() - this.#setAt - PROBE_MS;
    return Math.max(Number.isNaN(this.worstMs) ? 0 : this.worstMs, waiting, 0);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#setAt = NaN;
  }
}

/**
 * A loop's body, watched. Call what is returned wherever the body was called: from now on the time
 * inside it is a slice, and the time until the next call a gap.
 *
 * @template {unknown[]} Arguments
 * @template Result
 * @param {(...args: Arguments) => Result} body one slice of work, which sees to it that the next comes
 * @param {{now?: () => number}} [options]
 * @returns {((...args: Arguments) => Result) & {report: () => Audit, clear: () => void}}
 */
export function auditLoop(body, {now = () => performance.now()} = {}) {
  const slices = new Histogram(), gaps = new Histogram();
  let probe = new Probe(now), endedAt = NaN, depth = 0;

  /** @param {Arguments} args */
  const loop = (...args) => {
    if (depth++) { // called by itself, or by what it called: inside a slice already
      try {
        return body(...args);
      } finally {
        depth--;
      }
    }
    const began = now();
    if (!Number.isNaN(endedAt)) gaps.add(began - endedAt);
    try {
      return body(...args);
    } finally {
      depth--;
      endedAt = now();
      slices.add(endedAt - began);
      probe.set();
    }
  };

  return Object.assign(loop, {
    /** @returns {Audit} */
    report() {
      const seen = {
        duty: slices.sum / (slices.sum + gaps.sum), slices: slices.count, servedMs: probe.lateMs,
        slice: {p50Ms: slices.quantile(0.5), p99Ms: slices.quantile(0.99)},
        gap: {p50Ms: gaps.quantile(0.5), p99Ms: gaps.quantile(0.99)},
      };
      const verdict = judge(seen);
      return {verdict, text: WORDS[verdict](seen), ...seen};
    },
    clear() {
      slices.clear();
      gaps.clear();
      probe.stop();
      probe = new Probe(now);
      endedAt = NaN;
    },
  });
}
