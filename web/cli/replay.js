/**
 * replay.js: `halter.mjs replay`: a recording of `halter boot --record`, run again in wasm to the last
 * bit. There is nobody to yield to and nothing that comes in: it runs here, without a Worker.
 *
 * @module
 */
import {readFileSync, writeSync} from 'node:fs';
import {parseArgs} from 'node:util';
import {Machine, Replay, describeRecording} from '../pc/machine.js';
import {UsageError} from './options.js';

export const replayHelp = `usage: halter.mjs replay [OPTION]... RECORDING
Runs again what \`halter boot --record\` wrote down, bit for bit.

      --stop-at COUNT    stop at this instruction and show the state
      --hash             say at the end the hash of the machine
      --wasm FILE        the machine, if not beside this program`;

/** @param {string[]} args */
function parse(args) {
  const text = /** @type {const} */ ({type: 'string'}), flag = /** @type {const} */ ({type: 'boolean'});
  try {
    const {values, positionals} = parseArgs({args, allowPositionals: true,
      options: {'stop-at': text, hash: flag, wasm: text, help: {...flag, short: 'h'}}});
    if (!values.help && positionals.length !== 1) throw new Error('one recording is needed; --help tells more');
    const at = values['stop-at'];
    if (at !== undefined && !/^[1-9][0-9]{0,18}$/.test(at)) throw new Error(`--stop-at wants a whole number above 0, not "${at}"`);
    return {...values, file: positionals[0] ?? '', stopAt: at === undefined ? null : BigInt(at)};
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message);
  }
}

/**
 * The exit status: 0 when it ended as the recording did, or stopped where it was to.
 * @param {string[]} args @param {() => string} findMachine @param {(text: string) => void} say
 */
export async function replay(args, findMachine, say) {
  const o = parse(args);
  if (o.help) {
    console.log(replayHelp);
    return 0;
  }
  const recording = readFileSync(o.file);
  const {ramMb, cpu} = describeRecording(recording);
  /** @type {number[]} */ let output = [];
  const machine = await Machine.create(readFileSync(o.wasm ?? findMachine()), {
    ramMb, cpu,
    onConsole: (byte, uart) => {
      if (uart === 0) output.push(byte);
    },
    onLog: (line, level) => {
      if (level === 0) console.error(`  ${line}`);
    },
  });
  machine.replay(recording);
  for (;;) {
    const result = machine.replaySlice(o.stopAt);
    if (output.length) writeSync(1, Uint8Array.from(output));
    output = [];
    if (result === Replay.GOES_ON) continue;
    if (result === Replay.STOPPED) machine.report();
    if (o.hash) say(`hash ${machine.hash}`);
    return 0;
  }
}
