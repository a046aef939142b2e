// The package in Chromium: the same machine bit for bit, the pump's strategies, and errors that name
// what a page lacks. HALTER_PACKAGE is the package, HALTER_GUEST the guests, HALTER the native command.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import test, {after, before} from 'node:test';
import {ISOLATED, serve} from '../../tools/serve.mjs';
import {openChromium} from './browser.mjs';

const {HALTER: halter = '', HALTER_PACKAGE: folder = '', HALTER_GUEST: guest = ''} = process.env;

const PAGE = '<!doctype html><link rel="icon" href="data:,"><title>test</title>';
const HEADERS = /** @type {Record<string, Record<string, string>>} */ ({
  '/isolated': ISOLATED,
  '/web/pc/worker.js': ISOLATED, // an isolated page's Worker must say so itself
  '/no-wasm': {'content-security-policy': "script-src 'self' 'unsafe-inline'"},
  '/no-worker': {'content-security-policy': "worker-src 'none'"},
});

let server, chromium;
before(async () => {
  server = await serve({'/plain': PAGE, '/isolated': PAGE, '/no-wasm': PAGE, '/no-worker': PAGE, '/web/': folder, '/guest/': guest},
      (url) => HEADERS[url] ?? {});
  chromium = await openChromium();
});
after(async () => {
  await chromium?.close();
  server?.close();
});

/** Runs a function in a fresh page. */
async function inPage(where, code, argument) {
  const page = await chromium.browser.newPage();
  page.setDefaultTimeout(240000);
  await page.goto(`${server.url}${where}`);
  try {
    return await page.evaluate(code, argument);
  } finally {
    await page.close();
  }
}

const bootDeterministic = async (script) => {
  const {PC} = await import('/web/pc.js');
  const pc = await PC.boot({kernel: '/guest/vmlinux-686', initrd: '/guest/initramfs.cpio.gz', icountNs: 5, script,
    atEnd: ['hash'], deadlineMs: 120000});
  const {reason, hash, stats} = await pc.exited;
  return {reason, hash, insns: stats.insns, isolated: crossOriginIsolated};
};

test('a deterministic boot ends as it does natively, to the last bit, in either kind of page', async () => {
  const native = spawnSync(halter, ['boot', `${guest}/vmlinux-686`, '--initrd', `${guest}/initramfs.cpio.gz`, '--icount=5',
    '--hash', '--stats', '--timeout', '240', '--until', '# ', '--send', 'ls /; echo $((6 * 7))\\n', '--until', '42'],
  {encoding: 'latin1', input: ''});
  const hash = /hash ([0-9a-f]{16})/.exec(native.stderr)?.[1];
  assert.ok(hash, native.stderr);
  const script = [{until: '# ', send: 'ls /; echo $((6 * 7))\n'}, {until: '42'}];
  for (const where of ['/plain', '/isolated']) {
    const there = await inPage(where, bootDeterministic, script);
    assert.equal(there.isolated, where === '/isolated');
    assert.equal(there.reason, 'script');
    assert.equal(there.hash, hash);
    // The native command prints its count as G instructions.
    assert.ok(native.stderr.includes(`${(there.insns / 1e9).toFixed(3)} G instructions`), native.stderr);
  }
});

test('a page stays alive while its guest computes, and keys get through', async () => {
  const seen = await inPage('/plain', async () => {
    const {PC} = await import('/web/pc.js');
    let text = '', ticks = 0;
    const pc = await PC.boot({kernel: '/guest/vmlinux-686', initrd: '/guest/initramfs.cpio.gz',
      on: {console: ({bytes}) => (text += String.fromCharCode(...bytes))}});
    const timer = setInterval(() => ticks++, 10);
    const until = async (what) => {
      for (const limit = Date.now() + 120000; !text.includes(what);) {
        if (Date.now() > limit) throw new Error(`no ${what}: ${text.slice(-200)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await until('# ');
    await pc.send('while :; do :; done\n');
    const stats = await new Promise((resolve) => {
      let count = 0;
      pc.on('stats', (now) => ++count === 3 && resolve(now));
    });
    text = '';
    await pc.send('\x03echo $((6 * 7))-\n');
    await until('42-');
    clearInterval(timer);
    pc.kill();
    return {ticks, strategy: stats.strategy, duty: stats.duty, gap: stats.gap.p50Ms, exit: (await pc.exited).reason};
  });
  assert.equal(seen.strategy, 'channel');
  assert.equal(seen.exit, 'killed');
  assert.ok(seen.ticks > 50, `${seen.ticks}`);
  assert.ok(seen.duty > 0 && seen.duty <= 1 && seen.gap > 0);
});

for (const strategy of ['channel', 'post-task', 'timeout']) {
  test(`in a page, ${strategy} lets timers and messages in`, async () => {
    const {timers, messages, slices} = await inPage('/plain', async (wanted) => {
      const {Pump} = await import('/web/pump.js');
      const {port1, port2} = new MessageChannel(), seen = {timers: 0, messages: 0, slices: 0};
      port1.onmessage = () => seen.messages++;
      await new Promise((resolve) => {
        const pump = new Pump({strategy: wanted, slice: () => {
          seen.slices++;
          setTimeout(() => seen.timers++, 0);
          port2.postMessage(0);
          for (const end = performance.now() + 2; performance.now() < end;);
          if ((seen.timers > 20 && seen.messages > 20) || seen.slices > 20000) {
            pump.stop();
            resolve();
          }
        }});
        pump.start();
      });
      return seen;
    }, strategy);
    assert.ok(timers > 20 && messages > 20, `${timers} timers, ${messages} messages in ${slices} slices`);
  });
}

test("setImmediate is not a browser's", async () => {
  const told = await inPage('/plain', async () => {
    const {Pump, strategies} = await import('/web/pump.js');
    try {
      new Pump({slice: () => {}, strategy: 'immediate'});
    } catch (error) {
      return `${error.message}; best ${strategies()[0]}`;
    }
  });
  assert.match(told, /"immediate" is not to be had here; these are: channel, post-task, timeout; best channel/);
});

/** What PC.boot says when it cannot. */
const refusal = (where, options) => inPage(where, async (given) => {
  const {PC} = await import('/web/pc.js');
  try {
    await PC.boot({kernel: '/guest/vmlinux-686', ...given});
  } catch (error) {
    return error.message;
  }
}, options);

test('what a page lacks is named', async () => {
  assert.match(await refusal('/plain', {kernel: '/guest/nothing'}), /the kernel cannot be fetched from http.*\/guest\/nothing: the server answers 404/);
  assert.match(await refusal('/plain', {wasm: '/web/nothing.wasm'}), /the machine cannot be fetched from .*nothing.wasm: the server answers 404/);
  assert.match(await refusal('/plain', {wasm: '/web/pc.js'}), /pc.wasm\) cannot be compiled/);
  assert.match(await refusal('/plain', {kernel: 'http://127.0.0.1:1/vmlinux'}), /the kernel cannot be fetched from http:\/\/127.0.0.1:1\/vmlinux: /);
  assert.match(await refusal('/no-wasm', {}), /content-security policy forbids wasm: .*wasm-unsafe-eval/);
  assert.match(await refusal('/no-worker', {}), /the Worker cannot be started.*worker-src/);
  assert.match(await refusal('/plain', {ramMb: 4000}), /2 to 3072 MB/);
});

test('a Worker file that is missing is told', async () => {
  const told = await inPage('/plain', async () => {
    const {PC} = await import('/web/pc.js');
    return PC.boot({kernel: '/guest/vmlinux-686', worker: () => new Worker('/web/nothing.js', {type: 'module'})}).catch((error) => error.message);
  });
  assert.match(told, /the Worker cannot be started/);
});
