/**
 * The pictures of the page in docs/images: a desk in dark and in light, the choice of a machine, and a
 * phone. OUT is the folder; pngquant makes them small.
 */
import {execFileSync} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {test} from 'node:test';
import {launch, loaded, prompt, serve, stateIs, until} from './browser.mjs';

const OUT = process.env.OUT;
const COMMANDS = ['uname -srm', 'grep "model name" /proc/cpuinfo', 'ls --color=always /', 'uptime'];

const SHOTS = {
  'page-dark': {colorScheme: 'dark', viewport: {width: 1000, height: 620}, deviceScaleFactor: 1.5},
  'page-light': {colorScheme: 'light', viewport: {width: 1000, height: 620}, deviceScaleFactor: 1.5},
  'page-phone': {colorScheme: 'dark', viewport: {width: 390, height: 780}, deviceScaleFactor: 2, isMobile: true, hasTouch: true},
};

test('screenshots', {timeout: 900000}, async () => {
  mkdirSync(OUT, {recursive: true});
  const server = await serve(), browser = await launch();
  const files = [];
  const shoot = async (page, name) => {
    files.push(`${OUT}/${name}.png`);
    await page.screenshot({path: files.at(-1)});
  };
  try {
    for (const [name, options] of Object.entries(SHOTS)) {
      const page = await browser.open(options);
      await page.goto(server.url);
      await loaded(page);
      if (name === 'page-light') await shoot(page, 'page-choose');
      await page.click('#boot');
      await stateIs(page, 'running');
      await prompt(page);
      await page.keyboard.type('clear\n');
      await until(page, () => globalThis.terminal.text === '#');
      await page.waitForTimeout(1000);
      for (const command of COMMANDS) {
        await page.keyboard.type(`${command}\n`);
        await page.waitForTimeout(1500);
      }
      await page.waitForTimeout(2500); // the status line is at rest
      await shoot(page, name);
      await page.context().close();
    }
  } finally {
    await browser.close();
    server.close();
  }
  execFileSync('pngquant', ['--force', '--ext', '.png', '--strip', '--speed', '1', ...files]);
});
