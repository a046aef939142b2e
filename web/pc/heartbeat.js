/**
 * heartbeat.js: whether a Worker still answers. It is asked again and again; when no answer comes for
 * the deadline, it counts as hung.
 *
 * The host's own clock is not trusted: a page that was hidden, or a computer that slept, has late
 * ticks, and an answer that lies in the queue is heard before anything expires. So a tick counts for
 * at most twice its interval, and the last word is said one turn of the event loop later.
 *
 * @module
 */

/**
 * @typedef {object} HeartbeatOptions
 * @property {(ms: number, tick: () => void) => () => void} every
 * @property {number} heartbeatMs
 * @property {number} deadlineMs
 * @property {(id: number) => void} ping
 * @property {(silentMs: number) => void} expired called once
 * @property {() => number} [now]
 * @property {(task: () => void) => void} [later] one turn of the event loop later
 */

export class Heartbeat {
  /** @type {Required<HeartbeatOptions>} */ #options;
  #stopTicks;
  #id = 0;
  #answered = true;
  #silentMs = 0;
  #lastTick;
  #over = false;

  /** @param {HeartbeatOptions} options */
  constructor(options) {
    this.#options = {now: () => performance.now(), later: (task) => setTimeout(task, 0), ...options};
    this.#lastTick = this.#options.now();
    this.#stopTicks = this.#options.every(Math.min(options.heartbeatMs, options.deadlineMs), () => this.#tick());
    this.#ask();
  }

  #ask() {
    this.#answered = false;
    this.#silentMs = 0;
    this.#options.ping(++this.#id);
  }

  #tick() {
    const {now, heartbeatMs, deadlineMs, later} = this.#options, at = now();
    const passed = Math.min(at - this.#lastTick, 2 * heartbeatMs);
    this.#lastTick = at;
    if (this.#answered) {
      this.#ask();
      return;
    }
    this.#silentMs += passed;
    if (this.#silentMs < deadlineMs) return;
    later(() => {
      if (this.#over || this.#answered) return;
      this.stop();
      this.#options.expired(this.#silentMs);
    });
  }

  /** From the next tick on. @param {number} ms */
  set deadlineMs(ms) {
    this.#options.deadlineMs = ms;
  }

  /** An answer. @param {number} id */
  heard(id) {
    if (id === this.#id) this.#answered = true;
  }

  stop() {
    this.#over = true;
    this.#stopTicks();
  }
}
