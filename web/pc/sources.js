/**
 * sources.js: what users pass as a kernel, a RAM disk or a snapshot, made into what a Worker can
 * read for itself, so that the page's main thread does not.
 *
 * @module
 */

/**
 * A URL, bytes, or a Blob (a File of an <input>, say).
 * @typedef {string | URL | Uint8Array | ArrayBuffer | Blob} File
 */

/**
 * @param {File | null | undefined} file
 * @param {string} what for people
 * @param {(name: string) => import('./protocol.js').Source} named what a string means here
 * @returns {import('./protocol.js').Source | null}
 */
export function toSource(file, what, named) {
  if (file === null || file === undefined) return null;
  if (typeof file === 'string') return named(file);
  if (file instanceof URL) return named(file.href);
  if (file instanceof Uint8Array) return {bytes: file};
  if (file instanceof ArrayBuffer) return {bytes: new Uint8Array(file)};
  if (file instanceof Blob) return {blob: file};
  throw new TypeError(`${what} must be a URL, a Uint8Array, an ArrayBuffer or a Blob`);
}

/**
 * The Worker's part, for everything but paths.
 * @param {import('./protocol.js').Source} source
 * @param {string} what
 */
export async function readSource(source, what) {
  if ('bytes' in source) return source.bytes;
  if ('blob' in source) return new Uint8Array(await source.blob.arrayBuffer());
  if (!('url' in source)) throw new Error(`${what} cannot be read from a path here`);
  let response;
  try {
    response = await fetch(source.url);
  } catch (error) {
    throw new Error(`${what} cannot be fetched from ${source.url}: ${/** @type {Error} */ (error).message}`);
  }
  if (!response.ok) throw new Error(`${what} cannot be fetched from ${source.url}: the server answers ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}
