/**
 * store.js: saved PCs, kept by the browser (IndexedDB) until they are deleted; they survive a reload.
 *
 * @module
 */

/**
 * @typedef {object} Saved
 * @property {number} [id]
 * @property {string} machine the id of its machine, '' for the user's own files
 * @property {string} name
 * @property {number} at ms since 1970
 * @property {Blob} snapshot
 */

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @type {Promise<IDBDatabase> | undefined} */
let opened;

function database() {
  if (!opened) {
    const request = indexedDB.open('halter', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('saved', {keyPath: 'id', autoIncrement: true});
    opened = settled(request);
    opened.catch(() => {
      opened = undefined;
    });
  }
  return opened;
}

/** @template T @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<T>} use */
async function inStore(mode, use) {
  const transaction = (await database()).transaction('saved', mode);
  const ended = new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(undefined);
    transaction.onabort = () => reject(transaction.error ?? new Error('the browser gave up'));
  });
  const result = await settled(use(transaction.objectStore('saved')));
  await ended;
  return result;
}

/** @param {Saved} saved */
export function keep(saved) {
  return inStore('readwrite', (store) => store.add(saved));
}

/** @param {number} id */
export function forget(id) {
  return inStore('readwrite', (store) => store.delete(id));
}

/** The latest first. @returns {Promise<Saved[]>} */
export async function allSaved() {
  return (await inStore('readonly', (store) => store.getAll())).reverse();
}
