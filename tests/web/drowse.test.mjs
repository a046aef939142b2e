// A guest that only ticks is woken seldom; one that works, types or is typed at, in time.
import assert from 'node:assert/strict';
import test from 'node:test';
import {DROWSY_NAP_MS, Drowse} from '../../web/pc/drowse.js';

/** Runs a guest of so many instructions a millisecond for a while; the last nap. */
function live(drowse, state, ms, insnsPerMs, napMs = 4) {
  let nap = 0;
  for (const end = state.hostMs + ms; state.hostMs < end;) {
    nap = drowse.nap(napMs, {...state});
    state.hostMs += nap;
    state.guestMs += nap;
    state.insns += nap * insnsPerMs;
  }
  return nap;
}

test('an idle guest is woken seldom after a while', () => {
  const drowse = new Drowse(), state = {hostMs: 0, guestMs: 0, insns: 0};
  assert.equal(live(drowse, state, 400, 1000), 4);
  assert.equal(live(drowse, state, 2000, 1000), DROWSY_NAP_MS);
});

test('anything in or out wakes it for a while', () => {
  const drowse = new Drowse(), state = {hostMs: 0, guestMs: 0, insns: 0};
  live(drowse, state, 2000, 1000);
  drowse.disturb();
  assert.equal(live(drowse, state, 400, 1000), 4);
  assert.equal(live(drowse, state, 400, 1000), DROWSY_NAP_MS);
});

test('a silent guest that does more than tick is woken in time', () => {
  const drowse = new Drowse(), state = {hostMs: 0, guestMs: 0, insns: 0};
  live(drowse, state, 2000, 1000);
  live(drowse, state, 600, 1500);
  assert.equal(live(drowse, state, 3000, 1500), 4);
  assert.equal(live(drowse, state, 3000, 1000), DROWSY_NAP_MS, 'and seldom again when it is idle');
});

test('long naps and no naps stay what they are', () => {
  const drowse = new Drowse(), state = {hostMs: 0, guestMs: 0, insns: 0};
  live(drowse, state, 2000, 1000);
  assert.equal(drowse.nap(Infinity, state), Infinity);
  assert.equal(drowse.nap(200, state), 200);
  assert.equal(drowse.nap(0, state), 0);
});
