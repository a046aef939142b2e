/**
 * wasm.js: pc.wasm fetched and compiled, once a page, with errors that name what is missing.
 *
 * @module
 */

/** @param {Error} error */
function explain(error) {
  const text = error.message;
  if (/unsafe-eval|Content Security Policy|blocked by CSP/i.test(text))
    return new Error("the page's content-security policy forbids wasm: script-src needs 'wasm-unsafe-eval'");
  return new Error(`the machine (pc.wasm) cannot be compiled: ${text}`);
}

/** @param {BufferSource} bytes */
export async function compileBytes(bytes) {
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw explain(/** @type {Error} */ (error));
  }
}

/** @param {Response} response */
async function compile(response) {
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/wasm\b/.test(type) || !WebAssembly.compileStreaming) return compileBytes(await response.arrayBuffer());
  try {
    return await WebAssembly.compileStreaming(response);
  } catch (error) {
    throw explain(/** @type {Error} */ (error));
  }
}

/** @type {Map<string, Promise<WebAssembly.Module>>} */
const compiled = new Map();

/** @param {string} url */
async function fetchAndCompile(url) {
  if (typeof WebAssembly !== 'object')
    throw new Error('there is no WebAssembly here: the browser is too old, or it is switched off');
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new Error(`the machine cannot be fetched from ${url}: ${/** @type {Error} */ (error).message}`);
  }
  if (!response.ok) throw new Error(`the machine cannot be fetched from ${url}: the server answers ${response.status}`);
  return compile(response);
}

/** @param {string} url */
export function compileFrom(url) {
  let module = compiled.get(url);
  if (!module) {
    module = fetchAndCompile(url);
    compiled.set(url, module);
    module.catch(() => compiled.delete(url));
  }
  return module;
}
