/**
 * browser.mjs: what the page's tests stand on: the server, Debian's Chromium (Playwright) or Firefox
 * (puppeteer, over WebDriver BiDi) behind the few calls that both have, and waiting with a bound.
 *
 * HALTER is the command, SITE the built page, GUEST the guests, BROWSER chromium or firefox.
 *
 * @module
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';

const PATIENCE_MS = 180000; // against hanging, not a measure of anything
const EXECUTABLES = {chromium: '/usr/bin/chromium', firefox: '/usr/bin/firefox-esr'};

export const browserName = process.env.BROWSER ?? 'chromium';

function required(name) {
  if (!process.env[name]) throw new Error(`${name} is not set: see tests/page/meson.build`);
  return process.env[name];
}

/** `halter serve` on a free port. */
export async function serve(options = []) {
  const server = spawn(required('HALTER'),
      ['serve', '--port', '0', '--page', required('SITE'), '--guest', required('GUEST'), ...options],
      {stdio: ['ignore', 'pipe', 'inherit']});
  const url = await new Promise((resolve, reject) => {
    server.stdout.once('data', (data) => resolve(String(data).trim()));
    server.once('exit', (status) => reject(new Error(`halter serve ended with ${status}`)));
    server.once('error', reject);
  });
  return {url, pid: server.pid, close: () => server.kill('SIGINT')};
}

/** A home of its own for the browser, wherever the user may have none. */
function makeHome() {
  const home = mkdtempSync(path.join(tmpdir(), 'halter-page-'));
  const env = {...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, XDG_DATA_HOME: home};
  return {env, remove: () => rmSync(home, {recursive: true, force: true, maxRetries: 10})};
}

const CHROMIUM_FLAGS = [
  '--disable-gpu', '--disable-dev-shm-usage',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), // it refuses to be run by root otherwise
];

/**
 * A browser; `open(options)` is a fresh page in a context of its own.
 * @param {{headless?: boolean, args?: string[]}} [how]
 */
export async function launch({headless = true, args = []} = {}) {
  if (!headless) return launchAsUsersHaveIt();
  const {env, remove} = makeHome();
  const executablePath = process.env[browserName.toUpperCase()] ?? EXECUTABLES[browserName];
  if (browserName === 'firefox') {
    const {default: puppeteer} = await import('puppeteer-core');
    const browser = await puppeteer.launch({browser: 'firefox', executablePath, headless, env, protocolTimeout: PATIENCE_MS});
    return {
      browser, pid: browser.process()?.pid,
      open: async ({viewport = {width: 1200, height: 760}} = {}) => {
        const page = await (await browser.createBrowserContext()).newPage();
        await page.setViewport(viewport);
        return page;
      },
      close: async () => {
        await browser.close();
        remove();
      },
    };
  }
  const {chromium} = await import('playwright-core');
  const launched = await chromium.launchServer({executablePath, headless, env, args: [...CHROMIUM_FLAGS, ...args], timeout: PATIENCE_MS});
  const browser = await chromium.connect(launched.wsEndpoint());
  return {
    browser, pid: launched.process().pid,
    open: async ({viewport = {width: 1200, height: 760}, ...options} = {}) =>
      (await browser.newContext({viewport, permissions: ['clipboard-read', 'clipboard-write'], ...options})).newPage(),
    close: async () => {
      await launched.close();
      remove();
    },
  };
}

const TAMED = ['--disable-background-timer-throttling', '--disable-backgrounding-occluded-windows', '--disable-renderer-backgrounding'];

/** A Chromium in a window, that throttles and hides its tabs: drivers switch that off by themselves. */
async function launchAsUsersHaveIt() {
  const {env, remove} = makeHome();
  const {default: puppeteer} = await import('puppeteer-core');
  const browser = await puppeteer.launch({executablePath: process.env.CHROMIUM ?? EXECUTABLES.chromium, headless: false, env,
    args: CHROMIUM_FLAGS, ignoreDefaultArgs: TAMED, protocolTimeout: PATIENCE_MS, defaultViewport: null});
  return {
    browser, pid: browser.process()?.pid, open: () => browser.newPage(),
    close: async () => {
      await browser.close();
      remove();
    },
  };
}

/** Until `check` in the page is true. */
export async function until(page, check, argument) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    if (await page.evaluate(check, argument)) return;
    if (Date.now() > end) {
      const seen = await page.evaluate(() => `${globalThis.terminal?.text}\n${document.body.innerText}`);
      throw new Error(`waited in vain for ${check} (${argument}); the page:\n${seen}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const loaded = (page) => until(page, () => 'loaded' in document.documentElement.dataset);

/** Ctrl and a key. */
export async function chord(page, key) {
  await page.keyboard.down('Control');
  await page.keyboard.press(key);
  await page.keyboard.up('Control');
}

/** Until the console's text ends so. */
export const consoleEnds = (page, text) => until(page, (end) => globalThis.terminal?.text.endsWith(end), text);

export const prompt = (page) => consoleEnds(page, '\n#');

/** Types a command; resolves to what it wrote, when the next prompt is there. */
export async function run(page, command) {
  const mark = `m${Math.random().toString(36).slice(2, 10)}`;
  await page.keyboard.type(`${command}; echo "${mark.slice(0, 4)}""${mark.slice(4)}"`);
  await page.keyboard.press('Enter');
  await until(page, (end) => globalThis.terminal.text.includes(`\n${end}\n#`), mark);
  const text = await page.evaluate(() => globalThis.terminal.text);
  const end = text.lastIndexOf(`\n${mark}\n`), begin = text.lastIndexOf('\n# ', end);
  return text.slice(text.indexOf('\n', begin + 1) + 1, end + 1);
}

export const value = (page, id) => page.evaluate((name) => document.getElementById(name).textContent, id);
export const stateIs = (page, state) => until(page, (wanted) => document.body.dataset.state === wanted, state);

/** Presses Tab until the element with this id has the focus. */
export async function tabTo(page, id, key = 'Tab') {
  for (let i = 0; i < 40; i++) {
    if (await page.evaluate((name) => document.activeElement?.id === name, id)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`#${id} cannot be reached by ${key}; the focus is at ${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`);
}
