// The pump runs slices, lets others in, naps, wakes and counts. Its clock is ours: no test depends on
// how fast the machine is.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import test from 'node:test';
import {Pump, strategies} from '../../web/pump.js';

/** A clock that only goes on when it is told to. */
function makeClock() {
  let at = 1000;
  return {now: () => at, pass: (/** @type {number} */ ms) => void (at += ms)};
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('slices follow each other until one says stop', async () => {
  const seen = [];
  await new Promise((resolve) => {
    const pump = new Pump({slice: ({budgetMs}) => {
      seen.push(budgetMs);
      if (seen.length === 5) {
        pump.stop();
        resolve();
      }
    }});
    pump.start();
    assert.equal(seen.length, 0, 'the first slice waits for the event loop');
    assert.equal(pump.running, true);
  });
  assert.deepEqual(seen, [8, 8, 8, 8, 8]);
  await turn();
  assert.equal(seen.length, 5);
});

for (const strategy of ['immediate', 'timeout']) {
  test(`with ${strategy}, timers and messages get in between busy slices`, async () => {
    const {port1, port2} = new MessageChannel();
    let timers = 0, messages = 0, slices = 0;
    port1.onmessage = () => messages++;
    await new Promise((resolve) => {
      const pump = new Pump({strategy, slice: () => {
        slices++;
        port2.postMessage(0);
        setTimeout(() => timers++, 0);
        const end = performance.now() + 2;
        while (performance.now() < end);
        if ((timers > 20 && messages > 20) || slices > 100000) {
          pump.stop();
          resolve();
        }
      }});
      pump.start();
    });
    port1.close();
    assert.ok(timers > 20 && messages > 20, `${timers} timers, ${messages} messages in ${slices} slices`);
  });
}

test('a strategy that is not here is refused with the names of those that are', () => {
  assert.ok(strategies().includes('immediate'));
  assert.throws(() => new Pump({slice: () => {}, strategy: 'post-task'}), /"post-task" is not to be had here; these are: .*immediate/);
  assert.throws(() => new Pump({slice: () => {}, strategy: /** @type {any} */ ('magic')}), /there is no strategy "magic"/);
  assert.throws(() => new Pump(/** @type {any} */ ({})), /slice/);
});

test('a nap ends when its time has come', async () => {
  let slices = 0;
  const naps = [];
  await new Promise((resolve) => {
    const pump = new Pump({onIdle: (ms) => naps.push(ms), slice: () => {
      if (++slices < 3) return 5;
      pump.stop();
      resolve();
      return 0;
    }});
    pump.start();
  });
  assert.equal(slices, 3);
  assert.deepEqual(naps, [5, 5]);
});

test('short naps in a row come back, whatever clamps nested timers', async () => {
  let slices = 0;
  await new Promise((resolve) => {
    const pump = new Pump({slice: () => {
      if (++slices < 30) return 1;
      pump.stop();
      resolve();
      return 0;
    }});
    pump.start();
  });
  assert.equal(slices, 30);
});

test('a nap without end lasts until wake()', async () => {
  let slices = 0;
  const pump = new Pump({slice: () => {
    slices++;
    return Infinity;
  }});
  pump.start();
  await turn();
  await turn();
  assert.equal(slices, 1);
  pump.wake();
  pump.wake();
  assert.equal(slices, 1, 'not inside the caller');
  await Promise.resolve();
  assert.equal(slices, 2, 'but right after it, once');
  pump.stop();
  pump.wake();
  await turn();
  assert.equal(slices, 2);
});

test('wake() inside a slice keeps the nap from beginning', async () => {
  let slices = 0;
  const pump = new Pump({slice: () => {
    if (++slices === 1) pump.wake();
    return Infinity;
  }});
  pump.start();
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(slices, 2);
  pump.stop();
});

test('any message ends a nap, after its other listeners', async () => {
  const target = new EventTarget(), order = [];
  const pump = new Pump({wakeOn: [target], slice: () => {
    order.push('slice');
    return Infinity;
  }});
  pump.start();
  target.addEventListener('message', () => order.push('listener'));
  await turn();
  await turn();
  target.dispatchEvent(new Event('message'));
  await turn();
  await turn();
  assert.deepEqual(order, ['slice', 'listener', 'slice']);
  pump.stop();
  target.dispatchEvent(new Event('message'));
  await turn();
  assert.equal(order.length, 4);
});

test('a slice that throws stops the pump, and is heard of', () => {
  const {stdout, status} = spawnSync(process.execPath, ['--input-type=module', '-e', `
    import {Pump} from ${JSON.stringify(new URL('../../web/pump.js', import.meta.url).href)};
    const pump = new Pump({slice: () => { throw new Error('from a slice'); }});
    process.on('uncaughtException', ({message}) => console.log(message, pump.running));
    pump.start();`], {encoding: 'utf8'});
  assert.equal(stdout, 'from a slice false\n');
  assert.equal(status, 0);
});

test('slices are short for a while after hurry()', async () => {
  const clock = makeClock(), seen = [];
  await new Promise((resolve) => {
    const pump = new Pump({now: clock.now, hurryMs: 100, slice: ({budgetMs}) => {
      seen.push(budgetMs);
      clock.pass(40);
      if (seen.length === 2) pump.hurry(); // until 100 ms from here
      if (seen.length < 7) return;
      pump.stop();
      resolve();
    }});
    pump.start();
  });
  assert.deepEqual(seen, [8, 8, 2, 2, 2, 8, 8]);
});

test('what lies too far back is given up, and counted', async () => {
  const clock = makeClock(), seen = [];
  let stats;
  await new Promise((resolve) => {
    const pump = new Pump({now: clock.now, catchUpMs: 50, slice: ({elapsedMs}) => {
      seen.push(elapsedMs);
      clock.pass([10, 300, 20, 0][seen.length - 1]);
      if (seen.length < 4) return;
      stats = pump.stats();
      pump.stop();
      resolve();
    }});
    pump.start();
  });
  assert.deepEqual(seen, [0, 10, 50, 20]);
  assert.equal(stats.lostMs, 250);
});

/** A run of `count` slices of `sliceMs`, with `gapMs` between them, by a clock of ours. */
function counted(count, sliceMs, gapMs, more = {}) {
  const clock = makeClock();
  let slices = 0;
  return new Promise((resolve) => {
    const pump = new Pump({now: clock.now, strategy: 'immediate', slice: () => {
      clock.pass(sliceMs);
      if (++slices === count) {
        pump.stop();
        setImmediate(() => resolve(pump));
      }
      // Our immediate comes before the pump's own: the clock passes in the gap.
      else setImmediate(() => clock.pass(gapMs));
    }, ...more});
    pump.start();
  });
}

test('the duty ratio is the time in slices ÷ the time wanted', async () => {
  const stats = (await counted(100, 8, 4)).stats();
  assert.equal(stats.slices.count, 100);
  assert.equal(stats.gaps.count, 100); // the first is from start()
  assert.ok(Math.abs(stats.duty - 800 / (800 + 99 * 4)) < 1e-9, `${stats.duty}`);
  assert.ok(Math.abs(stats.slices.p50Ms / 8 - 1) < 0.05 && Math.abs(stats.gaps.p50Ms / 4 - 1) < 0.05);
  assert.equal(stats.gapHistogram.reduce((sum, {count}) => sum + count, 0), 100);
});

test('naps are not wanted time', async () => {
  const clock = makeClock();
  let slices = 0;
  const pump = new Pump({now: clock.now, slice: () => {
    clock.pass(8);
    slices++;
    return slices === 1 ? Infinity : 0;
  }});
  pump.start();
  await turn();
  await turn();
  clock.pass(10000);
  pump.wake();
  await Promise.resolve();
  pump.stop();
  const stats = pump.stats();
  assert.equal(slices, 2);
  assert.equal(stats.duty, 1);
  assert.equal(stats.naps, 1);
  assert.equal(stats.nappedMs, 10000);
  pump.clear();
  assert.ok(Number.isNaN(pump.stats().duty), 'nothing was wanted');
});

test('the timeline holds the latest spans, without a hole', async () => {
  const pump = await counted(50, 8, 4, {record: 10});
  const spans = pump.timeline();
  assert.equal(spans.length, 10);
  assert.deepEqual(spans.slice(-3).map(({kind}) => kind), ['slice', 'gap', 'slice']);
  for (let i = 1; i < spans.length; i++) assert.equal(spans[i].beginMs, spans[i - 1].endMs);
});
