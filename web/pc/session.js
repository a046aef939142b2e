/**
 * session.js: a PC in its Worker: the machine, the pump that runs it, and the conversation with the
 * host. It knows neither a browser nor Node: worker.js and worker-node.js bring the port and the
 * way to read a file.
 *
 * @module
 */
import {Pump} from '../pump/pump.js';
import {Drowse} from './drowse.js';
import {Machine, Stop, describeSnapshot} from './machine.js';
import {Mailbox} from './mailbox.js';
import {Script} from './script.js';

/**
 * @typedef {import('./protocol.js').FromWorker} FromWorker
 * @typedef {import('./protocol.js').ToWorker} ToWorker
 * @typedef {import('./protocol.js').Recipe} Recipe
 * @typedef {import('./protocol.js').Source} Source
 * @typedef {import('./protocol.js').Stats} Stats
 */

/**
 * @typedef {object} Surroundings
 * @property {(message: FromWorker, transfer?: ArrayBuffer[]) => void} post
 * @property {(source: Source, what: string) => Promise<Uint8Array>} read
 */

const UARTS = 2;
// With a mailbox, input is looked for inside a turn as well, without yielding: so many times.
const LOOKS = 4, LOOK_LEAST_MS = 1;

const now = () => performance.now();

export class Session {
  /** @type {Surroundings} */ #around;
  /** @type {Machine | null} */ #machine = null;
  /** @type {Pump | null} */ #pump = null;
  /** @type {Script | null} */ #script = null;
  /** @type {Mailbox | null} */ #mailbox = null;
  /** @type {Recipe | null} */ #recipe = null;
  #drowse = new Drowse();
  #paused = false;
  #over = false;

  /** @type {Uint8Array[][]} */ #inbox = Array.from({length: UARTS}, () => []); // not on the wire yet
  #taken = 0;
  /** @type {number[][]} */ #output = Array.from({length: UARTS}, () => []);
  #credit = 0; // console bytes that the host still wants
  #echoDue = false; // something was typed since the last output

  #began = {hostMs: 0, guestMs: 0};
  #pausedMs = 0;
  #pausedAt = 0;
  #boots = 1;
  #reported = {hostMs: 0, insns: 0};
  #total = {wallMs: 0, slicedMs: 0, nappedMs: 0, slices: 0};

  /** @param {Surroundings} around */
  constructor(around) {
    this.#around = around;
    around.post({type: 'hello'});
  }

  /** @param {ToWorker} message */
  handle(message) {
    switch (message.type) {
      case 'boot':
        this.#boot(message.recipe).catch((error) => this.#fail(error));
        break;
      case 'input':
        this.#drainMailbox(); // what was put there came before
        this.#takeIn(message.bytes, message.uart);
        break;
      case 'wake':
        this.#pump?.wake();
        break;
      case 'credit':
        this.#credit += message.bytes;
        this.#pump?.wake();
        break;
      case 'pause':
        this.#pause();
        break;
      case 'go':
        this.#go();
        break;
      case 'ping':
        this.#around.post({type: 'pong', id: message.id, stats: this.#stats()});
        break;
      case 'ask':
        this.#answer(message.id, message.what);
        break;
      case 'end':
        this.#end('left', 'left');
        break;
      case 'hang':
        if (this.#recipe?.testHooks) for (;;);
    }
  }

  /** @param {Recipe} recipe */
  async #boot(recipe) {
    this.#recipe = recipe;
    this.#credit = recipe.creditBytes;
    const {read} = this.#around;
    const [kernel, initrd, snapshot] = await Promise.all([
      recipe.kernel && read(recipe.kernel, 'the kernel'),
      recipe.initrd && read(recipe.initrd, 'the initial RAM disk'),
      recipe.resume && read(recipe.resume, 'the snapshot'),
    ]);
    const saved = snapshot && describeSnapshot(snapshot);
    const ramMb = recipe.ramMb || saved?.ramMb || 128;
    const cpu = recipe.cpu || saved?.cpu || 'pentium-m';
    const machine = await Machine.create(recipe.module, {
      ramMb, cpu: /** @type {any} */ (cpu), rtcSeconds: recipe.rtcSeconds, icountNs: recipe.icountNs,
      onConsole: (byte, uart) => this.#console(byte, uart),
      onLog: (text, level) => this.#around.post({type: 'log', level, text}),
    });
    if (kernel) machine.boot(kernel, initrd || null, recipe.append);
    if (snapshot) machine.load(snapshot);
    this.#machine = machine;
    this.#script = new Script(recipe.script, (bytes) => this.#takeIn(bytes, 0));
    this.#mailbox = recipe.mailbox && new Mailbox(recipe.mailbox);
    if (recipe.strategy !== 'none')
      this.#pump = new Pump({
        slice: ({budgetMs}) => this.#slice(budgetMs),
        ...(recipe.strategy && {strategy: recipe.strategy}),
        sliceMs: recipe.sliceMs, record: recipe.record,
        wakeOn: [], // handle() wakes it, after what came in is in
      });
    this.#around.post({type: 'ready', ramMb, cpu});
    this.#run(machine, recipe);
  }

  /** @param {Machine} machine @param {Recipe} recipe */
  #run(machine, recipe) {
    machine.begin(now());
    this.#began = {hostMs: now(), guestMs: machine.guestMs};
    this.#reported = {hostMs: now(), insns: Number(machine.insns)};
    this.#script?.begin();
    if (!this.#pump) {
      this.#runWithoutYield(recipe.sliceMs);
    } else if (!this.#paused) {
      this.#around.post({type: 'state', state: 'running'});
      this.#pump.start();
    }
  }

  /** The loop that the pump is measured against: nothing gets in until it ends. @param {number} sliceMs */
  #runWithoutYield(sliceMs) {
    this.#around.post({type: 'state', state: 'running'});
    while (!this.#over) {
      const nap = this.#slice(sliceMs);
      const end = now() + Math.min(nap, 1000);
      while (nap >= 1 && now() < end);
    }
  }

  /** What is worth as many milliseconds' work; returns for how long there is none then. @param {number} budgetMs */
  #slice(budgetMs) {
    const end = now() + budgetMs;
    const step = this.#mailbox ? Math.max(LOOK_LEAST_MS, budgetMs / LOOKS) : budgetMs;
    let nap;
    do {
      this.#mailbox?.awake();
      this.#drainMailbox();
      this.#pushInput();
      if (this.#credit <= 0) nap = Infinity; // the host has enough to read
      else nap = this.#runMachine(step);
      this.#flush();
    } while (!this.#over && nap < 1 && now() + step / 2 < end);
    if (nap >= 1 && this.#mailbox && this.#mailbox.sleep()) nap = 0; // something came just now
    return nap;
  }

  /** @param {number} sliceMs */
  #runMachine(sliceMs) {
    const machine = /** @type {Machine} */ (this.#machine);
    let stop, napMs;
    try {
      ({stop, napMs} = machine.slice(now, sliceMs));
    } catch (error) {
      this.#end('crashed', `the machine failed: ${/** @type {Error} */ (error).message}`);
      return Infinity;
    }
    if (this.#script?.over) this.#end('script', 'the script is over');
    else if (stop === Stop.OFF) this.#end('off', 'the guest powered off');
    else if (stop === Stop.SHUTDOWN) {
      machine.report();
      this.#end('shutdown', 'triple fault');
    } else if (stop === Stop.RESET) {
      if (this.#recipe?.noReboot || !machine.canReboot) this.#end('reset', 'the guest reset the machine');
      else {
        machine.reboot();
        this.#boots++;
      }
    }
    if (this.#inbox.some((queue) => queue.length) && napMs > 1) return 1; // the wire was full
    if (this.#over) return Infinity;
    return this.#drowse.nap(napMs, {hostMs: now(), insns: Number(machine.insns), guestMs: machine.guestMs});
  }

  // ---- The console -------------------------------------------------------------------------

  /** Inside a slice. An echo goes out at once, everything else at the slice's end.
   * @param {number} byte @param {number} uart */
  #console(byte, uart) {
    this.#output[uart].push(byte);
    if (uart === 0 && this.#script) {
      this.#script.see(byte);
      if (this.#script.over) this.#machine?.pause();
    }
    if (this.#echoDue) this.#flush();
  }

  #flush() {
    for (let uart = 0; uart < UARTS; uart++) {
      if (!this.#output[uart].length) continue;
      const bytes = Uint8Array.from(this.#output[uart]);
      this.#output[uart] = [];
      this.#drowse.disturb();
      this.#echoDue = false;
      this.#credit -= bytes.length;
      this.#around.post({type: 'console', bytes, uart}, [bytes.buffer]);
    }
    if (this.#taken) this.#around.post({type: 'taken', bytes: this.#taken});
    this.#taken = 0;
  }

  /** @param {Uint8Array} bytes @param {number} uart */
  #takeIn(bytes, uart) {
    this.#inbox[uart].push(bytes);
    this.#pushInput();
    this.#pump?.hurry();
    this.#pump?.wake();
  }

  #drainMailbox() {
    for (let bytes; (bytes = this.#mailbox?.take()); ) {
      this.#inbox[0].push(bytes);
      this.#pump?.hurry();
    }
  }

  /** As much as there is room for on the wires. */
  #pushInput() {
    for (let uart = 0; this.#machine && uart < UARTS; uart++) {
      const queue = this.#inbox[uart];
      while (queue.length) {
        const sent = this.#machine.consoleIn(queue[0], uart);
        this.#taken += sent;
        if (!sent) break;
        this.#echoDue = true;
        this.#drowse.disturb();
        if (sent < queue[0].length) {
          queue[0] = queue[0].subarray(sent);
          break;
        }
        queue.shift();
      }
    }
  }

  // ---- What the host asks for ---------------------------------------------------------------

  #pause() {
    if (this.#over) return;
    if (!this.#paused) this.#pausedAt = now();
    this.#paused = true;
    this.#pump?.stop();
    this.#around.post({type: 'state', state: 'paused'});
  }

  #go() {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    if (!this.#machine || !this.#pump) return;
    this.#pausedMs += now() - Math.max(this.#pausedAt, this.#began.hostMs);
    this.#machine.begin(now());
    this.#around.post({type: 'state', state: 'running'});
    this.#pump.start();
  }

  /** @param {number} id @param {'save' | 'hash' | 'timeline'} what */
  #answer(id, what) {
    const machine = this.#machine;
    /** @type {ArrayBuffer[]} */ const transfer = [];
    /** @type {unknown} */ let value = null;
    /** @type {string | null} */ let error = null;
    try {
      if (!machine) throw new Error('there is no machine yet');
      if (what === 'hash') value = machine.hash;
      else if (what === 'timeline') value = this.#pump?.timeline() ?? [];
      else {
        const bytes = machine.save();
        transfer.push(bytes.buffer);
        value = bytes;
      }
    } catch (thrown) {
      error = /** @type {Error} */ (thrown).message;
    }
    this.#around.post({type: 'answer', id, value, error}, transfer);
    this.#pump?.wake();
  }

  /** @returns {Stats | null} */
  #stats() {
    const machine = this.#machine;
    if (!machine) return null;
    const at = now(), insns = Number(machine.insns), before = this.#reported;
    const pump = this.#pump?.stats();
    const slicedMs = pump ? pump.slices.sumMs : at - before.hostMs;
    const paused = this.#pausedMs + (this.#paused ? at - this.#pausedAt : 0);
    const wallMs = at - this.#began.hostMs - paused;
    this.#pump?.clear();
    this.#reported = {hostMs: at, insns};
    this.#total.wallMs = wallMs;
    this.#total.slicedMs += slicedMs;
    this.#total.nappedMs += pump?.nappedMs ?? 0;
    this.#total.slices += pump?.slices.count ?? 0;
    return {
      insns, guestMs: machine.guestMs,
      mips: (insns - before.insns) / 1000 / slicedMs,
      duty: pump ? pump.duty : 1,
      driftMs: wallMs - (machine.guestMs - this.#began.guestMs),
      busy: slicedMs / (at - before.hostMs),
      strategy: pump ? pump.strategy : 'none',
      slice: {p50Ms: pump?.slices.p50Ms ?? NaN, p99Ms: pump?.slices.p99Ms ?? NaN},
      gap: {p50Ms: pump?.gaps.p50Ms ?? NaN, p99Ms: pump?.gaps.p99Ms ?? NaN},
      boots: this.#boots, total: {...this.#total},
    };
  }

  /** @param {import('./protocol.js').Reason} reason @param {string} message */
  #end(reason, message) {
    if (this.#over) return;
    this.#over = true;
    this.#flush();
    this.#pump?.stop();
    const stats = this.#stats(), wanted = this.#recipe?.atEnd ?? [];
    /** @type {import('./protocol.js').Remains} */ const remains = {};
    if (wanted.includes('hash')) remains.hash = this.#machine?.hash;
    if (wanted.includes('timeline')) remains.timeline = this.#pump?.timeline() ?? [];
    if (wanted.includes('save')) remains.snapshot = this.#machine?.save();
    this.#around.post({type: 'exit', reason, message, stats, remains},
        remains.snapshot ? [/** @type {ArrayBuffer} */ (remains.snapshot.buffer)] : []);
  }

  /** @param {Error} error */
  #fail(error) {
    this.#over = true;
    this.#around.post({type: 'failed', message: error.message});
  }
}

