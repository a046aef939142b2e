/**
 * serve.mjs: a static server for tests and measurements in browsers: a few folders, on loopback, with
 * the headers that a case wants. `halter serve` is the one for people.
 *
 * @module
 */
import {readFileSync, statSync} from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = /** @type {Record<string, string>} */ ({'.html': 'text/html; charset=utf-8', '.js': 'text/javascript',
  '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css'});

/** What makes a page cross-origin isolated: shared memory, and finer clocks. */
export const ISOLATED = {'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp'};

/**
 * @param {Record<string, string>} roots '/prefix/' → a folder, or a page's text
 * @param {(url: string) => Record<string, string>} [headersOf]
 */
export async function serve(roots, headersOf = () => ({})) {
  const server = http.createServer((request, response) => {
    const url = decodeURIComponent((request.url ?? '').split('?')[0]);
    const prefix = Object.keys(roots).find((one) => (one.endsWith('/') ? url.startsWith(one) : url === one));
    const headers = {'cache-control': 'no-store', ...headersOf(url)};
    try {
      if (prefix === undefined) throw new Error('no such place');
      if (!prefix.endsWith('/')) {
        response.writeHead(200, {'content-type': TYPES['.html'], ...headers}).end(roots[prefix]);
        return;
      }
      const file = path.join(roots[prefix], path.normalize(`/${url.slice(prefix.length)}`));
      if (!statSync(file).isFile()) throw new Error('no such file');
      response.writeHead(200, {'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream', ...headers})
          .end(readFileSync(file));
    } catch {
      response.writeHead(404, headers).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const {port} = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {url: `http://127.0.0.1:${port}`, close: () => {
    server.close();
    server.closeAllConnections();
  }};
}
