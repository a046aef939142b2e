/**
 * host.js: the host's end of a PC: starts its Worker, listens to it, and has the last word. The
 * Worker may be killed at any instant and may already belong to its guest: nothing here waits for
 * it without a deadline, and nothing of it is needed to end it.
 *
 * pc.js and pc-node.js say what a Worker is, and where pc.wasm lies.
 *
 * @module
 */
import {Emitter} from './emitter.js';
import {Heartbeat} from './heartbeat.js';
import {Mailbox} from './mailbox.js';
import {CONSOLE_CREDIT, DEFAULT_APPEND} from './protocol.js';
import {toSource} from './sources.js';

/**
 * @typedef {import('./protocol.js').ToWorker} ToWorker
 * @typedef {import('./protocol.js').FromWorker} FromWorker
 * @typedef {import('./protocol.js').Reason} Reason
 * @typedef {import('./protocol.js').Stats} WorkerStats
 * @typedef {import('./sources.js').File} File
 */

/**
 * @typedef {object} Link
 * @property {(message: ToWorker, transfer?: ArrayBuffer[]) => void} post
 * @property {() => void} terminate at once; nothing more is heard
 *
 * @typedef {object} Platform
 * @property {() => string} wasm where pc.wasm lies
 * @property {(url: string) => Promise<WebAssembly.Module>} compile
 * @property {(name: string) => import('./protocol.js').Source} named
 * @property {(heard: {message: (what: FromWorker) => void, error: (text: string) => void},
 *     make?: () => Worker) => Link} spawn
 * @property {(ms: number, tick: () => void) => () => void} every
 */

/**
 * @typedef {object} BootOptions
 * @property {File} [kernel] a bzImage, or better the ELF that `halter image` makes of it
 * @property {File | null} [initrd]
 * @property {File | null} [resume] a snapshot to go on from, instead of booting; with a kernel as
 *   well, the guest can also reboot
 * @property {string} [append] the kernel's command line; the default is that of `halter boot`
 * @property {number} [ramMb] 128, or what the snapshot has
 * @property {'p6' | 'pentium3' | 'pentium-m'} [cpu] pentium-m, or what the snapshot has
 * @property {number} [rtcSeconds] the date at power-on, since 1970: now, or 0 in deterministic time
 * @property {number} [icountNs] deterministic time: so many ns an instruction
 * @property {boolean} [noReboot] a reset ends the run
 * @property {import('./script.js').Step[]} [script] texts to wait for and to type
 * @property {import('../pump/yield.js').Strategy | 'none'} [strategy] how the Worker yields; 'none' is
 *   for measuring: nothing but its end gets through
 * @property {number} [sliceMs] 8
 * @property {number} [record] keep so many spans for timeline()
 * @property {number} [deadlineMs] a Worker that does not answer for so long is terminated (10 000)
 * @property {number} [heartbeatMs] how often it is asked, and `stats` comes (1000)
 * @property {'never' | 'boot' | 'snapshot'} [restart] after a deadline or a crash: end, boot again, or
 *   go on from the last snapshot (never)
 * @property {number} [mostRestarts] within a minute: one more death is the end (3)
 * @property {number} [creditBytes] the most console bytes under way that no listener has dealt with (256 kB)
 * @property {boolean} [mailbox] use shared memory for input where it can be had (true)
 * @property {string | URL} [wasm] where pc.wasm lies, if not beside the module
 * @property {() => Worker} [worker] makes the Worker of pc/worker.js, where the page must
 * @property {('hash' | 'save' | 'timeline')[]} [atEnd] what `exit` brings when the guest, the script or end() ends it
 * @property {boolean} [testHooks] the Worker obeys testHang()
 * @property {Partial<{[name in keyof Events]: (event: Events[name]) => void}>} [on] listeners from the start
 */

/**
 * @typedef {'loading' | 'running' | 'paused' | 'ended'} State
 * @typedef {WorkerStats & {state: State, echoMs: number, generation: number}} Stats echoMs: from the
 *   last send() to the next byte of the console; NaN before the first
 * @typedef {{reason: Reason, message: string, stats: WorkerStats | null} &
 *   import('./protocol.js').Remains} Exit
 */

/**
 * @typedef {object} Events
 * @property {{bytes: Uint8Array, uart: number}} console what the guest wrote; a listener that returns
 *   a promise holds back more than `creditBytes` until it is kept
 * @property {State} state
 * @property {Stats} stats with every heartbeat
 * @property {{level: number, text: string}} log what the machine has to say; 0 is an error, 1 a
 *   warning, 2 for the curious
 * @property {{reason: Reason, message: string, generation: number}} restart
 * @property {Exit} exit the end; nothing comes after it
 */

const RESTARTS_WITHIN_MS = 60000;

/** @typedef {{resolve: (value: any) => void, reject: (error: Error) => void}} Waiting */

/** @extends {Emitter<Events>} */
export class HostedPC extends Emitter {
  /** @type {Platform} */ static platform;

  /** @type {BootOptions} */ #options;
  /** @type {Platform} */ #platform;
  /** @type {Link | null} */ #link = null;
  /** @type {Heartbeat | null} */ #heartbeat = null;
  /** @type {Mailbox | null} */ #mailbox = null;
  /** @type {State} */ #state = 'loading';
  /** @type {Waiting | null} */ #booting = null;
  /** @type {Map<number, Waiting>} */ #asked = new Map();
  #nextId = 1;
  #generation = 0;
  /** @type {Uint8Array | null} */ #snapshot = null;
  /** @type {number[]} */ #restarts = [];
  #byMessage = 0; // input bytes under way by message: later ones must not overtake them
  #putAside = 0; // input bytes not taken yet, of all
  /** @type {{left: number, done: () => void}[]} */ #sends = [];
  #sentAt = NaN;
  #echoMs = NaN;
  /** @type {(exit: Exit) => void} */ #settle = () => {};

  /** Resolves when the PC has ended. @type {Promise<Exit>} */
  exited = new Promise((resolve) => {
    this.#settle = resolve;
  });

  /**
   * A PC in a Worker of its own. Resolves when its kernel is loaded and it begins to run.
   * @param {BootOptions} options
   */
  static async boot(options) {
    const pc = new this(options, this.platform);
    await pc.#start(options.resume ?? null);
    return pc;
  }

  /** @param {BootOptions} options @param {Platform} platform */
  constructor(options, platform) {
    super();
    this.#options = options;
    this.#platform = platform;
    if (!options.kernel && !options.resume) throw new TypeError('a PC needs a kernel, or a snapshot to resume');
    for (const [name, listener] of Object.entries(options.on ?? {}))
      if (listener) this.on(/** @type {keyof Events} */ (name), /** @type {any} */ (listener));
  }

  get state() {
    return this.#state;
  }

  /** How often it was started. */
  get generation() {
    return this.#generation;
  }

  // ---- Birth and death ----------------------------------------------------------------------

  /** @param {File | null} resume */
  async #start(resume) {
    const o = this.#options, {named, wasm, compile, spawn} = this.#platform;
    const generation = ++this.#generation;
    this.#enter('loading');
    const module = await compile(o.wasm ? String(o.wasm) : wasm());
    if (generation !== this.#generation) throw new Error('the PC was killed while it started');
    const shared = o.mailbox === false ? null : Mailbox.allocate();
    /** @type {import('./protocol.js').Recipe} */
    const recipe = {
      module, kernel: toSource(o.kernel, 'the kernel', named), initrd: toSource(o.initrd, 'the initial RAM disk', named),
      resume: toSource(resume, 'the snapshot', named), append: o.append ?? DEFAULT_APPEND,
      ramMb: o.ramMb ?? 0, cpu: o.cpu ?? '',
      rtcSeconds: o.rtcSeconds ?? (o.icountNs ? 0 : Math.floor(Date.now() / 1000)),
      icountNs: o.icountNs ?? 0, noReboot: o.noReboot ?? false, script: o.script ?? [],
      strategy: o.strategy ?? null, sliceMs: o.sliceMs ?? 8, record: o.record ?? 0,
      mailbox: shared, creditBytes: o.creditBytes ?? CONSOLE_CREDIT, atEnd: o.atEnd ?? [], testHooks: o.testHooks ?? false,
    };
    this.#mailbox = shared && new Mailbox(shared);
    return new Promise((resolve, reject) => {
      this.#booting = {resolve: () => resolve(undefined), reject};
      try {
        this.#link = spawn({
          message: (message) => generation === this.#generation && this.#hear(message),
          error: (text) => generation === this.#generation && this.#workerFailed(text),
        }, o.worker);
        this.#link.post({type: 'boot', recipe});
      } catch (error) {
        this.#workerFailed(/** @type {Error} */ (error).message);
        return;
      }
      this.#heartbeat = new Heartbeat({
        every: this.#platform.every, heartbeatMs: o.heartbeatMs ?? 1000, deadlineMs: o.deadlineMs ?? 10000,
        ping: (id) => this.#link?.post({type: 'ping', id}),
        expired: (ms) => generation === this.#generation && o.strategy !== 'none' &&
            this.#lost('deadline', `the Worker did not answer for ${Math.round(ms / 1000)} s: terminated`),
      });
    });
  }

  /** The Worker is no more, whatever state it was in. */
  #bury() {
    this.#generation++;
    this.#heartbeat?.stop();
    this.#link?.terminate();
    this.#heartbeat = this.#link = this.#mailbox = null;
    for (const {reject} of this.#asked.values()) reject(new Error('the PC is gone'));
    this.#asked.clear();
    for (const {done} of this.#sends) done();
    this.#sends = [];
    this.#byMessage = this.#putAside = 0;
    this.#sentAt = NaN;
  }

  /**
   * @param {Reason} reason @param {string} message @param {WorkerStats | null} stats
   * @param {import('./protocol.js').Remains} [remains]
   */
  #finish(reason, message, stats, remains = {}) {
    if (this.#state === 'ended') return;
    this.#bury();
    this.#enter('ended');
    const exit = {reason, message, stats, ...remains};
    this.#booting?.reject(new Error(message));
    this.#booting = null;
    this.emit('exit', exit);
    this.#settle(exit);
  }

  /** Not the guest's own end: a restart if that was asked for. @param {Reason} reason @param {string} message */
  #lost(reason, message) {
    const {restart = 'never', mostRestarts = 3} = this.#options, now = Date.now();
    this.#restarts = this.#restarts.filter((at) => now - at < RESTARTS_WITHIN_MS);
    if (restart === 'never' || this.#booting || this.#restarts.length >= mostRestarts) {
      this.#finish(reason, message, null);
      return;
    }
    this.#restarts.push(now);
    this.#bury();
    this.emit('restart', {reason, message, generation: this.#generation + 1});
    this.#again().catch((error) => this.#finish(reason, error.message, null));
  }

  /** @param {boolean} [fromSnapshot] */
  #again(fromSnapshot = this.#options.restart === 'snapshot') {
    return this.#start((fromSnapshot && this.#snapshot) || (this.#options.resume ?? null));
  }

  /** @param {string} text */
  #workerFailed(text) {
    if (this.#booting) {
      this.#finish('worker', `the Worker cannot be started${text ? `: ${text}` : ''}. Its file must be of the page's origin, ` +
          "served as JavaScript, and allowed by the content-security policy (worker-src)", null);
    } else this.#lost('crashed', `the Worker died${text ? `: ${text}` : ''}`);
  }

  /** @param {State} state */
  #enter(state) {
    if (this.#state === state) return;
    this.#state = state;
    this.emit('state', state);
  }

  // ---- What the Worker says -----------------------------------------------------------------

  /** @param {FromWorker} message */
  #hear(message) {
    switch (message.type) {
      case 'ready':
        this.#booting?.resolve(undefined);
        this.#booting = null;
        break;
      case 'state':
        this.#enter(message.state);
        break;
      case 'console':
        this.#consoleOut(message.bytes, message.uart);
        break;
      case 'taken':
        this.#inputTaken(message.bytes);
        break;
      case 'log':
        this.emit('log', {level: message.level, text: message.text});
        break;
      case 'pong':
        this.#heartbeat?.heard(message.id);
        if (message.stats)
          this.emit('stats', {...message.stats, state: this.#state, echoMs: this.#echoMs, generation: this.#generation});
        break;
      case 'answer':
        this.#answered(message);
        break;
      case 'exit':
        if (message.reason === 'crashed') this.#lost(message.reason, message.message);
        else this.#finish(message.reason, message.message, message.stats, message.remains);
        break;
      case 'failed':
        this.#finish('worker', message.message, null);
    }
  }

  /** @param {Uint8Array} bytes @param {number} uart */
  #consoleOut(bytes, uart) {
    if (!Number.isNaN(this.#sentAt)) {
      this.#echoMs = performance.now() - this.#sentAt;
      this.#sentAt = NaN;
    }
    const {length} = bytes, link = this.#link;
    const dealtWith = () => link === this.#link && link?.post({type: 'credit', bytes: length});
    const waits = this.emit('console', {bytes, uart}).filter((value) => value instanceof Promise);
    if (waits.length) void Promise.allSettled(waits).then(dealtWith);
    else dealtWith();
  }

  /** @param {{id: number, value: unknown, error: string | null}} answer */
  #answered({id, value, error}) {
    const waiting = this.#asked.get(id);
    this.#asked.delete(id);
    if (error !== null) waiting?.reject(new Error(error));
    else waiting?.resolve(value);
  }

  // ---- What the user does -------------------------------------------------------------------

  /**
   * Types on a serial port. Resolves when the machine has taken everything.
   * @param {string | Uint8Array} data
   * @param {number} [uart]
   * @returns {Promise<void>}
   */
  send(data, uart = 0) {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice();
    if (!this.#link) return Promise.reject(new Error('the PC has ended'));
    if (!bytes.length) return Promise.resolve();
    if (Number.isNaN(this.#sentAt)) this.#sentAt = performance.now();
    this.#putAside += bytes.length;
    const sent = /** @type {Promise<void>} */ (new Promise((resolve) => {
      this.#sends.push({left: this.#putAside, done: () => resolve()});
    }));
    if (uart === 0 && !this.#byMessage && this.#mailbox?.put(bytes)) {
      if (this.#mailbox.asleep) this.#link.post({type: 'wake'});
    } else {
      this.#byMessage = this.#putAside;
      this.#link.post({type: 'input', bytes, uart}, [/** @type {ArrayBuffer} */ (bytes.buffer)]);
    }
    return sent;
  }

  /** @param {number} count */
  #inputTaken(count) {
    this.#putAside = Math.max(0, this.#putAside - count);
    this.#byMessage = Math.max(0, this.#byMessage - count);
    for (const send of this.#sends) send.left -= count;
    while (this.#sends.length && this.#sends[0].left <= 0) this.#sends.shift()?.done();
  }

  /** The guest stands still, and its clock with it. */
  pause() {
    this.#link?.post({type: 'pause'});
  }

  /** It goes on. */
  resume() {
    this.#link?.post({type: 'go'});
  }

  /** The end after the present slice, with its last figures and what `atEnd` asks for. */
  end() {
    this.#link?.post({type: 'end'});
    return this.exited;
  }

  /** The end, at once; it needs nobody's consent. */
  kill() {
    this.#finish('killed', 'killed', null);
  }

  /** From the beginning, or from the last snapshot, in a new Worker. @param {{fromSnapshot?: boolean}} [how] */
  async restart({fromSnapshot = false} = {}) {
    if (this.#state === 'ended') throw new Error('the PC has ended: boot another');
    this.#bury();
    this.emit('restart', {reason: 'killed', message: 'restarted', generation: this.#generation + 1});
    await this.#again(fromSnapshot);
  }

  /** @template T @param {'save' | 'hash' | 'timeline'} what @returns {Promise<T>} */
  #ask(what) {
    if (!this.#link) return Promise.reject(new Error('the PC has ended'));
    const id = this.#nextId++;
    this.#link.post({type: 'ask', id, what});
    return new Promise((resolve, reject) => this.#asked.set(id, {resolve, reject}));
  }

  /** A snapshot, for `PC.boot({resume})` here, in Node or natively. @returns {Promise<Uint8Array>} */
  async save() {
    this.#snapshot = await this.#ask('save');
    return /** @type {Uint8Array} */ (this.#snapshot);
  }

  /** A hash of all that the guest could see, as 16 hex digits. @returns {Promise<string>} */
  hash() {
    return this.#ask('hash');
  }

  /** The latest slices, gaps and naps. @returns {Promise<import('../pump/pump.js').Span[]>} */
  timeline() {
    return this.#ask('timeline');
  }

  /** For tests, with `testHooks`: the Worker stops answering, as if the machine hung. */
  testHang() {
    this.#link?.post({type: 'hang'});
  }
}
