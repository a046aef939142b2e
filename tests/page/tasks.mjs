/**
 * How free the page's main thread stays: its long tasks (over 50 ms, as the browser itself counts them)
 * while a PC boots, while it writes 20 000 lines, while 64 kB are pasted, and while it loops. A
 * measurement, for a machine with nothing else to do; a busy one makes every task long.
 */
import {test} from 'node:test';
import {chord, consoleEnds, launch, loaded, prompt, run, serve, stateIs} from './browser.mjs';

test('long tasks of the main thread', {timeout: 900000}, async () => {
  const server = await serve(), browser = await launch();
  try {
    const page = await browser.open();
    await page.goto(server.url);
    await loaded(page);
    await page.evaluate(() => {
      globalThis.tasks = [];
      new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map(({duration}) => duration)))
          .observe({type: 'longtask', buffered: false});
    });
    const tell = async (what) => {
      const tasks = await page.evaluate(() => globalThis.tasks.splice(0));
      console.log(`# ${what}: ${tasks.length} tasks over 50 ms${tasks.length ? `, the longest ${Math.max(...tasks).toFixed(0)} ms` : ''}`);
    };
    await page.click('#boot');
    await stateIs(page, 'running');
    await prompt(page);
    await tell('boot');
    await run(page, 'seq 20000');
    await tell('20 000 lines');
    await page.keyboard.type('stty -echo; echo now; cat > /dev/null; stty echo\n');
    await consoleEnds(page, '\nnow');
    await page.evaluate(() => globalThis.terminal.paste('0123456789abcde\n'.repeat(4096)));
    await chord(page, 'd');
    await prompt(page);
    await tell('64 kB pasted');
    await page.keyboard.type('while true; do :; done\n');
    await new Promise((resolve) => setTimeout(resolve, 5000));
    await tell('a loop for 5 s');
    await page.click('#save');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await tell('saved');
  } finally {
    await browser.close();
    server.close();
  }
});
