/**
 * A deterministic boot in the browser ends with the same count of instructions and the same hash as
 * the native one. (The hash alone would do: in deterministic time the guest's clocks count instructions.)
 * BROWSER says in which.
 */
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {test} from 'node:test';
import {promisify} from 'node:util';
import {browserName, launch, loaded, serve} from './browser.mjs';

const NS = 5;

async function natively() {
  const guest = process.env.GUEST;
  const {stdout, stderr} = await promisify(execFile)(process.env.HALTER, ['boot', `${guest}/vmlinux-686`, '--initrd',
    `${guest}/initramfs.cpio.gz`, `--icount=${NS}`, '--hash', '--stats', '--until', '# ', '--send', 'uname -r\n', '--until', '# '],
  {encoding: 'latin1', maxBuffer: 1 << 24});
  const said = stdout + stderr;
  return {hash: /hash ([0-9a-f]{16})/.exec(said)?.[1], insns: /([\d.]+ G) instructions/.exec(said)?.[1], said};
}

test(`a deterministic boot in ${browserName} ends as the native one`, {timeout: 1800000}, async () => {
  const server = await serve(), browser = await launch();
  try {
    const page = await browser.open();
    await page.goto(server.url);
    await loaded(page);
    const there = await page.evaluate(async (icountNs) => {
      const {PC} = await import('./halter/pc.js');
      const pc = await PC.boot({kernel: 'guest/vmlinux-686', initrd: 'guest/initramfs.cpio.gz', icountNs, atEnd: ['hash'],
        script: [{until: '# ', send: 'uname -r\n'}, {until: '# '}]});
      const {reason, hash, stats} = await pc.exited;
      return {reason, hash, insns: stats?.insns};
    }, NS);
    const here = await natively();
    const insns = `${(Number(there.insns) / 1e9).toFixed(3)} G`;
    console.log(`# ${browserName}: ${there.hash}, ${insns} instructions; natively: ${here.hash}, ${here.insns}`);
    assert.ok(here.hash && here.insns, here.said.slice(-2000));
    assert.equal(there.reason, 'script');
    assert.equal(there.hash, here.hash);
    assert.equal(insns, here.insns);
  } finally {
    await browser.close();
    server.close();
  }
});
