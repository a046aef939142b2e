/**
 * status.js: the status line: what state the PC is in and what it costs, once a second.
 *
 * @module
 */
import {byId} from './dom.js';

/** @typedef {import('halter/pc').Stats} Stats */

const TAXED = 0.9; // below this duty ratio the event loop takes more than its share
const STATES = {loading: 'Loading', running: 'Running', paused: 'Paused', ended: 'Ended'};

/** @param {number} value @param {(value: number) => string} print */
const orDash = (value, print) => (Number.isFinite(value) ? print(value) : '–');

/** @param {number} ms */
function milliseconds(ms) {
  if (Math.abs(ms) >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 9.95 ? 1 : 0)} ms`;
}

/** @param {keyof typeof STATES} state */
export function showState(state) {
  document.body.dataset.state = state;
  byId('state-text').textContent = STATES[state];
}

/** @param {Stats} stats */
export function showStats(stats) {
  const idle = stats.busy < 0.02;
  byId('mips').textContent = idle ? 'idle' : orDash(stats.mips, (mips) => `${mips.toFixed(0)} MIPS`);
  byId('duty').textContent = orDash(stats.duty, (duty) => `${(100 * duty).toFixed(0)} %`);
  byId('duty').classList.toggle('taxed', !idle && stats.duty < TAXED);
  byId('echo').textContent = orDash(stats.echoMs, milliseconds);
  byId('drift').textContent = orDash(stats.driftMs, milliseconds);
}

/** @param {number} ms */
export function showBootTime(ms) {
  byId('boot-time').textContent = milliseconds(ms);
}

export function clearStats() {
  for (const id of ['mips', 'duty', 'echo', 'drift', 'boot-time']) byId(id).textContent = '–';
  byId('duty').classList.remove('taxed');
}
