// node bench/table.mjs BENCH.json [FILE]: what `halter bench --peers --json BENCH.json` measured, as
// one Markdown table with a column for halter and one for each peer. Printed, or put between the
// marker lines of FILE, so that every figure there is one that the bench printed.

import fs from 'node:fs';

const BEGIN = '<!-- bench/table.mjs: begin -->', END = '<!-- bench/table.mjs: end -->';

/** @typedef {{name: string, unit: string, peer: boolean, p50: number, p95: number}} Series */
/** @typedef {{kind: string, holds: boolean, text: string}} Verdict */
/** @typedef {{id: string, series: Series[], verdicts: Verdict[]}} Experiment */
/** @typedef {{machine: {processor: string, processors: number, kernel: string, engine: string,
 *   load_before: number, load_after: number}, halter: string, date: string,
 *   experiments: Experiment[], survival: Record<string, string>[]}} Report */

// What a row shows: halter's series in its experiment, and how the peers' series of it end.
const rows = [
  { label: 'start to first answer, new process', id: 'E1', ours: 'plain: no spare' },
  { label: 'start to first answer', id: 'E1', ours: 'from a spare', peers: 'start to first answer' },
  { label: 'round trip, 50-tab snapshot', id: 'E2', ours: 'through halter', peers: 'round trip' },
  { label: 'added by a reverse call', id: 'E3', ours: 'added by the reverse call, round by round' },
  { label: 'deadline to the next answer', id: 'E4', ours: "deadline to a new helper's answer, 1 spare",
    peers: 'deadline to the next answer' },
  { label: 'all confinement / none', id: 'E5', ours: 'all layers / none, round by round' },
  { label: 'an idle helper, private', id: 'E6', ours: "an idle helper's private memory, 10 of them" },
];

/** @param {Series | undefined} series */
function figure(series) {
  if (!series)
    return '';
  if (series.unit !== 'µs')
    return `${series.p50.toPrecision(3)} ${series.unit}`;
  return series.p50 < 1000 ? `${series.p50.toPrecision(3)} µs` : `${(series.p50 / 1000).toPrecision(3)} ms`;
}

/** @param {Report} report */
function table(report) {
  const peers = report.survival.slice(1).map(({ name }) => name);
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  const lines = [
    line(['p50', `halter ${report.halter}`, ...peers]),
    line(['---', ...['', ...peers].map(() => '---')]),
  ];
  for (const { label, id, ours, peers: theirs } of rows) {
    const series = report.experiments.find((experiment) => experiment.id === id)?.series ?? [];
    if (!series.some(({ name }) => name === ours))
      continue;
    lines.push(line([`${label} (${id})`, figure(series.find(({ name }) => name === ours)),
      ...peers.map((peer) => figure(series.find(({ name }) => theirs && name === `${peer}: ${theirs}`)))]));
  }
  for (const harm of Object.keys(report.survival[0] ?? {}).filter((key) => key !== 'name'))
    lines.push(line([`the host, after: ${harm}`, ...report.survival.map((one) => one[harm])]));
  const { processor, processors, kernel, engine, load_before, load_after } = report.machine;
  return `${lines.join('\n')}\n\nTaken with \`halter bench --peers\` on ${report.date}: ${processor}, ` +
    `${processors} processors, Linux ${kernel}, ${engine}; load ${load_before.toFixed(1)} before and ` +
    `${load_after.toFixed(1)} after.\n`;
}

const [input, file] = process.argv.slice(2);
if (!input) {
  console.error('usage: node bench/table.mjs BENCH.json [FILE with the marker lines]');
  process.exit(2);
}
/** @type {Report} */
const report = JSON.parse(fs.readFileSync(input, 'utf8'));
if (!report.survival?.length) {
  console.error(`${input}: no peers in it; halter bench --peers --json measures them`);
  process.exit(1);
}
const text = table(report);
if (!file) {
  process.stdout.write(text);
} else {
  const old = fs.readFileSync(file, 'utf8'), begin = old.indexOf(BEGIN), end = old.indexOf(END);
  if (begin < 0 || end < begin) {
    console.error(`${file}: the lines "${BEGIN}" and "${END}" are not there`);
    process.exit(1);
  }
  fs.writeFileSync(file, `${old.slice(0, begin + BEGIN.length)}\n${text}${old.slice(end)}`);
}
