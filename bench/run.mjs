// Throughput of one transform over one NDJSON file, several ways, in alternating rounds:
//
//   halter run          one guest, and two
//   node, fork          child_process.fork and one message a record: what a user would build
//                       instead (objects, and strings that the child parses: the faster one counts)
//   node, in process    the same transform with no process between: what isolation costs
//
// Every output is compared with the first one's. The memory of every process is read from /proc
// while they run. Prints medians and ratios; ratios are of one run on one machine and mean nothing
// across machines.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [build, bytesText, roundsText, outPath] = process.argv.slice(2);
const rounds = Number(roundsText);
const here = path.dirname(new URL(import.meta.url).pathname);
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'halter-bench-'));
const input = path.join(work, 'input.ndjson');
const plugin = path.join(here, 'streams', 'transform.js');
const halter = path.join(build, 'halter');

const ways = [
  { name: 'halter run', command: [halter, 'run', '--live', 'never', plugin, input] },
  { name: 'halter run -j 2', command: [halter, 'run', '--live', 'never', '-j', '2', plugin, input] },
  { name: 'node fork, objects', command: ['node', path.join(here, 'streams', 'fork.mjs'), 'objects', plugin, input] },
  { name: 'node fork, strings', command: ['node', path.join(here, 'streams', 'fork.mjs'), 'strings', plugin, input] },
  { name: 'node in process', command: ['node', path.join(here, 'streams', 'inside.mjs'), plugin, input] },
];

/** Writes about `bytes` of events, always the same ones; returns how many. */
function writeInput(bytes) {
  let seed = 1;
  const below = n => (seed = (seed * 1103515245 + 12345) % 2147483648, Math.floor(seed / 65536) % n);
  const types = ['push', 'pull_request', 'watch', 'member'];
  const fd = fs.openSync(input, 'w');
  let written = 0, records = 0, chunk = '';
  while (written < bytes) {
    chunk += JSON.stringify({
      type: types[below(4)], id: 1e9 + records, actor: { login: 'user-' + below(5000), admin: !below(50) },
      repository: { full_name: `team-${below(40)}/project-${below(300)}`, stars: below(10000) },
      at: new Date(1772438400000 + records * 1000).toISOString(),
      payload: { forced: !below(30), size: below(20), message: 'change number ' + below(100000) + ' of many' },
    }) + '\n';
    records++;
    if (chunk.length > 1 << 20 || written + chunk.length >= bytes) {
      fs.writeSync(fd, chunk);
      written += chunk.length;
      chunk = '';
    }
  }
  fs.closeSync(fd);
  return records;
}

/** Peak resident memory of a process and all below it, by command, in bytes: VmHWM, read now. */
function lookAt(pid, peaks) {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    const name = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0].split('/').pop() || 'helper';
    peaks.set(pid, [name, Number(/VmHWM:\s+(\d+)/.exec(status)[1]) * 1024]);
    for (const child of fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' '))
      if (child) lookAt(Number(child), peaks);
  } catch {
    // it ended between two looks
  }
}

function run(way) {
  return new Promise((resolve, reject) => {
    const output = path.join(work, 'output');
    const fd = fs.openSync(output, 'w');
    const peaks = new Map();
    const began = process.hrtime.bigint();
    const child = spawn(way.command[0], way.command.slice(1), { stdio: ['ignore', fd, 'inherit'] });
    const timer = setInterval(() => lookAt(child.pid, peaks), 50);
    child.on('error', reject);
    child.on('exit', code => {
      const seconds = Number(process.hrtime.bigint() - began) / 1e9;
      clearInterval(timer);
      fs.closeSync(fd);
      if (code !== 0) return reject(new Error(`${way.name} ended with ${code}`));
      const hash = createHash('sha256').update(fs.readFileSync(output)).digest('hex');
      resolve({ seconds, hash, peaks: [...peaks.values()] });
    });
  });
}

const quantile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
};

const records = writeInput(Number(bytesText));
const size = fs.statSync(input).size;
console.log(`${os.cpus()[0].model}, ${os.cpus().length} processors, Linux ${os.release()}, node ${process.version}`);
console.log(`${records} records, ${(size / 1e6).toFixed(1)} MB, ${rounds} alternating rounds\n`);

const samples = new Map(ways.map(way => [way, []]));
let hash;
for (let round = 0; round < rounds; round++)
  for (const way of ways) {
    const sample = await run(way);
    hash ??= sample.hash;
    if (sample.hash !== hash) throw new Error(`${way.name} gave another output than the first`);
    samples.get(way).push(sample);
    process.stderr.write(`  round ${round + 1}: ${way.name} ${sample.seconds.toFixed(2)} s\n`);
  }

const result = ways.map(way => {
  const seconds = samples.get(way).map(sample => sample.seconds);
  const median = quantile(seconds, 0.5);
  return {
    name: way.name, seconds, median, p95: quantile(seconds, 0.95), recordsPerSecond: records / median,
    peaks: samples.get(way).at(-1).peaks.map(([name, bytes]) => ({ name, bytes })),
  };
});
const find = name => result.find(way => way.name === name);
const fork = Math.min(find('node fork, objects').median, find('node fork, strings').median);

console.log(`${'way'.padEnd(20)} ${'median'.padStart(9)} ${'p95'.padStart(9)} ${'records/s'.padStart(10)} ${'MB/s'.padStart(7)} ${'of fork'.padStart(8)}  peak memory of each process`);
for (const way of result)
  console.log(`${way.name.padEnd(20)} ${way.median.toFixed(2).padStart(7)} s ${way.p95.toFixed(2).padStart(7)} s ` +
    `${way.recordsPerSecond.toFixed(0).padStart(10)} ${(size / 1e6 / way.median).toFixed(1).padStart(7)} ` +
    `${(fork / way.median).toFixed(2).padStart(7)}×  ` +
    way.peaks.map(({ name, bytes }) => `${name} ${(bytes / 1048576).toFixed(0)}`).join(', ') + ' MiB');

fs.writeFileSync(outPath, JSON.stringify({
  machine: { cpu: os.cpus()[0].model, processors: os.cpus().length, kernel: os.release(), node: process.version },
  records, bytes: size, rounds, result,
}, null, 2) + '\n');
fs.rmSync(work, { recursive: true });
