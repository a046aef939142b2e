/** worker-node.js: the Worker of a PC in Node. @module */
import {readFile} from 'node:fs/promises';
import {parentPort} from 'node:worker_threads';
import {Session} from './session.js';
import {readSource} from './sources.js';

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

/** @param {import('./protocol.js').Source} source @param {string} what */
async function read(source, what) {
  if (!('path' in source)) return readSource(source, what);
  try {
    return new Uint8Array(await readFile(source.path));
  } catch (error) {
    throw new Error(`${what} cannot be read: ${/** @type {Error} */ (error).message}`);
  }
}

const session = new Session({
  post: (message, transfer = []) => port.postMessage(message, transfer),
  read,
});
port.on('message', (message) => session.handle(message));
