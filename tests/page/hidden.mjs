/**
 * Five minutes in a hidden tab: a real window (under Xvfb, which this starts), another tab in front.
 * Then the guest's clock is right within a second and input works at once. SECONDS is how long, 300
 * unless given.
 */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {test} from 'node:test';
import {consoleEnds, launch, loaded, prompt, run, serve, stateIs, until} from './browser.mjs';

const SECONDS = Number(process.env.SECONDS ?? 300);

/** A screen; resolves to its name. */
async function startScreen() {
  const screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {stdio: ['ignore', 'pipe', 'ignore']});
  const number = await new Promise((resolve, reject) => {
    screen.stdout.once('data', (data) => resolve(String(data).trim()));
    screen.once('error', () => reject(new Error('Xvfb is missing: tools/install-deps.sh installs it')));
    screen.once('exit', (status) => reject(new Error(`Xvfb ended with ${status}`)));
  });
  return {display: `:${number}`, close: () => screen.kill()};
}

/** Seconds by which the guest's clock is behind ours, to the guest's whole second. */
async function behind(page) {
  const before = Date.now() / 1000;
  const guest = Number((await run(page, 'date +%s')).trim());
  return {least: before - guest - 1, most: Date.now() / 1000 - guest};
}

test(`${SECONDS} s in a hidden tab`, {timeout: 3600000}, async () => {
  const screen = await startScreen();
  process.env.DISPLAY = screen.display;
  const server = await serve(), browser = await launch({headless: false});
  try {
    const page = await browser.open();
    await page.goto(server.url);
    await loaded(page);
    await page.click('#boot');
    await stateIs(page, 'running');
    await prompt(page);
    const at = await behind(page);
    const front = await page.context().newPage();
    await front.goto('about:blank');
    await front.bringToFront();
    await until(page, () => document.visibilityState === 'hidden');
    await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
    assert.equal(await page.evaluate(() => document.visibilityState), 'hidden');
    await page.bringToFront();
    await until(page, () => document.visibilityState === 'visible');
    await page.evaluate(() => globalThis.terminal.focus());
    const echoed = Date.now();
    await page.keyboard.type('x');
    await consoleEnds(page, '\n# x');
    console.log(`# the first key was echoed after ${Date.now() - echoed} ms`);
    await page.keyboard.press('Backspace');
    const now = await behind(page);
    console.log(`# behind by ${at.least.toFixed(2)} to ${at.most.toFixed(2)} s before, ${now.least.toFixed(2)} to ${now.most.toFixed(2)} s after`);
    assert.ok(now.least - at.most < 1, `the guest's clock lost ${(now.least - at.most).toFixed(1)} s`);
  } finally {
    await browser.close();
    server.close();
    screen.close();
  }
});
