/** report.mjs: the table of a run of bench.mjs, and the ratios that are promised. */

/** @param {number[]} list */
export const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
/** @param {number[]} list */
const geometricMean = (list) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);
/** @param {(string | number)[]} cells */
const row = (cells) => console.log(cells.map((cell, i) => (i ? String(cell).padStart(22) : String(cell).padEnd(26))).join(''));

/**
 * The median over rounds of one emulator's time by another's in the same round.
 * @param {any} report @param {string} a @param {string} b @param {(run: any) => number} of
 */
export function ratio(report, a, b, of) {
  const mine = report.runs.filter((/** @type {any} */ run) => run.emulator === a);
  return median(mine.map((/** @type {any} */ run) =>
    of(run) / of(report.runs.find((/** @type {any} */ other) => other.emulator === b && other.round === run.round))));
}

/** @param {any} report @param {Record<string, string>} names by key, in the order of the columns */
export function printReport(report, names) {
  const keys = Object.keys(names);
  /** @param {string} key @param {(run: any) => number} of */
  const middle = (key, of) => median(report.runs.filter((/** @type {any} */ run) => run.emulator === key).map(of));
  console.log(`\n${report.machine.cpu}, ${report.machine.cores} cores, Linux ${report.machine.kernel}, Node ${report.node}, ${report.date}; ` +
    `Debian's ${report.kernel} kernel; medians of ${report.rounds} rounds, load ${report.machine.load.toFixed(1)} at the start\n`);
  row(['', ...keys.map((key) => names[key])]);
  row(['file to shell, s', ...keys.map((key) => (middle(key, (run) => run.bootMs) / 1000).toFixed(2))]);
  row(['first line to shell, s', ...keys.map((key) => (middle(key, (run) => run.kernelMs) / 1000).toFixed(2))]);
  for (const program of report.programs)
    row([`${program}, ms`, ...keys.map((key) => middle(key, (run) => run.ms[program]).toFixed(0))]);
  console.log('');
  for (const line of promises(report, keys)) console.log(line);
}

/** What is promised, held against a run. @param {any} report @param {string[]} keys @returns {string[]} */
function promises(report, keys) {
  /** @type {string[]} */
  const lines = [];
  const has = (/** @type {string[]} */ ...wanted) => wanted.every((key) => keys.includes(key));
  /** @param {string} what @param {number} value @param {number} limit @param {'<=' | '>='} sense */
  const say = (what, value, limit, sense) => {
    const holds = sense === '<=' ? value <= limit : value >= limit;
    lines.push(`${holds ? 'holds' : 'FAILS'}  ${what}: ${value.toFixed(3)} (${sense === '<=' ? 'at most' : 'at least'} ${limit})`);
  };
  /** Speeds, so that more is better. @param {string} a @param {string} b */
  const speeds = (a, b) => report.programs.map((/** @type {string} */ program) =>
    ({program, value: ratio(report, b, a, (run) => run.ms[program])}));
  if (has('wasm', 'v86')) {
    say('wasm / v86, file to shell, time', ratio(report, 'wasm', 'v86', (run) => run.bootMs), 0.5, '<=');
    say('wasm / v86, first kernel line to shell, time', ratio(report, 'wasm', 'v86', (run) => run.kernelMs), 0.7, '<=');
  }
  if (has('native', 'qemu')) say('native / QEMU TCG, first kernel line to shell, time', ratio(report, 'native', 'qemu', (run) => run.kernelMs), 2.5, '<=');
  if (report.programs.length && has('wasm', 'v86')) {
    const list = speeds('wasm', 'v86');
    const worst = list.reduce((a, b) => (a.value < b.value ? a : b));
    say('wasm / v86, programs, speed, geometric mean, each capped at 1', geometricMean(list.map(({value}) => Math.min(1, value))), 0.35, '>=');
    say(`wasm / v86, the slowest program (${worst.program}), speed`, worst.value, 0.08, '>=');
    for (const [program, limit] of /** @type {[string, number][]} */ ([['x87mandel', 1], ['sse2mandel', 2], ['sse2saxpy', 2]]))
      if (report.programs.includes(program)) say(`wasm / v86, ${program}, time`, ratio(report, 'wasm', 'v86', (run) => run.ms[program]), limit, '<=');
    lines.push(`       each: ${list.map(({program, value}) => `${program} ${value.toFixed(2)}`).join(', ')}`);
  }
  if (report.programs.length && has('wasm', 'native'))
    say('wasm / native, programs, speed, geometric mean', geometricMean(speeds('wasm', 'native').map(({value}) => value)), 0.6, '>=');
  if (report.programs.length && has('native', 'qemu'))
    lines.push(`       native / QEMU TCG, programs, speed, geometric mean: ${geometricMean(speeds('native', 'qemu').map(({value}) => value)).toFixed(3)}`);
  return lines;
}
