/**
 * The page in a browser, from the choice of a machine to its end, in the order of a visit: each test
 * goes on where the last one ended. BROWSER says which browser; what only one of them lets a test do
 * (the clipboard) is tested there.
 */
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {after, before, test} from 'node:test';
import {browserName, chord, consoleEnds, launch, loaded, prompt, run, serve, stateIs, tabTo, until, value} from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let server, browser, page;
before(async () => {
  server = await serve();
  browser = await launch();
  page = await browser.open();
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** Nothing that axe-core calls serious or critical, in both colour schemes where they can be had. */
async function accessible(of) {
  await of.evaluate(axe);
  for (const colorScheme of browserName === 'chromium' ? ['light', 'dark'] : [null]) {
    if (colorScheme) await of.emulateMedia({colorScheme});
    const found = await of.evaluate(async () => (await globalThis.axe.run()).violations
        .filter(({impact}) => impact === 'serious' || impact === 'critical')
        .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 160)).join(' | ')}`));
    assert.deepEqual(found, [], `${colorScheme}`);
  }
}

test('the page loads, isolated, and the choice is accessible', async () => {
  await page.goto(server.url);
  await loaded(page);
  assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), true);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#machine-list input:enabled').length), 3);
  assert.equal(await value(page, 'trouble'), '');
  await accessible(page);
});

test('a machine is chosen and booted from the keyboard alone', async () => {
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.value), '686');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await stateIs(page, 'running');
  await prompt(page);
  await until(page, () => document.getElementById('boot-time').textContent.endsWith(' s'));
});

test('it runs a command', async () => {
  assert.equal(await run(page, 'echo $((6 * 7)) $(uname -m)'), '42 i686\n');
});

test('the status line tells what it costs', async () => {
  await until(page, () => /^(idle|\d+ MIPS)$/.test(document.getElementById('mips').textContent));
  await until(page, () => /^\d+ %$/.test(document.getElementById('duty').textContent));
  await until(page, () => /^[\d.]+ m?s$/.test(document.getElementById('echo').textContent));
  await until(page, () => /^-?[\d.]+ m?s$/.test(document.getElementById('drift').textContent));
});

test('the console is accessible', async () => {
  await accessible(page);
});

test('64 kB are pasted without loss', async () => {
  const line = (i) => `${String(i).padStart(5, '0')} ${createHash('sha256').update(String(i)).digest('hex').slice(0, 57)}\n`;
  const text = Array.from({length: 1024}, (_, i) => line(i)).join('');
  assert.equal(text.length, 65536);
  await page.keyboard.type('stty -echo; echo now; cat > /tmp/pasted; stty echo');
  await page.keyboard.press('Enter');
  await consoleEnds(page, '\nnow');
  await page.evaluate((pasted) => globalThis.terminal.paste(pasted), text);
  await chord(page, 'd');
  await prompt(page);
  const sum = createHash('sha256').update(text).digest('hex');
  assert.equal(await run(page, 'sha256sum < /tmp/pasted; wc -c < /tmp/pasted'), `${sum}  -\n65536\n`);
});

test('a guest that loops for ever leaves the page alive', async () => {
  await page.keyboard.type('while true; do :; done');
  await page.keyboard.press('Enter');
  await until(page, () => /MIPS/.test(document.getElementById('mips').textContent));
  const before = await page.evaluate(() => {
    globalThis.ticks = 0;
    setInterval(() => globalThis.ticks++, 10);
    return Number(globalThis.pc.generation);
  });
  await page.click('#pause');
  await stateIs(page, 'paused');
  assert.equal(await page.evaluate(() => document.querySelector('#pause span').textContent), 'Resume');
  await page.click('#pause');
  await stateIs(page, 'running');
  await until(page, () => globalThis.ticks >= 50);
  assert.equal(await page.evaluate(() => globalThis.pc.generation), before);
  await page.evaluate(() => globalThis.terminal.focus());
  await chord(page, 'c');
  await prompt(page);
  assert.equal(await run(page, 'echo alive'), 'alive\n');
});

if (browserName === 'chromium') {
  test('copy and paste go through the clipboard', async () => {
    await page.evaluate(() => navigator.clipboard.writeText('echo from the clip""board\n'));
    await page.click('#paste');
    await until(page, () => globalThis.terminal.text.endsWith('\nfrom the clipboard\n#'));
    await page.click('#copy');
    await until(page, () => /^Copied \d+ characters/.test(document.getElementById('trouble').innerText));
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /from the clipboard\n#$/);
  });
}

test('the keyboard alone leaves the console, saves, and comes back', async () => {
  await page.evaluate(() => globalThis.terminal.focus());
  await page.keyboard.type('export KEPT=yes');
  await page.keyboard.press('Enter');
  await page.keyboard.press('F6');
  await tabTo(page, 'save');
  await page.keyboard.press('Enter');
  await until(page, () => /^Saved, /.test(document.getElementById('trouble').innerText));
  await page.keyboard.press('F6');
  assert.equal(await run(page, 'echo back'), 'back\n');
});

test('it is stopped, and what was saved goes on after a reload', async () => {
  await page.keyboard.press('F6');
  await tabTo(page, 'kill');
  await page.keyboard.press('Enter');
  await stateIs(page, 'ended');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'again');
  await page.goto(`${server.url}?hooks&deadline=8000`);
  await loaded(page);
  await page.click('#saved-list button');
  await stateIs(page, 'running');
  await page.keyboard.press('Enter');
  await prompt(page);
  assert.equal(await run(page, 'echo $KEPT'), 'yes\n');
});

test('a Worker that is silent is killed and started again, and the page is served meanwhile', async () => {
  const before = await page.evaluate(() => {
    globalThis.ticks = globalThis.clicks = 0;
    setInterval(() => globalThis.ticks++, 10);
    document.getElementById('pause').addEventListener('click', () => globalThis.clicks++);
    globalThis.pc.testHang();
    return globalThis.pc.generation;
  });
  await page.click('#pause'); // heard by the page; the Worker does not
  await until(page, (generation) => globalThis.pc.generation > generation, before);
  assert.equal(await page.evaluate(() => globalThis.clicks), 1);
  await until(page, () => globalThis.ticks >= 20);
  await stateIs(page, 'running');
  assert.match(await value(page, 'trouble'), /did not answer.*started again/);
  await page.evaluate(() => globalThis.terminal.focus());
  await page.keyboard.press('Enter');
  await prompt(page);
  assert.equal(await run(page, 'echo $KEPT again'), 'yes again\n');
});

test('a guest that switches off is told, and can be started again', async () => {
  await page.keyboard.type('poweroff -f');
  await page.keyboard.press('Enter');
  await stateIs(page, 'ended');
  assert.equal(await value(page, 'ended-title'), 'Switched off');
  await accessible(page);
  await page.keyboard.press('Enter'); // the focus is where it goes on
  await stateIs(page, 'running');
});

test('files that are no kernel, or are not there, get an error that says so', async () => {
  const other = await browser.open();
  await other.goto(server.url);
  await loaded(other);
  await other.click('input[value=own]');
  await other.click('#boot');
  await until(other, () => /Choose a kernel/.test(document.getElementById('trouble').innerText));
  await other.evaluate(() => {
    const files = new DataTransfer();
    files.items.add(new File(['no kernel at all'], 'notes.txt'));
    document.getElementById('own-kernel').files = files.files;
  });
  await other.click('#boot');
  await until(other, () => /does not start.*kernel/i.test(document.getElementById('trouble').innerText));
  await accessible(other);
  await other.goto(`${server.url}?x#nonsense`);
  await until(other, () => /no machine "nonsense"/.test(document.getElementById('trouble').innerText));
  await other.close();
});

test('without guests, it says what to do', async () => {
  const bare = await serve(['--guest', process.env.SITE]);
  try {
    const other = await browser.open();
    await other.goto(bare.url);
    await loaded(other);
    assert.match(await value(other, 'machine-list'), /guest\/vmlinux-686 is not here: make guest builds it/);
    assert.equal(await other.evaluate(() => document.querySelector('#machine-list input:checked').value), 'own');
    await other.close();
  } finally {
    bare.close();
  }
});

test('on a phone, nothing is cut off, and there are keys for what it lacks', async () => {
  const phone = await browser.open({viewport: {width: 360, height: 700}, ...(browserName === 'chromium' && {hasTouch: true, isMobile: true})});
  const overflow = () => phone.evaluate(() => [...document.querySelectorAll('body *')].filter((element) => {
    const {left, right, width} = element.getBoundingClientRect();
    return width && !element.closest('#keys, .xterm, .unseen, #tools span, svg') && (right > innerWidth + 1 || left < -1);
  }).map((element) => element.outerHTML.slice(0, 120)));
  await phone.goto(server.url);
  await loaded(phone);
  assert.deepEqual(await overflow(), []);
  await phone.click('#boot');
  await stateIs(phone, 'running');
  assert.deepEqual(await overflow(), []);
  if (browserName === 'chromium') {
    await prompt(phone);
    await phone.click('#ctrl');
    await phone.keyboard.type('l'); // the shell clears the screen
    await until(phone, () => !/BOOT-OK/.test([...document.querySelectorAll('.xterm-rows')].map((rows) => rows.innerText).join('')));
    assert.equal(await phone.evaluate(() => document.getElementById('ctrl').ariaPressed), 'false');
    await accessible(phone);
  }
  await phone.close();
});
