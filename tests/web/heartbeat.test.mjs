// A Worker that does not answer for the deadline is hung; a host that was late itself is no proof.
import assert from 'node:assert/strict';
import test from 'node:test';
import {Heartbeat} from '../../web/pc/heartbeat.js';

function makeHeart(options = {}) {
  const heart = {at: 0, pings: [], silentMs: null, tick: () => {}, later: [], stopped: 0};
  heart.beat = new Heartbeat({
    heartbeatMs: 1000, deadlineMs: 5000, now: () => heart.at,
    every: (_ms, tick) => {
      heart.tick = tick;
      return () => heart.stopped++;
    },
    ping: (id) => heart.pings.push(id), expired: (ms) => (heart.silentMs = ms),
    later: (task) => heart.later.push(task), ...options,
  });
  heart.pass = (ms, ticks = 1) => {
    for (let i = 0; i < ticks; i++) {
      heart.at += ms;
      heart.tick();
    }
  };
  heart.turn = () => heart.later.splice(0).forEach((task) => task());
  return heart;
}

test('it asks at once, and again after each answer', () => {
  const heart = makeHeart();
  assert.deepEqual(heart.pings, [1]);
  heart.beat.heard(1);
  heart.pass(1000);
  assert.deepEqual(heart.pings, [1, 2]);
  heart.pass(1000);
  assert.deepEqual(heart.pings, [1, 2], 'one question at a time');
});

test('silence for the deadline is the end, said once', () => {
  const heart = makeHeart();
  heart.pass(1000, 4);
  heart.turn();
  assert.equal(heart.silentMs, null);
  heart.pass(1000);
  heart.turn();
  assert.equal(heart.silentMs, 5000);
  assert.equal(heart.stopped, 1);
});

test('an answer that lies in the queue is heard before the end', () => {
  const heart = makeHeart();
  heart.pass(1000, 5);
  heart.beat.heard(1); // comes in the turn that it is given
  heart.turn();
  assert.equal(heart.silentMs, null);
  heart.pass(1000);
  assert.deepEqual(heart.pings, [1, 2]);
});

test('a host that slept does not hold it against the Worker', () => {
  const heart = makeHeart();
  heart.pass(3600000);
  heart.turn();
  assert.equal(heart.silentMs, null);
  heart.beat.heard(1);
  heart.pass(1000);
  assert.deepEqual(heart.pings, [1, 2]);
});

test('an old answer does not count for a new question', () => {
  const heart = makeHeart();
  heart.beat.heard(1);
  heart.pass(1000);
  heart.beat.heard(1);
  heart.pass(1000, 5);
  heart.turn();
  assert.notEqual(heart.silentMs, null);
});

test('after stop() nothing expires', () => {
  const heart = makeHeart();
  heart.pass(1000, 5);
  heart.beat.stop();
  heart.turn();
  assert.equal(heart.silentMs, null);
});

test('a deadline shorter than the heartbeat is looked at as often', () => {
  let interval = 0;
  makeHeart({deadlineMs: 200, every: (ms) => {
    interval = ms;
    return () => {};
  }});
  assert.equal(interval, 200);
});
