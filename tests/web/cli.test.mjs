// halter.mjs boot: how it ends, what it says, and that what is piped in arrives. HALTER_WASM and
// HALTER_GUEST say where the machine and the guests are.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, {after, before} from 'node:test';
import {fileURLToPath} from 'node:url';

const {HALTER_WASM: wasm = '', HALTER_GUEST: guest = ''} = process.env;
const program = fileURLToPath(new URL('../../web/bin/halter.mjs', import.meta.url));
const kernel = `${guest}/vmlinux-686`, initrd = `${guest}/initramfs.cpio.gz`;
const work = mkdtempSync(path.join(os.tmpdir(), 'halter-cli-'));
const snapshot = path.join(work, 'snapshot');
after(() => rmSync(work, {recursive: true, force: true}));

/** @param {string[]} args @param {string} [input] */
function halter(args, input = '') {
  const {status, stdout, stderr} = spawnSync(process.execPath, [program, ...args], {encoding: 'latin1', input, timeout: 300000});
  return {status, stdout, stderr};
}
/** @param {string[]} args */
const boot = (...args) => halter(['boot', '--wasm', wasm, kernel, '--timeout', '240', ...args]);

before(() => {
  const {status, stderr} = boot('--initrd', initrd, '--ram', '48', '--until', '# ', '--save', snapshot);
  assert.equal(status, 0, stderr);
});

test('a command line that makes no sense is told, with status 2', () => {
  for (const [args, told] of /** @type {[string[], RegExp][]} */ ([
    [[], /usage: halter.mjs boot/], [['frob'], /usage: halter.mjs boot/], [['boot'], /one kernel is needed/],
    [['boot', '--ram', 'x', 'vmlinux'], /--ram wants a number/]])) {
    const {status, stderr} = halter(args);
    assert.equal(status, 2);
    assert.match(stderr, told);
  }
  assert.equal(halter(['boot', '--help']).status, 0);
});

test('what cannot start has status 1 and says why', () => {
  const {status, stderr} = halter(['boot', '--wasm', wasm, '/nowhere/vmlinux']);
  assert.equal(status, 1);
  assert.match(stderr, /^halter: the kernel cannot be read: .*nowhere/);
  assert.equal(halter(['boot', '--wasm', '/nowhere/pc.wasm', kernel]).status, 1);
});

test('the guest powers off with status 0, and what it printed is on standard output', () => {
  const {status, stdout, stderr} = boot('--resume', snapshot, '--stats', '--send', 'echo $((6 * 7))-\\npoweroff -f\\n');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /42-/);
  assert.match(stderr, /halter: .* G instructions, .* s asleep, .* MIPS, .*duty ratio/);
});

test('a timeout has status 124', () => {
  const {status, stderr} = halter(['boot', '--wasm', wasm, kernel, '--resume', snapshot, '--timeout', '0.5']);
  assert.equal(status, 124);
  assert.match(stderr, /the time is up/);
});

test('a reset that ends the run has status 4', () => {
  const {status, stderr} = boot('--resume', snapshot, '--no-reboot', '--send', 'reboot -f\\n');
  assert.equal(status, 4, stderr);
});

test('a triple fault has status 3, and is reported', () => {
  const {status, stderr} = halter(['boot', '--wasm', wasm, faultingKernel(), '--timeout', '240']);
  assert.equal(status, 3, stderr);
  assert.match(stderr, /triple fault/);
});

/** A kernel whose first instruction is not one: there is nobody to take the exception. */
function faultingKernel() {
  const file = path.join(work, 'ud2'), elf = Buffer.alloc(0x1000 + 16), base = 0x100000;
  elf.write('\x7fELF\x01\x01\x01', 0, 'latin1'); // 32 bits, little-endian
  elf.writeUInt16LE(2, 16); // an executable
  elf.writeUInt16LE(3, 18); // for the i386
  elf.writeUInt32LE(1, 20);
  elf.writeUInt32LE(base, 24); // its entry
  elf.writeUInt32LE(52, 28); // program headers
  elf.writeUInt16LE(52, 40);
  elf.writeUInt16LE(32, 42);
  elf.writeUInt16LE(1, 44);
  [1, 0x1000, base, base, 16, 16, 7, 0x1000].forEach((word, i) => elf.writeUInt32LE(word, 52 + 4 * i));
  elf.set([0x0f, 0x0b], 0x1000); // ud2
  writeFileSync(file, elf);
  return file;
}

test('what is piped in arrives, and its end does not disturb', () => {
  const {status, stdout} = halter(['boot', '--wasm', wasm, kernel, '--resume', snapshot, '--timeout', '240'],
      `stty -echo\n${'true\n'.repeat(2000)}echo $((12 * 12))-\npoweroff -f\n`);
  assert.equal(status, 0);
  assert.match(stdout, /144-/);
});

test('a signal ends it with status 5', async () => {
  const child = spawn(process.execPath, [program, 'boot', '--wasm', wasm, kernel, '--resume', snapshot], {stdio: ['pipe', 'pipe', 'inherit']});
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  child.stdin.write('echo $((3 * 4))-\n');
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes('12-')) break;
  }
  child.kill('SIGTERM');
  assert.equal(await exited, 5);
});

test('a reader that is gone ends it', async () => {
  const child = spawn(process.execPath, [program, 'boot', '--wasm', wasm, kernel, '--resume', snapshot], {stdio: ['pipe', 'pipe', 'inherit']});
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
  child.stdin.write('while :; do echo much; done\n');
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.stdout.destroy();
  assert.equal(await exited, 5);
});
