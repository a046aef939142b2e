/**
 * options.js: the command line of `halter.mjs boot`, which is that of the native `halter boot` where
 * it makes sense here.
 *
 * @module
 */
import {parseArgs} from 'node:util';
import {unescape} from '../pc/script.js';

export class UsageError extends Error {}

/**
 * @typedef {object} Options
 * @property {import('../pc/host.js').BootOptions} pc
 * @property {string} [wasm]
 * @property {string} [save]
 * @property {number} timeoutMs 0: none
 * @property {boolean} stats
 * @property {boolean} hash
 * @property {boolean} verbose
 * @property {boolean} help
 */

export const help = `usage: halter.mjs boot [OPTION]... KERNEL
Boots a 32-bit Linux kernel in a PC, in a Worker. Its first serial port is the terminal; Ctrl-A x leaves.

  -i, --initrd FILE      initial RAM disk
  -a, --append TEXT      kernel command line
  -m, --ram MB           memory, 2 to 3072; 128 unless given
      --cpu MODEL        p6, pentium3 or pentium-m, which is the default
  -u, --until TEXT       wait until TEXT is on the console; the last one ends the run
  -s, --send TEXT        then type TEXT: \\n \\r \\t \\e \\\\ \\xNN
  -t, --timeout SECONDS  end with status 124
      --icount[=NS]      deterministic time: so many ns an instruction, 5 unless given
      --rtc SECONDS      the date at power-on, since 1970
      --no-reboot        a reset ends the run
      --save FILE        write a snapshot at the end of the run
      --resume FILE      go on from a snapshot
      --stats, --hash    say at the end what it cost, and the hash of the machine
  -v, --verbose          log what the machine has to say
      --wasm FILE        the machine, if not beside this program
      --strategy NAME    how the Worker yields: immediate, channel or timeout
      --slice-ms MS      how long a slice is; 8 unless given`;

const text = /** @type {const} */ ({type: 'string'});
const flag = /** @type {const} */ ({type: 'boolean'});

/** @param {string} name @param {string | undefined} value @param {number} least @param {number} most */
function number(name, value, least, most) {
  if (value === undefined) return undefined;
  const parsed = Number(value);
  if (value.trim() === '' || !(parsed >= least && parsed <= most))
    throw new UsageError(`--${name} wants a number from ${least} to ${most}, not "${value}"`);
  return parsed;
}

/** @template {string} Name @param {string} name @param {string | undefined} value @param {readonly Name[]} names */
function oneOf(name, value, names) {
  if (value === undefined) return undefined;
  const found = names.find((one) => one === value);
  if (!found) throw new UsageError(`--${name} is one of ${names.join(', ')}, not "${value}"`);
  return found;
}

/** @param {string} value */
function unescaped(value) {
  try {
    return unescape(value);
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message);
  }
}

/**
 * An --until and the --send after it are one step.
 * @param {{kind: string, name?: string, value?: string | undefined}[]} tokens
 */
function steps(tokens) {
  /** @type {import('../pc/script.js').Step[]} */
  const out = [];
  for (const {kind, name, value} of tokens) {
    if (kind !== 'option' || value === undefined) continue;
    if (name === 'until') out.push({until: unescaped(value), send: null});
    if (name !== 'send') continue;
    const last = out[out.length - 1];
    if (last && last.send === null) last.send = unescaped(value);
    else out.push({until: '', send: unescaped(value)});
  }
  return out;
}

/** @param {string[]} args */
function split(args) {
  try {
    return parseArgs({
      args: args.map((arg) => (arg === '--icount' ? '--icount=5' : arg)),
      allowPositionals: true, tokens: true,
      options: {
        initrd: {...text, short: 'i'}, append: {...text, short: 'a'}, ram: {...text, short: 'm'}, cpu: text,
        until: {...text, short: 'u', multiple: true}, send: {...text, short: 's', multiple: true},
        timeout: {...text, short: 't'}, icount: text, rtc: text, 'no-reboot': flag, save: text, resume: text,
        stats: flag, hash: flag, verbose: {...flag, short: 'v'}, wasm: text, strategy: text, 'slice-ms': text,
        help: {...flag, short: 'h'},
      },
    });
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message);
  }
}

/** @template T @param {T} object without the members that are undefined @returns {T} */
function defined(object) {
  return /** @type {T} */ (Object.fromEntries(Object.entries(/** @type {any} */ (object)).filter(([, value]) => value !== undefined)));
}

/** @param {string[]} args @returns {Options} */
export function parse(args) {
  const {values: v, positionals, tokens} = split(args);
  if (!v.help && positionals.length !== 1)
    throw new UsageError('one kernel is needed, a bzImage or an ELF; --help tells more');
  return {
    pc: defined({
      kernel: positionals[0], initrd: v.initrd, resume: v.resume, append: v.append,
      ramMb: number('ram', v.ram, 2, 3072), cpu: oneOf('cpu', v.cpu, /** @type {const} */ (['p6', 'pentium3', 'pentium-m'])),
      rtcSeconds: number('rtc', v.rtc, 0, 1e11), icountNs: number('icount', v.icount, 0.001, 60000),
      noReboot: v['no-reboot'], script: steps(tokens),
      strategy: oneOf('strategy', v.strategy, /** @type {const} */ (['immediate', 'channel', 'post-task', 'timeout'])),
      sliceMs: number('slice-ms', v['slice-ms'], 0.1, 1000),
    }),
    wasm: v.wasm, save: v.save, timeoutMs: (number('timeout', v.timeout, 0.001, 1e6) ?? 0) * 1000,
    stats: v.stats ?? false, hash: v.hash ?? false, verbose: v.verbose ?? false, help: v.help ?? false,
  };
}
