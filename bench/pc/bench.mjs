/**
 * bench.mjs: the PC against others, on the same kernel with the same command line.
 *
 *     node bench/pc/bench.mjs BUILD GUEST [--rounds N] [--kernel 686] [--emulators native,wasm,v86,qemu]
 *         [--programs int,sieve,…] [--json FILE]
 *
 * Each round boots every emulator once, whoever came first in one coming later in the next, and runs
 * each of the guest's programs in it; so all see the same minutes of the machine. Times are the
 * host's, between what the guest writes. Ratios are medians of the rounds' own ratios. The programs'
 * checksums must be those of the processor, which runs the same file first.
 */
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {emulators, Guest} from './emulators.mjs';
import {printReport} from './report.mjs';

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    rounds: {type: 'string', default: '5'}, kernel: {type: 'string', default: '686'},
    emulators: {type: 'string', default: 'native,wasm,v86,qemu'}, programs: {type: 'string', default: 'all'},
    json: {type: 'string', default: 'bench-pc.json'},
  },
});
const [build, guest] = positionals.map((folder) => path.resolve(folder));
const rounds = Number(values.rounds), names = values.emulators.split(',');
const known = emulators(build, guest, values.kernel);
const host = `${guest}/programs/bench`;
const programs = values.programs === 'all' ? execFileSync(host, {encoding: 'utf8'}).trim().split('\n') :
  values.programs.split(',').filter(Boolean);

/** What the processor itself makes of the same file. */
function checksums() {
  const sums = new Map();
  for (const program of programs.filter((name) => !ONLY_IN_GUEST.includes(name))) {
    const text = execFileSync(host, [program], {encoding: 'utf8'});
    sums.set(program, /RESULT \S+ \S+ ([0-9a-f]+)/.exec(text)?.[1]);
  }
  return sums;
}
/** They start /bin/nop or the guest's own shell and tools: their sum is the same in every emulator. */
const ONLY_IN_GUEST = ['forkexec', 'sh', 'gzip'];

/** One boot and its programs. @param {string} key @param {Map<string, string>} sums */
async function once(key, sums) {
  const machine = new Guest(known[key]);
  try {
    const first = await machine.until('Linux version', 300);
    const up = await machine.until('BOOT-OK', 300);
    await machine.until('# ', 60);
    /** @type {Record<string, number>} */
    const ms = {};
    for (const program of programs) {
      machine.send(`bench ${program}\n`);
      const began = (await machine.until(`START ${program}`, 60)).ms;
      const done = await machine.until('RESULT ', 600);
      const sum = (await machine.until('\n', 60)).before.trim().split(' ')[2];
      if (!sums.has(program)) sums.set(program, sum);
      if (sums.get(program) !== sum) throw new Error(`${machine.name}: ${program} gives ${sum}, not ${sums.get(program)}`);
      ms[program] = done.ms - began;
      await machine.until('# ', 60);
    }
    return {emulator: key, bootMs: up.ms, kernelMs: up.ms - first.ms, ms};
  } finally {
    await machine.end();
  }
}

const report = {
  machine: {cpu: os.cpus()[0].model, cores: os.cpus().length, kernel: os.release(), load: os.loadavg()[0]},
  date: new Date().toISOString().slice(0, 10), node: process.version, kernel: values.kernel, rounds, programs,
  runs: /** @type {any[]} */ ([]),
};
const sums = checksums();
for (let round = 0; round < rounds; round++)
  for (let i = 0; i < names.length; i++) {
    const key = names[(i + round) % names.length];
    report.runs.push({round, ...await once(key, sums)});
    process.stderr.write(`round ${round + 1} of ${rounds}: ${known[key].name}: shell after ${(report.runs.at(-1).bootMs / 1000).toFixed(2)} s\n`);
    writeFileSync(values.json, JSON.stringify(report, null, 1));
  }
printReport(report, Object.fromEntries(names.map((key) => [key, known[key].name])));
