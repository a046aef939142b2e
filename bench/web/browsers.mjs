/**
 * browsers.mjs: Debian's Chromium and Firefox behind one face (puppeteer speaks to both), and the CPU
 * time of all their processes.
 *
 * @module
 */
import {readFileSync, readdirSync} from 'node:fs';
import puppeteer from 'puppeteer-core';

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
