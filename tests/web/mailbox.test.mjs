// The mailbox loses nothing, keeps the order, and no put() is slept through.
import assert from 'node:assert/strict';
import test from 'node:test';
import {Worker} from 'node:worker_threads';
import {Mailbox} from '../../web/pc/mailbox.js';

const bytes = (/** @type {number} */ count, from = 0) => Uint8Array.from({length: count}, (_, i) => (from + i) & 255);

function makePair() {
  const shared = /** @type {SharedArrayBuffer} */ (Mailbox.allocate());
  return [new Mailbox(shared), new Mailbox(shared)];
}

test('what is put comes out, in order, once', () => {
  const [host, worker] = makePair();
  assert.equal(worker.take(), null);
  assert.ok(host.put(bytes(3)) && host.put(bytes(2, 3)));
  assert.deepEqual(worker.take(), bytes(5));
  assert.equal(worker.take(), null);
});

test('the ring goes round, and is all or nothing when it is full', () => {
  const [host, worker] = makePair();
  for (let i = 0, at = 0; i < 50; i++, at += 5000) {
    assert.ok(host.put(bytes(5000, at)));
    assert.deepEqual(worker.take(), bytes(5000, at));
  }
  assert.ok(host.put(bytes(16384)));
  assert.equal(host.put(bytes(1)), false);
  assert.equal(worker.take()?.length, 16384);
  assert.equal(host.put(bytes(16385)), false);
});

test('a Worker does not fall asleep over something', () => {
  const [host, worker] = makePair();
  assert.equal(worker.sleep(), false);
  assert.equal(host.asleep, true);
  worker.awake();
  host.put(bytes(1));
  assert.equal(worker.sleep(), true, 'it must look again');
  assert.equal(host.asleep, false);
});

test('two threads lose no byte', async () => {
  const shared = /** @type {SharedArrayBuffer} */ (Mailbox.allocate()), host = new Mailbox(shared), total = 400000;
  const worker = new Worker(`
    const {workerData, parentPort} = require('node:worker_threads');
    import(workerData.module).then(({Mailbox}) => {
      const mailbox = new Mailbox(workerData.shared);
      let at = 0, wrong = 0;
      while (at < workerData.total) for (const byte of mailbox.take() ?? []) if (byte !== (at++ & 255)) wrong++;
      parentPort.postMessage(wrong);
    });`, {eval: true, workerData: {shared, total, module: new URL('../../web/pc/mailbox.js', import.meta.url).href}});
  const wrong = new Promise((resolve) => worker.once('message', resolve));
  for (let at = 0; at < total;) {
    const count = Math.min(1 + (at % 977), total - at);
    if (host.put(bytes(count, at))) at += count;
    else await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await wrong, 0);
});
