/**
 * A thousand PCs made and killed in one page: the memory of the browser's processes is flat from the
 * hundredth to the last. CYCLES is how many, 1000 unless given.
 */
import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {test} from 'node:test';
import {launch, loaded, serve} from './browser.mjs';

const CYCLES = Number(process.env.CYCLES ?? 1000), WARM = Math.ceil(CYCLES / 10);

/**
 * Resident MB of a process and all below it, of their own: the share in files that are mapped grows when
 * another browser on the machine ends, which is nothing of ours.
 */
function residentMb(root) {
  const children = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ');
      children.set(Number(stat[1]), [...(children.get(Number(stat[1])) ?? []), Number(name)]);
    } catch { /* it is gone */ }
  }
  const sum = (pid) => {
    let kb = 0;
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
      for (const [, size] of rollup.matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+)/gm)) kb += Number(size);
    } catch { /* it is gone */ }
    return kb + (children.get(pid) ?? []).reduce((all, child) => all + sum(child), 0);
  };
  return sum(root) / 1024;
}

test(`${CYCLES} PCs, one after the other`, {timeout: 3600000}, async () => {
  const server = await serve(), browser = await launch({args: ['--js-flags=--expose-gc']});
  try {
    const page = await browser.open();
    await page.goto(server.url);
    await loaded(page);
    const cycle = (count) => page.evaluate(async (times) => {
      const {PC} = await import('./halter/pc.js');
      globalThis.kernel ??= await (await fetch('guest/vmlinux-686')).blob();
      for (let i = 0; i < times; i++) {
        const pc = await PC.boot({kernel: globalThis.kernel, ramMb: 64});
        pc.kill();
        await pc.exited;
      }
    }, count);
    const settled = async () => {
      await page.evaluate(async () => {
        await new Promise((resolve) => setTimeout(resolve, 3000));
        globalThis.gc?.();
      });
      return residentMb(browser.pid);
    };
    await cycle(WARM);
    const before = await settled();
    for (let done = WARM; done < CYCLES; done += WARM) {
      await cycle(Math.min(WARM, CYCLES - done));
      console.log(`# ${Math.min(done + WARM, CYCLES)} cycles: ${(await settled()).toFixed(0)} MB`);
    }
    const grown = await settled() - before;
    console.log(`# ${before.toFixed(0)} MB after ${WARM}, ${grown.toFixed(0)} MB more after ${CYCLES}`);
    assert.ok(grown < 32, `it grew by ${grown.toFixed(0)} MB: more than half a PC's memory`);
  } finally {
    await browser.close();
    server.close();
  }
});
