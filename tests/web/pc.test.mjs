// A PC in Node: born, heard, typed at, paused, saved, resumed, killed, restarted; and every way to
// get it wrong has an error that says what.
//
// HALTER_WASM and HALTER_GUEST say where the machine and the guests are.
import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test, {after, before} from 'node:test';
import {PC} from '../../web/pc-node.js';

const wasm = /** @type {string} */ (process.env.HALTER_WASM), guest = process.env.HALTER_GUEST;
const kernel = `${guest}/vmlinux-686`, initrd = `${guest}/initramfs.cpio.gz`;

/** A PC at its prompt, from a snapshot, with what it says. @type {Uint8Array} */
let snapshot;
before(async () => {
  const pc = await PC.boot({kernel, initrd, wasm, ramMb: 48, script: [{until: '# '}], atEnd: ['save']});
  const exit = await pc.exited;
  assert.ok(exit.snapshot, exit.message);
  snapshot = exit.snapshot;
});

/** @type {PC[]} */ const living = [];
after(() => living.forEach((pc) => pc.kill()));

/** @param {Partial<import('../../web/pc/host.js').BootOptions>} [options] */
async function start(options = {}) {
  const heard = {text: '', states: /** @type {string[]} */ ([])};
  const pc = await PC.boot({resume: snapshot, wasm, deadlineMs: 60000, ...options, on: {
    console: ({bytes}) => void (heard.text += String.fromCharCode(...bytes)),
    state: (state) => heard.states.push(state), ...options.on,
  }});
  living.push(pc);
  return {pc, heard, until: (/** @type {string} */ text) => until(() => heard.text.includes(text), () => heard.text.slice(-300))};
}

/** @param {() => boolean} happened @param {() => string} [instead] */
async function until(happened, instead = () => '') {
  for (const limit = Date.now() + 120000; !happened();) {
    if (Date.now() > limit) throw new Error(`it never happened; ${instead()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a guest runs a command and powers off', async () => {
  const {pc, heard, until} = await start();
  await pc.send('echo $((6 * 7))-\n');
  await until('42-');
  await pc.send('poweroff -f\n');
  const {reason, stats} = await pc.exited;
  assert.equal(reason, 'off');
  assert.ok(stats && stats.insns > 0 && stats.total.slices > 0);
  assert.deepEqual(heard.states.slice(-2), ['running', 'ended']);
  await assert.rejects(pc.send('x'), /has ended/);
  await assert.rejects(pc.save(), /has ended/);
});

test('what it says comes with its port, and the machine tells of itself', async () => {
  const uarts = new Set();
  const {pc} = await start({on: {console: undefined}});
  pc.on('console', ({uart}) => uarts.add(uart));
  let stats = /** @type {any} */ (null);
  const off = pc.on('stats', (now) => (stats = now));
  await pc.send('echo to-the-second >/dev/ttyS1; echo done\n');
  await new Promise((resolve) => pc.on('stats', resolve));
  off();
  assert.ok(stats.insns > 0 && stats.generation === 1 && stats.state === 'running');
  assert.ok(uarts.has(0) && uarts.has(1));
  pc.kill();
});

test('paused, nothing runs and the clock stands; resumed, it goes on', async () => {
  const {pc, heard, until: hears} = await start();
  await pc.send('while :; do cut -d" " -f1 /proc/uptime; done\n');
  await hears('\r\n1');
  pc.pause();
  await until(() => pc.state === 'paused');
  const first = await pc.hash(), said = heard.text;
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await pc.hash(), first);
  assert.equal(heard.text, said);
  pc.resume();
  await until(() => heard.text.length > said.length);
  assert.notEqual(await pc.hash(), first);
  pc.kill();
});

for (const mailbox of [true, false]) {
  test(`64 kB that are pasted arrive whole ${mailbox ? 'through the mailbox' : 'by message'}`, async () => {
    const {pc, until: hears} = await start({mailbox});
    const line = `${'0123456789abcdef'.repeat(15)}fedcba987654321\n`; // 256 bytes
    await pc.send('stty -echo; cat >/tmp/paste; md5sum </tmp/paste; wc -c </tmp/paste\n');
    await hears('/tmp/paste');
    await new Promise((resolve) => setTimeout(resolve, 500));
    await pc.send(line.repeat(256));
    await pc.send('\x04');
    const {createHash} = await import('node:crypto');
    await hears(createHash('md5').update(line.repeat(256)).digest('hex'));
    await hears('65536');
    pc.kill();
  });
}

test('a listener that is slow holds the guest back, and loses nothing', async () => {
  const CREDIT = 4096, numbers = 8000, wanted = Array.from({length: numbers}, (_, i) => `${i + 1}\r\n`).join('');
  let text = '', held = true;
  /** @type {(() => void)[]} */ const waiting = [];
  const {pc} = await start({creditBytes: CREDIT, on: {console: ({bytes}) => {
    text += String.fromCharCode(...bytes);
    return held ? new Promise((resolve) => waiting.push(() => resolve(undefined))) : undefined;
  }}});
  void pc.send(`stty -echo; seq 1 ${numbers}\n`);
  await until(() => text.length > CREDIT);
  const insns = async () => (await new Promise((resolve) => pc.on('stats', resolve))).insns;
  const before = await insns();
  assert.ok(await insns() === before, 'the guest stands still');
  assert.ok(text.length < 4 * CREDIT, `${text.length}`);
  held = false;
  waiting.forEach((go) => go());
  await until(() => text.includes(wanted));
  pc.kill();
});

test('a snapshot goes on where it was taken', async () => {
  const first = await start();
  await first.pc.send('x=kept\n');
  await first.until('x=kept\r\n');
  first.pc.pause();
  const saved = await first.pc.save();
  const hash = await first.pc.hash();
  first.pc.kill();
  const second = await start({resume: saved, on: {state: () => {}}});
  await second.pc.send('echo was-$x\n');
  await second.until('was-kept');
  assert.match(hash, /^[0-9a-f]{16}$/);
  second.pc.kill();
});

test('kill() is the end at once, whatever the guest does', async () => {
  const {pc} = await start();
  await pc.send('while :; do :; done\n');
  pc.kill();
  assert.equal(pc.state, 'ended');
  assert.equal((await pc.exited).reason, 'killed');
  pc.kill();
  await assert.rejects(pc.restart(), /has ended/);
});

test('a Worker that does not answer is terminated', async () => {
  const {pc} = await start({testHooks: true, deadlineMs: 3000, heartbeatMs: 200});
  pc.testHang();
  const {reason, message} = await pc.exited;
  assert.equal(reason, 'deadline');
  assert.match(message, /did not answer for \d+ s: terminated/);
});

test('a Worker obeys the test hook only when it is allowed to', async () => {
  const {pc, until: hears} = await start();
  pc.testHang();
  await pc.send('echo $((3 * 4))-\n');
  await hears('12-');
  pc.kill();
});

test('it is restarted from its last snapshot when that is wanted', async () => {
  /** @type {any[]} */ const restarts = [];
  const {pc, heard, until: hears} = await start({testHooks: true, deadlineMs: 3000, heartbeatMs: 200, restart: 'snapshot',
    on: {restart: (event) => restarts.push(event)}});
  await pc.send('x=kept\n');
  await hears('x=kept\r\n');
  await pc.save();
  pc.testHang();
  const lost = pc.hash().catch((error) => error.message);
  await until(() => restarts.length === 1 && pc.state === 'running');
  assert.equal(await lost, 'the PC is gone');
  assert.equal(restarts[0].reason, 'deadline');
  assert.equal(pc.generation, restarts[0].generation);
  heard.text = '';
  await pc.send('echo was-$x\n');
  await hears('was-kept');
  pc.kill();
});

test('restart() boots again, or goes on from the snapshot', async () => {
  const {pc, heard, until: hears} = await start();
  await pc.send('x=forgotten\n');
  await hears('x=forgotten\r\n');
  await pc.restart();
  heard.text = '';
  await pc.send('echo was-$x-\n');
  await hears('was--');
  pc.kill();
});

test('a machine that fails is told, and restarted only so often', async () => {
  let restarts = 0;
  const {pc} = await start({testHooks: true, deadlineMs: 2500, heartbeatMs: 500, restart: 'boot', mostRestarts: 1, on: {restart: () => restarts++}});
  pc.on('state', (state) => state === 'running' && pc.testHang());
  pc.testHang();
  assert.equal((await pc.exited).reason, 'deadline');
  assert.equal(restarts, 1);
});

test('one listener that throws does not keep the others from hearing', async () => {
  // In a process of its own: what a listener throws is an uncaught exception, as it should be.
  const {spawnSync} = await import('node:child_process');
  const {stdout} = spawnSync(process.execPath, ['--input-type=module', '-e', `
    import {PC} from ${JSON.stringify(new URL('../../web/pc-node.js', import.meta.url).href)};
    process.on('uncaughtException', ({message}) => console.log('uncaught', message));
    const pc = await PC.boot({kernel: ${JSON.stringify(kernel)}, wasm: ${JSON.stringify(wasm)}});
    pc.on('exit', () => { throw new Error('mine'); });
    pc.on('exit', ({reason}) => console.log('heard', reason));
    pc.kill();`], {encoding: 'utf8', timeout: 60000});
  assert.match(stdout, /heard killed/);
  assert.match(stdout, /uncaught mine/);
});

// ---- What can be wrong --------------------------------------------------------------------------

/** @param {RegExp} told @param {any} options */
const refuses = (told, options) => assert.rejects(async () => {
  living.push(await PC.boot({wasm, ...options}));
}, told);

test('what is missing is named', async () => {
  const work = await mkdtemp(path.join(os.tmpdir(), 'halter-pc-'));
  writeFileSync(path.join(work, 'text'), 'this is no kernel, nor anything else');
  await refuses(/a kernel, or a snapshot/, {});
  await refuses(/the kernel cannot be read: .*nowhere/, {kernel: '/nowhere/vmlinux'});
  await refuses(/the initial RAM disk cannot be read: .*nowhere/, {kernel, initrd: '/nowhere/initrd'});
  await refuses(/machine \(pc.wasm\) cannot be read: .*nowhere/, {kernel, wasm: '/nowhere/pc.wasm'});
  await refuses(/wasm/i, {kernel, wasm: path.join(work, 'text')});
  await refuses(/kernel/, {kernel: path.join(work, 'text')});
  await refuses(/this is no snapshot/, {resume: path.join(work, 'text')});
  await refuses(/the kernel must be a URL, a Uint8Array, an ArrayBuffer or a Blob/, {kernel: 7});
  await refuses(/RAM/, {kernel, initrd, ramMb: 16});
  await refuses(/RAM|memory/, {kernel, ramMb: 5000});
  await refuses(/no processor "8086"/, {kernel, cpu: '8086'});
  await refuses(/command line is too long/, {kernel, append: 'x'.repeat(5000)});
  await refuses(/there is no strategy "magic"/, {kernel, strategy: 'magic'});
  await refuses(/"post-task" is not to be had here/, {kernel, strategy: 'post-task'});
  await rm(work, {recursive: true});
});

test('a snapshot that is cut short is refused', async () => {
  await refuses(/snapshot|section|end|short/i, {resume: snapshot.subarray(0, snapshot.length - 100000)});
  await refuses(/RAM/, {resume: snapshot, ramMb: 128});
});
