/** worker.js: the Worker of a PC in a browser. @module */
import {Session} from './session.js';
import {readSource} from './sources.js';

const scope = /** @type {{postMessage: (message: any, transfer: Transferable[]) => void,
    onmessage: ((event: MessageEvent) => void) | null}} */ (/** @type {unknown} */ (globalThis));

const session = new Session({
  post: (message, transfer = []) => scope.postMessage(message, transfer),
  read: readSource,
});
scope.onmessage = (/** @type {MessageEvent} */ event) => session.handle(event.data);
