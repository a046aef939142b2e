#!/usr/bin/env node
/**
 * halter-pc.mjs: boots a PC in Node, with the options of the native halter-pc.
 *
 *     node web/bin/halter-pc.mjs --wasm build/web/wasm/pc.wasm KERNEL --initrd FILE …
 *
 * Between two slices the event loop gets its turn by setImmediate: a timer of 0 ms would wait for
 * one, and a MessageChannel would starve everything else here.
 */
import {createWriteStream, readFileSync} from 'node:fs';
import {parseArgs} from 'node:util';
import {PC, Stop} from '../pc.js';

const EXIT = {OFF: 0, START: 1, USAGE: 2, SHUTDOWN: 3, RESET: 4, LEFT: 5, TIMEOUT: 124};
const COMMAND_LINE = 'console=ttyS0 cryptomgr.notests noisapnp quiet panic=-1';

const USAGE = `usage: halter-pc.mjs --wasm PC.WASM [OPTION]... KERNEL
  --initrd FILE --append TEXT --ram MB --cpu MODEL --rtc SECONDS
  --until TEXT, --send TEXT   in order; \\n \\r \\t \\e \\\\ \\xNN
  --timeout SECONDS --icount NS --no-reboot --save FILE --resume FILE --stats --hash --verbose`;

/** @param {string} text */
function unescape(text) {
  /** @type {Record<string, string>} */
  const names = {n: '\n', r: '\r', t: '\t', e: '\x1b', '\\': '\\'};
  return text.replace(/\\(x[0-9a-fA-F]{2}|.|$)/g, (whole, what) => {
    if (what.length === 3) return String.fromCharCode(parseInt(what.slice(1), 16));
    if (!(what in names)) throw new Error(`${whole} is not an escape`);
    return names[what];
  });
}

function parse() {
  const text = /** @type {const} */ ({type: 'string'}), flag = /** @type {const} */ ({type: 'boolean'});
  const {values, positionals, tokens} = parseArgs({
    allowPositionals: true, tokens: true,
    options: {
      wasm: text, initrd: text, append: text, ram: text, cpu: text, rtc: text, timeout: text,
      icount: text, save: text, resume: text, until: {type: 'string', multiple: true},
      send: {type: 'string', multiple: true}, 'no-reboot': flag, stats: flag, hash: flag,
      verbose: flag,
    },
  });
  if (positionals.length !== 1 || !values.wasm) throw new Error(USAGE);
  /** @type {{until: string, send: string | null}[]} */
  const steps = [];
  for (const token of tokens) {
    if (token.kind !== 'option' || !token.value) continue;
    if (token.name === 'until') steps.push({until: unescape(token.value), send: null});
    if (token.name !== 'send') continue;
    const last = steps[steps.length - 1];
    if (last && last.send === null) last.send = unescape(token.value);
    else steps.push({until: '', send: unescape(token.value)});
  }
  return {...values, kernel: positionals[0], steps};
}

class Run {
  /** @param {ReturnType<typeof parse>} options */
  constructor(options) {
    this.options = options;
    this.step = 0;
    this.seen = '';
    /** @type {number[]} */
    this.output = [];
    this.over = false;
    this.started = performance.now();
    this.asleep = 0;
    this.slices = 0;
    this.boots = 1;
    /** @type {(() => void) | null} */
    this.wake = null;
  }

  async create() {
    const o = this.options;
    this.pc = await PC.create(readFileSync(/** @type {string} */ (o.wasm)), {
      ramMB: Number(o.ram ?? 128),
      cpu: /** @type {any} */ (o.cpu ?? 'pentium-m'),
      rtcSeconds: Number(o.rtc ?? (o.icount ? 0 : Date.now() / 1000)),
      icountNs: Number(o.icount ?? 0),
      onConsole: (byte, uart) => this.console(byte, uart),
      onLog: (line, level) => {
        if (level !== 2 || o.verbose) console.error(`halter-pc: ${line}`);
      },
    });
    if (o.resume) {
      this.pc.load(readFileSync(o.resume));
    } else {
      this.pc.boot(readFileSync(/** @type {string} */ (o.kernel)), o.initrd ? readFileSync(o.initrd) : null,
          o.append ?? COMMAND_LINE);
    }
    return this.pc;
  }

  /** Keys go out at the very instruction that completed the text: the run is then repeatable. */
  advance() {
    const {steps} = this.options;
    while (this.step < steps.length && this.seen.endsWith(steps[this.step].until)) {
      const {send} = steps[this.step++];
      this.seen = '';
      if (send !== null) this.pc?.consoleIn(Buffer.from(send, 'latin1'));
      else if (this.step === steps.length) this.over = true;
    }
    if (this.over) this.pc?.pause();
  }

  /** @param {number} byte @param {number} uart */
  console(byte, uart) {
    if (uart !== 0) return;
    this.output.push(byte);
    if (this.step >= this.options.steps.length) return;
    this.seen = (this.seen + String.fromCharCode(byte)).slice(-1024);
    this.advance();
  }

  flush() {
    if (this.output.length) process.stdout.write(Uint8Array.from(this.output));
    this.output = [];
  }

  /** @param {number} ms */
  nap(ms) {
    return new Promise((resolve) => {
      const began = performance.now();
      const done = () => {
        clearTimeout(timer);
        this.wake = null;
        this.asleep += performance.now() - began;
        resolve(undefined);
      };
      const timer = setTimeout(done, Math.min(ms, 1e9));
      this.wake = done;
    });
  }

  /** Runs to the end; the exit status. @param {PC} pc */
  async run(pc) {
    const now = () => performance.now();
    const limit = this.options.timeout ? Number(this.options.timeout) * 1000 : Infinity;
    this.started = now();
    pc.begin(this.started);
    this.advance();
    for (;;) {
      const {stop, napMs} = pc.slice(now);
      this.slices++;
      this.flush();
      if (this.over || stop === Stop.OFF) return EXIT.OFF;
      if (stop === Stop.SHUTDOWN) {
        pc.report();
        return EXIT.SHUTDOWN;
      }
      if (stop === Stop.RESET) {
        if (this.options['no-reboot']) return EXIT.RESET;
        pc.reboot();
        this.boots++;
      }
      const left = limit - (now() - this.started);
      if (left <= 0) {
        console.error('halter-pc: the time is up');
        return EXIT.TIMEOUT;
      }
      if (napMs > 1) await this.nap(Math.min(napMs, left));
      else await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** @param {PC} pc */
  listen(pc) {
    process.stdin.on('data', (bytes) => {
      if (process.stdin.isTTY && bytes.includes(1)) process.exit(EXIT.LEFT); // Ctrl-A
      pc.consoleIn(bytes);
      this.wake?.();
    });
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
  }

  /** @param {PC} pc */
  finish(pc) {
    const {stats, hash, save} = this.options, wall = (performance.now() - this.started) / 1000;
    const insns = Number(pc.insns), asleep = this.asleep / 1000;
    if (stats) {
      console.error(`halter-pc: ${(insns / 1e9).toFixed(3)} G instructions, ` +
          `${(Number(pc.nowNs) / 1e9).toFixed(3)} s guest, ${wall.toFixed(3)} s wall, ` +
          `${asleep.toFixed(3)} s asleep, ${(insns / 1e6 / (wall - asleep)).toFixed(1)} MIPS, ` +
          `${this.slices} slices, ${this.boots} boots`);
    }
    if (hash) console.error(`halter-pc: hash ${pc.hash}`);
    if (!save) return Promise.resolve();
    const file = createWriteStream(save);
    for (const piece of pc.save()) file.write(piece);
    return new Promise((resolve) => file.end(() => resolve(undefined)));
  }
}

let run;
try {
  run = new Run(parse());
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exit(EXIT.USAGE);
}
try {
  const pc = await run.create();
  run.listen(pc);
  const status = await run.run(pc);
  await run.finish(pc);
  process.exit(status);
} catch (error) {
  console.error(`halter-pc: ${/** @type {Error} */ (error).message}`);
  process.exit(EXIT.START);
}
