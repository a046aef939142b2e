/**
 * bench.mjs: what a yield costs. The same machine and the same guest, with no yield at all and with
 * each strategy, in Node, Chromium and Firefox, in alternating rounds; then what a user feels: echo
 * under load, CPU when idle, the guest's clock; then the same of v86 where it has the figure.
 *
 *     node bench/web/bench.mjs BUILD GUEST [--rounds N] [--engines node,chromium,firefox]
 *         [--parts boot,echo,idle,drift,v86] [--json FILE] [--svg FILE]
 *
 * Each measurement runs in a fresh process: what an engine compiled for one does not help another.
 * Ratios are of one run on one machine, of medians of its rounds, and mean nothing across machines.
 */
import {execFile, spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs, promisify} from 'node:util';
import {PC} from '../../web/pc-node.js';
import {ISOLATED, serve} from '../../tools/serve.mjs';
import {cpuSeconds, launch, withPage} from './browsers.mjs';
import {quantile} from './measure.js';
import {drawTimelines} from './timeline.mjs';
import {measureV86} from './v86.mjs';

/** @typedef {'node' | 'chromium' | 'firefox'} Engine */

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    rounds: {type: 'string', default: '5'}, engines: {type: 'string', default: 'node,chromium,firefox'},
    parts: {type: 'string', default: 'boot,echo,idle,drift,v86'}, json: {type: 'string', default: 'bench-web.json'},
    svg: {type: 'string'},
  },
});
const [build, guest] = positionals.map((folder) => path.resolve(folder));
const rounds = Number(values.rounds);
const engines = /** @type {Engine[]} */ (values.engines.split(','));
const parts = values.parts.split(',');
const here = path.dirname(fileURLToPath(import.meta.url));
const work = mkdtempSync(path.join(os.tmpdir(), 'halter-bench-web-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));

const STRATEGIES = /** @type {Record<Engine, string[]>} */ ({
  node: ['none', 'immediate', 'timeout'],
  chromium: ['none', 'channel', 'post-task', 'timeout'],
  firefox: ['none', 'channel', 'post-task', 'timeout'],
});
const SLICE_MS = 8;
const BUSY_SPANS = 4000;
const files = {kernel: `${guest}/vmlinux-686`, initrd: `${guest}/initramfs.cpio.gz`, snapshot: `${work}/snapshot`,
  wasm: `${build}/web/package/pc.wasm`};
/** @type {any} */
const report = {machine: {cpu: os.cpus()[0].model, cores: os.cpus().length, kernel: os.release()}, rounds, versions: {node: process.version},
  boots: [], echoes: [], idles: [], drifts: [], v86: []};
const server = await serve({'/web/': `${build}/web/package/`, '/guest/': `${guest}/`, '/work/': `${work}/`,
  '/bench/': `${here}/`, '/v86/': `${here}/node_modules/v86/build/`, '/bios/': '/usr/share/seabios/'}, () => ISOLATED);

/** One measurement, in a process of its own. @param {Engine} engine @param {string} what @param {object} how */
async function once(engine, what, how) {
  if (engine === 'node') {
    const {stdout} = await promisify(execFile)(process.execPath,
        [path.join(here, 'node.mjs'), JSON.stringify(files), what, JSON.stringify(how)], {maxBuffer: 1 << 26});
    return JSON.parse(stdout);
  }
  return withPage(engine, `${server.url}/bench/page.html`, async (page) => {
    await page.waitForFunction('window.isReady');
    return page.evaluate(`run(${JSON.stringify(what)}, ${JSON.stringify(how)})`);
  });
}

/** @param {number} value @param {number} [digits] */
const fixed = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : '-');
/** @param {(string | number)[]} cells */
const row = (...cells) => console.log(cells.map((cell, i) => (i < 2 ? String(cell).padEnd(11) : String(cell).padStart(11))).join(' '));
/** @param {any[]} list @param {(one: any) => number} of */
const median = (list, of) => quantile(list.map(of), 0.5);

/** Whoever comes first in one round comes later in the next. @template T @param {T[]} list @param {number} by */
const rotated = (list, by) => list.map((_, i) => list[(i + by) % list.length]);

/** The guest at its prompt, for all that follows. */
async function makeSnapshot() {
  const pc = await PC.boot({kernel: files.kernel, initrd: files.initrd, wasm: files.wasm, atEnd: ['save'], script: [{until: '# '}]});
  const {snapshot, message} = await pc.exited;
  if (!snapshot) throw new Error(message);
  writeFileSync(files.snapshot, snapshot);
}

/** The same boot by the native command. */
function nativeHash() {
  const {stderr} = spawnSync(`${build}/halter`, ['boot', files.kernel, '--initrd', files.initrd, '--icount=5', '--hash', '--until', 'BOOT-OK'],
      {encoding: 'latin1', input: ''});
  return /hash ([0-9a-f]{16})/.exec(stderr)?.[1] ?? stderr;
}

async function boots() {
  for (let round = 0; round < rounds; round++)
    for (const engine of engines)
      for (const strategy of rotated(STRATEGIES[engine], round)) {
        const wanted = round === 0 && values.svg && engine === 'chromium' && ['channel', 'timeout'].includes(strategy);
        const result = await once(engine, 'boot', {strategy, sliceMs: SLICE_MS, record: wanted ? BUSY_SPANS : 0});
        report.boots.push({round, engine, strategy, ...result});
        process.stderr.write(`round ${round + 1}: ${engine} ${strategy} ${fixed(result.ms / 1000)} s\n`);
      }
  console.log(`\nBoot, deterministic, ${SLICE_MS} ms slices; medians of ${rounds} rounds`);
  row('engine', 'yield', 'boot s', '× none', 'duty', 'gap p50 ms', 'gap p99 ms', 'hash');
  for (const engine of engines)
    for (const strategy of STRATEGIES[engine]) {
      const mine = report.boots.filter((/** @type {any} */ b) => b.engine === engine && b.strategy === strategy);
      const ratios = mine.map((/** @type {any} */ b) => b.ms / report.boots.find((/** @type {any} */ other) =>
        other.engine === engine && other.strategy === 'none' && other.round === b.round).ms);
      row(engine, strategy, fixed(median(mine, (b) => b.ms) / 1000), fixed(quantile(ratios, 0.5), 3), fixed(median(mine, (b) => b.duty), 3),
          fixed(median(mine, (b) => b.gap?.p50Ms)), fixed(median(mine, (b) => b.gap?.p99Ms)), mine[0].hash);
    }
  const native = nativeHash();
  console.log(`native: ${native}`);
  const states = new Set(report.boots.map((/** @type {any} */ b) => `${b.insns} ${b.hash}`));
  console.log(states.size === 1 && report.boots[0].hash === native ? `All ${report.boots.length} boots ended in the native one's state after the same ${report.boots[0].insns} instructions.` :
    `THE BOOTS DIFFER: ${[...states].join('; ')}`);
  if (values.svg) {
    const spansOf = (/** @type {string} */ strategy) => report.boots.find((/** @type {any} */ b) => b.strategy === strategy && b.timeline)?.timeline ?? [];
    writeFileSync(values.svg, drawTimelines([
      {name: 'timeout', note: 'setTimeout(loop, 0)', spans: spansOf('timeout')},
      {name: 'channel', note: 'a message to oneself', spans: spansOf('channel')}]));
  }
  for (const one of report.boots) delete one.timeline;
}

async function echoes() {
  console.log('\nEcho under load: a key sent while the guest computes, adaptive slices');
  row('engine', 'input by', 'p50 ms', 'p95 ms', 'max ms', 'duty');
  for (const engine of engines)
    for (const mailbox of [false, true]) {
      const result = await once(engine, 'echo', {keys: 100, mailbox});
      report.echoes.push({engine, mailbox, ...result});
      row(engine, mailbox ? 'mailbox' : 'message', fixed(result.p50), fixed(result.p95), fixed(result.max), fixed(result.duty, 3));
    }
}

/** Per cent of one core. @param {number} pid @param {number} seconds */
async function load(pid, seconds) {
  const before = cpuSeconds(pid), began = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return (cpuSeconds(pid) - before) * 1e5 / (performance.now() - began);
}

/** @param {Engine} engine @param {number} seconds */
async function idleOf(engine, seconds) {
  if (engine === 'node') {
    const child = spawn(process.execPath, [path.join(here, 'node.mjs'), JSON.stringify(files), 'idle', '{}'], {stdio: ['ignore', 'pipe', 'inherit']});
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const percent = await load(/** @type {number} */ (child.pid), seconds);
    child.kill();
    return {percent, blank: 0};
  }
  const {browser, pid} = await launch(engine);
  const page = await browser.newPage();
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const blank = await load(pid, seconds);
  await page.goto(`${server.url}/bench/page.html`);
  await page.waitForFunction('window.isReady');
  await page.evaluate('run("idle")');
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const percent = await load(pid, seconds);
  await browser.close();
  return {percent, blank};
}

async function idles() {
  const seconds = 20;
  console.log(`\nIdle at a prompt for ${seconds} s: all the engine's processes, % of one core`);
  row('engine', '', 'with PC', 'blank', 'PC');
  for (const engine of engines) {
    const result = await idleOf(engine, seconds);
    report.idles.push({engine, seconds, ...result});
    row(engine, '', fixed(result.percent), fixed(result.blank), fixed(result.percent - result.blank));
  }
}

async function drifts() {
  const seconds = 60;
  console.log(`\nThe guest's clock against the host's, over ${seconds} s of computing (/proc/uptime, read twice)`);
  row('engine', '', 'drift ms', 'behind ms');
  for (const engine of engines) {
    const result = await once(engine, 'drift', {seconds});
    report.drifts.push({engine, ...result});
    row(engine, '', fixed(result.ms, 0), fixed(result.behindMs, 0));
  }
}

async function v86() {
  console.log('\nv86, its own loop, the same kernel (which unpacks itself there)');
  row('engine', '', 'boot s', 'duty', 'gap p50 ms', 'gap p99 ms', 'echo p50', 'echo p95', 'drift ms', 'idle %');
  for (const engine of engines.filter((one) => one !== 'node')) {
    const result = await measureV86(/** @type {'chromium' | 'firefox'} */ (engine), server.url, load);
    report.v86.push({engine, ...result});
    row(engine, '', fixed(result.bootMs / 1000), fixed(result.duty, 3), fixed(result.gapP50), fixed(result.gapP99),
        fixed(result.echoP50), fixed(result.echoP95), fixed(result.driftMs, 0), fixed(result.idle));
  }
}

for (const engine of engines.filter((one) => one !== 'node')) {
  const {browser, version} = await launch(/** @type {'chromium' | 'firefox'} */ (engine));
  report.versions[engine] = version;
  await browser.close();
}
console.log(`${report.machine.cpu}, ${report.machine.cores} cores; ${Object.entries(report.versions).map(([n, v]) => `${n} ${v}`).join(', ')}`);
await makeSnapshot();
const run = /** @type {Record<string, () => Promise<void>>} */ ({boot: boots, echo: echoes, idle: idles, drift: drifts, v86});
for (const part of parts) {
  await run[part]();
  writeFileSync(values.json, JSON.stringify(report, null, 1));
}
server.close();
