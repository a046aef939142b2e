#!/usr/bin/env node
/**
 * halter.mjs: `halter boot` in Node, with the native command's options: the Worker of a page, on
 * worker_threads, and its console on the terminal.
 *
 *     node web/bin/halter.mjs boot vmlinux --initrd initramfs.cpio.gz
 */
import {existsSync, readFileSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {PC} from '../pc-node.js';
import {UsageError, help, parse} from '../cli/options.js';
import {replay, replayHelp} from '../cli/replay.js';
import {Terminal} from '../cli/terminal.js';

const EXIT = {off: 0, script: 0, worker: 1, usage: 2, shutdown: 3, reset: 4, left: 5, killed: 5,
  crashed: 6, deadline: 6, timeout: 124};
const LOG_INFO = 2;

/** @param {string} text */
const say = (text) => console.error(`halter: ${text}`);

/** In the package beside it; in a source tree where `ninja web` puts it. */
function findMachine() {
  const places = ['../pc.wasm', '../../build/web/wasm/pc.wasm'].map((at) => fileURLToPath(new URL(at, import.meta.url)));
  const found = places.find(existsSync);
  if (!found) throw new Error(`pc.wasm is in none of ${places.join(', ')}: build it (ninja web), or name it by --wasm`);
  return found;
}

/** @param {import('../pc/host.js').Exit} exit @param {import('../cli/options.js').Options} o */
async function tell(exit, o) {
  const {stats} = exit;
  if (o.stats && stats) {
    const {wallMs, slicedMs, nappedMs, slices} = stats.total;
    say(`${(stats.insns / 1e9).toFixed(3)} G instructions, ${(stats.guestMs / 1e3).toFixed(3)} s guest, ` +
        `${(wallMs / 1e3).toFixed(3)} s wall, ${(nappedMs / 1e3).toFixed(3)} s asleep, ` +
        `${(stats.insns / 1e3 / slicedMs).toFixed(1)} MIPS, ${slices} slices, ${stats.boots} boots, ` +
        `duty ratio ${(slicedMs / (wallMs - nappedMs)).toFixed(3)}, ${(stats.driftMs / 1e3).toFixed(3)} s behind`);
  }
  if (exit.hash) say(`hash ${exit.hash}`);
  if (o.save && exit.snapshot) await writeFile(o.save, exit.snapshot);
}

/** @param {import('../cli/options.js').Options} o @returns {Promise<number>} */
async function boot(o) {
  const terminal = new Terminal();
  let timedOut = false;
  /** @type {import('../pc/host.js').BootOptions} */
  const options = {
    ...o.pc, wasm: o.wasm ?? findMachine(),
    atEnd: [...(o.hash ? ['hash'] : []), ...(o.save ? ['save'] : [])].map((x) => /** @type {'hash' | 'save'} */ (x)),
    on: {
      console: ({bytes, uart}) => (uart === 0 ? terminal.write(bytes) : undefined),
      log: ({level, text}) => {
        if (level < LOG_INFO || o.verbose) say(text);
      },
    },
  };
  const pc = await PC.boot(options);
  const timer = o.timeoutMs && setTimeout(() => {
    timedOut = true;
    void pc.end();
  }, o.timeoutMs);
  terminal.listen((bytes) => pc.send(bytes).catch(() => {}), () => void pc.end());
  const exit = await pc.exited;
  clearTimeout(timer || undefined);
  await terminal.close();
  const status = exit.reason === 'left' && timedOut ? 'timeout' : exit.reason;
  if (status === 'timeout') say('the time is up');
  else if (EXIT[status] && status !== 'left') say(exit.message);
  await tell(exit, o);
  return EXIT[status];
}

try {
  const [verb, ...args] = process.argv.slice(2);
  if (verb === '--version') {
    console.log(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version);
    process.exit(0);
  }
  if (verb === 'replay') process.exit(await replay(args, findMachine, say));
  const options = verb === 'boot' ? parse(args) : null;
  if (!options || options.help) {
    (options || verb === '--help' ? console.log : console.error)(options ? help : `${help}\n\n${replayHelp}`);
    process.exit(options || verb === '--help' ? 0 : EXIT.usage);
  }
  process.exitCode = await boot(options);
} catch (error) {
  say(/** @type {Error} */ (error).message);
  process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.worker;
}
