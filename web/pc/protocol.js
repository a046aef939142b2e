/**
 * protocol.js: what the host and the Worker of a PC say to each other, as types. One message is one
 * object; bytes are transferred, not copied, wherever they are not needed again.
 *
 * @module
 */

/**
 * Where a file comes from. What the host holds is kept there, for a restart.
 * @typedef {{url: string} | {path: string} | {blob: Blob} | {bytes: Uint8Array}} Source
 */

/**
 * A PC to be made.
 * @typedef {object} Recipe
 * @property {WebAssembly.Module} module
 * @property {Source | null} kernel
 * @property {Source | null} initrd
 * @property {Source | null} resume a snapshot to go on from
 * @property {string} append the kernel's command line
 * @property {number} ramMb 0: what the snapshot has
 * @property {string} cpu '': what the snapshot has
 * @property {number} rtcSeconds
 * @property {number} icountNs 0: real time
 * @property {boolean} noReboot
 * @property {import('./script.js').Step[]} script
 * @property {import('../pump/yield.js').Strategy | 'none' | null} strategy 'none': no yield at all
 * @property {number} sliceMs
 * @property {number} record
 * @property {SharedArrayBuffer | null} mailbox
 * @property {number} creditBytes
 * @property {('hash' | 'save' | 'timeline')[]} atEnd what to make of the machine when it ends by itself
 * @property {boolean} testHooks
 */

/**
 * Why a PC ended. `off`, `shutdown` (a triple fault), `reset` (with `noReboot`): the guest's own
 * doing. `script`: it is over. `left`: end() was called. `crashed`: the machine itself failed. `killed`: kill(). `deadline`: the Worker did not
 * answer. `worker`: it could not be started or died.
 * @typedef {'off' | 'shutdown' | 'reset' | 'script' | 'left' | 'crashed' | 'killed' | 'deadline' | 'worker'} Reason
 */

/**
 * What a PC does, measured in its Worker. Times are since the last such report, unless they say more.
 * @typedef {object} Stats
 * @property {number} insns instructions since power-on
 * @property {number} guestMs guest time since power-on
 * @property {number} mips millions of instructions a second of slices; NaN when it slept
 * @property {number} duty time in slices ÷ time wanted; NaN when nothing was wanted
 * @property {number} driftMs by how much the guest's clock is behind the host's since it began
 * @property {number} busy the share of the time that was spent in slices
 * @property {import('../pump/pump.js').Strategy | 'none'} strategy
 * @property {{p50Ms: number, p99Ms: number}} slice
 * @property {{p50Ms: number, p99Ms: number}} gap
 * @property {number} boots
 * @property {{wallMs: number, slicedMs: number, nappedMs: number, slices: number}} total since it began
 */

/**
 * What was asked for by `atEnd`.
 * @typedef {{hash?: string, snapshot?: Uint8Array, timeline?: import('../pump/pump.js').Span[]}} Remains
 */

/**
 * @typedef {{type: 'boot', recipe: Recipe}
 *   | {type: 'input', bytes: Uint8Array, uart: number}
 *   | {type: 'wake'}
 *   | {type: 'credit', bytes: number}
 *   | {type: 'pause'} | {type: 'go'}
 *   | {type: 'ping', id: number}
 *   | {type: 'ask', id: number, what: 'save' | 'hash' | 'timeline'}
 *   | {type: 'end'} | {type: 'hang'}} ToWorker
 *
 * @typedef {{type: 'hello'}
 *   | {type: 'ready', ramMb: number, cpu: string}
 *   | {type: 'state', state: 'running' | 'paused'}
 *   | {type: 'console', bytes: Uint8Array, uart: number}
 *   | {type: 'taken', bytes: number}
 *   | {type: 'log', level: number, text: string}
 *   | {type: 'pong', id: number, stats: Stats | null}
 *   | {type: 'answer', id: number, value: unknown, error: string | null}
 *   | {type: 'exit', reason: Reason, message: string, stats: Stats | null, remains: Remains}
 *   | {type: 'failed', message: string}} FromWorker
 */

/** The most console bytes that a Worker sends before the host has said that they are dealt with,
 * unless it is told otherwise. */
export const CONSOLE_CREDIT = 256 * 1024;

/** The command line of a kernel that is given none, as `halter boot` has it. */
export const DEFAULT_APPEND = 'console=ttyS0 cryptomgr.notests noisapnp quiet panic=-1';
