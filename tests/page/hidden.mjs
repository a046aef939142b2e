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

/** The guest's uptime and ours, in seconds; ours between two bounds, around the question. */
async function clocks(page) {
  const asked = Date.now() / 1000;
  const guest = Number((await run(page, 'cut -d" " -f1 /proc/uptime')).trim());
  return {asked, guest, answered: Date.now() / 1000};
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
    const before = await clocks(page);
    const front = await browser.open();
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
    const after = await clocks(page);
    const passed = after.guest - before.guest;
    const least = after.asked - before.answered - passed, most = after.answered - before.asked - passed;
    console.log(`# the guest's clock lost ${least.toFixed(2)} to ${most.toFixed(2)} s in ${passed.toFixed(0)} s`);
    assert.ok(least < 1 && most > -1, `the guest's clock is wrong by ${least.toFixed(1)} to ${most.toFixed(1)} s`);
  } finally {
    await browser.close();
    server.close();
    screen.close();
  }
});
