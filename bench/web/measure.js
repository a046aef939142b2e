/**
 * measure.js: what is measured of a PC, in a page or in Node: whoever calls brings `PC` and where the
 * files lie.
 *
 * @module
 */

/**
 * @typedef {{kernel: string, initrd: string, snapshot: string, wasm: string}} Files
 * @typedef {import('../../web/pump/yield.js').Strategy | 'none'} Strategy
 * @typedef {typeof import('../../web/pc.js').PC} PCClass
 */

const ICOUNT_NS = 5;
const FOREVER_MS = 1e9; // between heartbeats: the figures at the end are then of the whole run

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number[]} values @param {number} q */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] : NaN;
}

/**
 * A deterministic boot to the end of the kernel's start: the same instructions whoever runs it.
 * @param {PCClass} PC @param {Files} files
 * @param {{strategy: Strategy, sliceMs: number, record?: number}} how
 */
export async function boot(PC, files, {strategy, sliceMs, record = 0}) {
  const pc = await PC.boot({
    kernel: files.kernel, initrd: files.initrd, wasm: files.wasm, icountNs: ICOUNT_NS, strategy, sliceMs,
    heartbeatMs: FOREVER_MS, deadlineMs: FOREVER_MS, atEnd: ['hash', ...(record ? [/** @type {const} */ ('timeline')] : [])], record, script: [{until: 'BOOT-OK'}],
  });
  const {stats, hash, message, timeline} = await pc.exited;
  if (!stats) throw new Error(message);
  return {ms: stats.total.wallMs, duty: stats.total.slicedMs / stats.total.wallMs, gap: stats.gap, slice: stats.slice,
    slices: stats.total.slices, insns: stats.insns, hash, timeline};
}

/** A PC at its prompt, from the snapshot. @param {PCClass} PC @param {Files} files @param {object} options */
export async function resume(PC, files, options = {}) {
  const heard = {text: '', onBytes: /** @type {((text: string) => void) | null} */ (null), stats: /** @type {any} */ (null)};
  const pc = await PC.boot({
    resume: files.snapshot, wasm: files.wasm, ...options,
    on: {
      console: ({bytes}) => {
        const text = String.fromCharCode(...bytes);
        heard.text += text;
        heard.onBytes?.(text);
      },
      stats: (stats) => {
        heard.stats = stats;
      },
    },
  });
  /** @param {string} text */
  const until = async (text) => {
    for (let ms = 0; !heard.text.includes(text); ms += 10) {
      if (ms > 60000) throw new Error(`the guest did not say "${text}" but "${heard.text.slice(-200)}"`);
      await sleep(10);
    }
  };
  /** @param {string} line @param {string} [answer] */
  const type = async (line, answer) => {
    heard.text = '';
    await pc.send(`${line}\n`);
    if (answer) await until(answer);
  };
  return {pc, heard, type, until};
}

/**
 * How long a key takes to come back while the guest computes: a busy loop in the background, the
 * kernel's own echo in front.
 * @param {PCClass} PC @param {Files} files
 * @param {{keys: number, strategy?: Strategy, mailbox?: boolean}} how
 */
export async function echo(PC, files, {keys, ...options}) {
  const {pc, heard, type} = await resume(PC, files, options);
  await type('stty echo; while :; do :; done &', 'done &');
  await type('cat >/dev/null; :', '/dev/null');
  await sleep(1500);
  const times = [];
  for (let i = 0; i < keys; i++) {
    const key = String.fromCharCode(97 + (i % 26)), began = performance.now();
    const took = await new Promise((resolve) => {
      heard.onBytes = (text) => text.includes(key) && resolve(performance.now() - began);
      void pc.send(key);
      setTimeout(() => resolve(NaN), 10000);
    });
    if (Number.isNaN(took)) throw new Error(`the key ${key} never came back`);
    times.push(took);
    heard.onBytes = null;
    if (i % 40 === 39) await pc.send('\x15'); // kill the line: it may not grow for ever
    await sleep(60 + 60 * Math.random());
  }
  const {duty} = heard.stats;
  pc.kill();
  return {p50: quantile(times, 0.5), p95: quantile(times, 0.95), max: Math.max(...times), keys, duty};
}

/** Reads the guest's own clock: seconds since its boot. @param {Awaited<ReturnType<typeof resume>>} guest */
async function uptime({type, heard}) {
  const before = performance.now();
  await type('echo "UP-$(cut -d" " -f1 /proc/uptime)-"', '-\r\n#');
  const found = /UP-([0-9.]+)-/.exec(heard.text);
  return {guest: Number(found?.[1]) * 1000, host: (before + performance.now()) / 2};
}

/**
 * By how much the guest's clock and the host's drift apart while it computes.
 * @param {PCClass} PC @param {Files} files @param {{seconds: number, strategy?: Strategy}} how
 */
export async function drift(PC, files, {seconds, ...options}) {
  const guest = await resume(PC, files, options);
  await guest.type('while :; do :; done &', '#');
  await sleep(2000);
  const first = await uptime(guest);
  await sleep(seconds * 1000);
  const last = await uptime(guest);
  const {driftMs} = guest.heard.stats;
  guest.pc.kill();
  return {ms: last.guest - first.guest - (last.host - first.host), behindMs: driftMs, seconds};
}

/** A PC that is left alone, to be counted by whoever counts CPU time. @param {PCClass} PC @param {Files} files */
export async function idle(PC, files) {
  const {pc} = await resume(PC, files);
  await sleep(3000);
  return pc;
}
