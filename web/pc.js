/**
 * halter/pc in a browser: the Worker beside this file, and pc.wasm.
 *
 * @typedef {import('./pc/host.js').BootOptions} BootOptions
 * @typedef {import('./pc/host.js').Events} Events
 * @typedef {import('./pc/host.js').Exit} Exit
 * @typedef {import('./pc/host.js').Stats} Stats
 * @typedef {import('./pc/host.js').State} State
 *
 * @module
 */
import {HostedPC} from './pc/host.js';
import {compileFrom} from './pc/wasm.js';

/** @type {import('./pc/host.js').Platform} */
const platform = {
  wasm: () => new URL('./pc.wasm', import.meta.url).href,
  compile: compileFrom,
  named: (name) => ({url: new URL(name, document.baseURI).href}),
  spawn: ({message, error}, make) => {
    const worker = make ? make() :
        new Worker(new URL('./pc/worker.js', import.meta.url), {type: 'module', name: 'halter-pc'});
    worker.onmessage = (event) => message(event.data);
    worker.onmessageerror = () => error('a message from it could not be read');
    worker.onerror = (event) => {
      event.preventDefault?.();
      error(event.message ?? '');
    };
    return {
      post: (what, transfer = []) => worker.postMessage(what, transfer),
      terminate: () => worker.terminate(),
    };
  },
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    return () => clearInterval(timer);
  },
};

export class PC extends HostedPC {
  static platform = platform;
}
