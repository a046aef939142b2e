// The package as npm packs it works in Node, from a plain <script type="module">, built by Vite and
// served by it, and its types hold. HALTER_PACKAGE is its folder, HALTER_GUEST the guests.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import test, {after, before} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {serve} from '../../tools/serve.mjs';
import {openChromium} from './browser.mjs';

const {HALTER_PACKAGE: folder = '', HALTER_GUEST: guest = ''} = process.env;
const sources = fileURLToPath(new URL('../../web/', import.meta.url));
const work = mkdtempSync(path.join(os.tmpdir(), 'halter-package-'));
const installed = path.join(work, 'node_modules/halter');

/** A page that boots, and says how far it came. */
const MAIN = `
import {PC} from 'halter/pc';
import {Pump, auditLoop} from 'halter/pump';
let text = '';
const pc = await PC.boot({kernel: '/guest/vmlinux-686', initrd: '/guest/initramfs.cpio.gz', script: [{until: 'BOOT-OK'}],
  on: {console: ({bytes}) => (text += String.fromCharCode(...bytes))}});
const {reason} = await pc.exited;
document.title = [reason, text.includes('BOOT-OK'), typeof Pump, typeof auditLoop].join(' ');
`;
const TITLE = 'script true function function';
const html = (script) => `<!doctype html><link rel="icon" href="data:,"><title>no</title><script type="module" ${script}</script>`;

let chromium;
before(async () => {
  // npm wants a home to keep a cache in.
  execFileSync('npm', ['pack', '--silent', folder], {cwd: work, env: {...process.env, HOME: work, npm_config_cache: `${work}/npm`}});
  const {name, version} = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  mkdirSync(installed, {recursive: true});
  execFileSync('tar', ['-xzf', `${name}-${version}.tgz`, '-C', installed, '--strip-components=1'], {cwd: work});
  writeFileSync(path.join(work, 'package.json'), '{"type": "module", "private": true}');
  writeFileSync(path.join(work, 'main.js'), MAIN);
  writeFileSync(path.join(work, 'index.html'), html('src="./main.js">'));
  chromium = await openChromium();
});
after(async () => {
  await chromium?.close();
  rmSync(work, {recursive: true, force: true});
});

/** Opens a page, and waits for it to have booted. @param {string} url */
async function boots(url) {
  const page = await chromium.browser.newPage(), errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(url);
  await page.waitForFunction(() => document.title !== 'no', null, {timeout: 120000}).catch((error) => {
    throw new Error(`${error.message}\n${errors.join('\n')}`);
  });
  assert.equal(await page.title(), TITLE, errors.join('\n'));
  await page.close();
}

test('it holds the machine, its types and its licence, and nothing that it does not need', () => {
  const files = execFileSync('find', ['.', '-type', 'f'], {cwd: installed, encoding: 'utf8'}).trim().split('\n');
  for (const wanted of ['./pc.wasm', './pc.js', './pump.js', './LICENSE', './README.md', './bin/halter.mjs', './types/pc.d.ts', './types/pump.d.ts'])
    assert.ok(files.includes(wanted), wanted);
  for (const file of files)
    assert.match(file, /^\.\/((pc|pump|cli|bin|types)\/|pc\.(js|wasm)$|pc-node\.js$|pump\.js$|package\.json$|README\.md$|LICENSE$)/);
});

test('in Node', () => {
  writeFileSync(path.join(work, 'node.mjs'), `
    import {PC} from 'halter/pc';
    import {Pump} from 'halter/pump';
    const pc = await PC.boot({kernel: process.argv[2] + '/vmlinux-686', initrd: process.argv[2] + '/initramfs.cpio.gz', script: [{until: 'BOOT-OK'}]});
    console.log((await pc.exited).reason, typeof Pump);`);
  const {stdout, stderr} = spawnSync(process.execPath, ['node.mjs', guest], {cwd: work, encoding: 'utf8', timeout: 120000});
  assert.equal(stdout, 'script function\n', stderr);
});

test('its command, by the name that npm gives it', () => {
  const {status, stdout} = spawnSync(process.execPath, [path.join(installed, 'bin/halter.mjs'), '--version'], {encoding: 'utf8'});
  assert.equal(stdout, `${JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8')).version}\n`);
  assert.equal(status, 0);
});

test('from a plain script, without a build', async (t) => {
  const server = await serve({
    '/page': html('>' + MAIN.replace("'halter/pc'", "'/halter/pc.js'").replace("'halter/pump'", "'/halter/pump.js'")),
    '/halter/': installed, '/guest/': guest});
  t.after(server.close);
  await boots(`${server.url}/page`);
});

/** Vite, from the packages that web/ is tested with. @returns {Promise<any>} */
const vite = () => import(pathToFileURL(createRequire(sources).resolve('vite')).href);
const viteOptions = {root: work, configFile: false, logLevel: 'error', cacheDir: path.join(work, 'vite'), build: {target: 'es2022'}};

test('built by Vite', async (t) => {
  await (await vite()).build(viteOptions);
  const server = await serve({'/guest/': guest, '/assets/': path.join(work, 'dist/assets'), '/page': readFileSync(path.join(work, 'dist/index.html'), 'utf8')});
  t.after(server.close);
  await boots(`${server.url}/page`);
});

test("on Vite's own server", async (t) => {
  const guests = await serve({'/guest/': guest});
  t.after(guests.close);
  const server = await (await vite()).createServer({...viteOptions, optimizeDeps: {exclude: ['halter']},
    server: {host: '127.0.0.1', port: 0, proxy: {'/guest': guests.url}}});
  t.after(() => server.close());
  await server.listen();
  await boots(server.resolvedUrls.local[0]);
});

for (const resolution of ['nodenext', 'bundler']) {
  test(`its types hold for a strict program that resolves as ${resolution}`, () => {
    writeFileSync(path.join(work, 'program.ts'), `
      import {PC, type BootOptions, type Exit} from 'halter/pc';
      import {Pump, auditLoop, type Turn} from 'halter/pump';
      const pc = await PC.boot({kernel: new URL('https://example.org/vmlinux'), ramMb: 64, restart: 'snapshot'});
      const off: () => void = pc.on('console', ({bytes, uart}) => console.log(bytes.length + uart));
      pc.on('stats', ({duty, mips, echoMs}) => console.log((duty + mips + echoMs).toFixed(1)));
      const sent: Promise<void> = pc.send('ls\\n');
      const saved: Uint8Array = await pc.save();
      const exit: Exit = await pc.exited, {reason} = exit, options: BootOptions = {kernel: 'vmlinux'};
      const known: 'off' | 'shutdown' | 'reset' | 'script' | 'left' | 'crashed' | 'killed' | 'deadline' | 'worker' = reason;
      const pump = new Pump({slice: ({budgetMs}: Turn) => (budgetMs > 4 ? 0 : Infinity), strategy: 'channel'});
      const loop = auditLoop((n: number) => n + 1);
      const next: number = loop(1);
      // @ts-expect-error there is no such event
      pc.on('nothing', () => {});
      // @ts-expect-error nor such a strategy
      new Pump({slice: () => {}, strategy: 'magic'});
      console.log(off, sent, saved, known, pump.stats().duty, next, loop.report().text, options);`);
    const {stdout, status} = spawnSync(process.execPath, [path.join(sources, 'node_modules/typescript/bin/tsc'), '--strict', '--noEmit',
      '--target', 'es2022', '--module', resolution === 'bundler' ? 'es2022' : 'nodenext', '--moduleResolution', resolution,
      '--lib', 'es2022,dom', 'program.ts'], {cwd: work, encoding: 'utf8'});
    assert.equal(status, 0, stdout);
  });
}
