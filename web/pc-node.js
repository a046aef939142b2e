/**
 * halter/pc in Node: the same machine and the same session on worker_threads.
 *
 * @typedef {import('./pc/host.js').BootOptions} BootOptions
 * @typedef {import('./pc/host.js').Events} Events
 * @typedef {import('./pc/host.js').Exit} Exit
 * @typedef {import('./pc/host.js').Stats} Stats
 * @typedef {import('./pc/host.js').State} State
 *
 * @module
 */
import {readFile} from 'node:fs/promises';
import {fileURLToPath} from 'node:url';
import {Worker} from 'node:worker_threads';
import {HostedPC} from './pc/host.js';
import {compileBytes} from './pc/wasm.js';

/** @type {import('./pc/host.js').Platform} */
const platform = {
  wasm: () => fileURLToPath(new URL('./pc.wasm', import.meta.url)),
  compile: async (path) => {
    let bytes;
    try {
      bytes = await readFile(path.startsWith('file:') ? new URL(path) : path);
    } catch (error) {
      throw new Error(`the machine (pc.wasm) cannot be read: ${/** @type {Error} */ (error).message}`);
    }
    return compileBytes(bytes);
  },
  named: (name) => (/^https?:/.test(name) ? {url: name} :
      {path: name.startsWith('file:') ? fileURLToPath(name) : name}),
  spawn: ({message, error}) => {
    const worker = new Worker(new URL('./pc/worker-node.js', import.meta.url), {
      name: 'halter-pc',
      execArgv: [], // an --input-type of the program that we are in is not for this file
    });
    worker.on('message', message);
    worker.on('messageerror', () => error('a message from it could not be read'));
    worker.on('error', (thrown) => error(/** @type {Error} */ (thrown).message));
    worker.on('exit', (code) => error(`it ended with status ${code}`));
    return {
      post: (what, transfer = []) => worker.postMessage(what, transfer),
      terminate: () => {
        worker.removeAllListeners();
        worker.on('error', () => {});
        void worker.terminate();
      },
    };
  },
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

export class PC extends HostedPC {
  static platform = platform;
}
