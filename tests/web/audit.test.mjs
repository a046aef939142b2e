// A loop's tax is named: by a clock of ours, each pattern gets its verdict; and real loops of Node
// are told apart.
import assert from 'node:assert/strict';
import test from 'node:test';
import {auditLoop} from '../../web/pump.js';

/** The verdict on slices of `sliceMs` with gaps of `gapMs` between them. */
function audited(sliceMs, gapMs, count = 100) {
  let at = 0;
  const loop = auditLoop(() => void (at += sliceMs), {now: () => at});
  for (let i = 0; i < count; i++) {
    loop();
    at += gapMs;
  }
  const report = loop.report();
  loop.clear(); // its timer
  return report;
}

test('the 4 ms clamp is named, with its 67 % at 8 ms', () => {
  // The probe is a real timer, which cannot come while this loop runs: so few slices are not yet starved.
  const {verdict, text, duty} = audited(8, 4.1, 30);
  assert.equal(verdict, 'clamp');
  assert.ok(Math.abs(duty - 0.67) < 0.02, `${duty}`);
  assert.match(text, /67 %.*4 ms.*MessageChannel/s);
});

test('the least delay of a Node timer is named', () => {
  const {verdict, text} = audited(8, 1.2, 30);
  assert.equal(verdict, 'timer');
  assert.match(text, /87 %.*setImmediate/s);
});

test('one slice a frame is named', () => {
  const {verdict, text} = audited(8, 8.7, 25);
  assert.equal(verdict, 'frame');
  assert.match(text, /requestAnimationFrame/);
});

test('long gaps for no known reason are still told', () => {
  assert.equal(audited(8, 12, 25).verdict, 'slow');
});

test('a fair loop is told so', () => {
  const {verdict, text} = audited(8, 0.2, 50);
  assert.equal(verdict, 'fair');
  assert.match(text, /98 %/);
});

test('too few slices are no ground for a verdict', () => {
  assert.equal(audited(8, 4, 5).verdict, 'unknown');
});

test('it hands on arguments, results and errors, and a call inside a call is one slice', () => {
  const sum = auditLoop((a, b) => a + b);
  assert.equal(sum(2, 3), 5);
  const fails = auditLoop(() => {
    throw new Error('mine');
  });
  assert.throws(fails, /mine/);
  const nested = auditLoop((n) => (n ? nested(n - 1) : 0));
  nested(10);
  assert.equal(nested.report().slices, 1);
  for (const loop of [sum, fails, nested]) loop.clear();
});

/** Slices of 2 ms that ask for the next by `schedule`, for a while. */
function spun(schedule, done) {
  return new Promise((resolve) => {
    const loop = auditLoop(() => {
      const end = performance.now() + 2;
      while (performance.now() < end);
      const report = loop.report();
      if (done(report)) {
        loop.clear();
        resolve(report);
      } else schedule(loop);
    });
    loop();
  });
}

test('a MessageChannel in Node starves timers, and is told so', async () => {
  const {port1, port2} = new MessageChannel();
  let next = () => {};
  port1.onmessage = () => next();
  const report = await spun((loop) => {
    next = loop;
    port2.postMessage(0);
  }, ({verdict, servedMs}) => verdict === 'starving' || servedMs > 20000);
  port1.close();
  assert.equal(report.verdict, 'starving');
  assert.match(report.text, /setImmediate/);
});

test('setImmediate in Node lets timers in', async () => {
  // On a machine that others load the gaps may be long: that timers came is what is asked.
  const {servedMs, slices} = await spun((loop) => setImmediate(loop), ({slices}) => slices > 200);
  assert.ok(slices > 200);
  assert.ok(servedMs < 30000);
});
