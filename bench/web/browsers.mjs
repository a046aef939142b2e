/**
 * browsers.mjs: Debian's Chromium and Firefox behind one face (puppeteer speaks to both), the server
 * that their pages come from, and the CPU time of all their processes.
 *
 * @module
 */
import {readFileSync, readdirSync, statSync} from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import puppeteer from 'puppeteer-core';

const TYPES = /** @type {Record<string, string>} */ ({'.html': 'text/html; charset=utf-8', '.js': 'text/javascript',
  '.mjs': 'text/javascript', '.wasm': 'application/wasm'});

/**
 * Serves folders, uncached and cross-origin isolated, so that clocks are as fine as they get.
 * @param {Record<string, string>} roots '/prefix/' → folder
 */
export async function serve(roots) {
  const server = http.createServer((request, response) => {
    const url = decodeURIComponent((request.url ?? '').split('?')[0]);
    const prefix = Object.keys(roots).find((one) => url.startsWith(one));
    const file = prefix && path.join(roots[prefix], path.normalize('/' + url.slice(prefix.length)));
    try {
      if (!file || !statSync(file).isFile()) throw new Error('no such file');
      response.writeHead(200, {'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
        'cache-control': 'no-store', 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp'});
      response.end(readFileSync(file));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const {port} = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {url: `http://127.0.0.1:${port}`, close: () => server.close()};
}

const EXECUTABLES = {chromium: '/usr/bin/chromium', firefox: '/usr/bin/firefox-esr'};

/** @typedef {keyof typeof EXECUTABLES} Name */

/** @param {Name} name */
export async function launch(name) {
  const browser = await puppeteer.launch({
    browser: name === 'firefox' ? 'firefox' : 'chrome',
    executablePath: process.env[name.toUpperCase()] ?? EXECUTABLES[name],
    headless: true, protocolTimeout: 1200000,
    args: name === 'chromium' ? [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-gpu', '--no-first-run'] : [],
  });
  const pid = /** @type {number} */ (browser.process()?.pid);
  return {browser, pid, version: await browser.version()};
}

/** A fresh page of a fresh browser, closed behind whatever `use` does with it.
 * @template T @param {Name} name @param {string} url
 * @param {(page: import('puppeteer-core').Page, pid: number) => Promise<T>} use */
export async function withPage(name, url, use) {
  const {browser, pid} = await launch(name);
  try {
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(`${name}: ${error}`));
    await page.goto(url);
    return await use(page, pid);
  } finally {
    await browser.close();
  }
}

/** CPU seconds of a process and all below it, threads that live now. @param {number} root */
export function cpuSeconds(root) {
  /** @type {Map<number, number[]>} */ const children = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch { /* it is gone */ }
  }
  let ns = 0;
  const walk = (/** @type {number} */ pid) => {
    try {
      for (const task of readdirSync(`/proc/${pid}/task`))
        ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    } catch { /* it is gone */ }
    for (const child of children.get(pid) ?? []) walk(child);
  };
  walk(root);
  return ns / 1e9;
}
