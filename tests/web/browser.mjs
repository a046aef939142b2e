/**
 * browser.mjs: Debian's Chromium for a test: sandboxed where we are not root, with a home of its own.
 *
 * @module
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';

const {chromium} = /** @type {typeof import('playwright-core')} */ (
  createRequire(new URL('../../web/', import.meta.url))('playwright-core'));

export async function openChromium() {
  const home = mkdtempSync(path.join(os.tmpdir(), 'halter-chromium-'));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', timeout: 120000,
    args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
    env: {...process.env, HOME: home},
  });
  return {browser, close: async () => {
    await browser.close();
    rmSync(home, {recursive: true, force: true});
  }};
}
