// Quantiles of durations are right within 5 %, from a microsecond to seconds.
import assert from 'node:assert/strict';
import test from 'node:test';
import {Histogram} from '../../web/pump.js';

test('an empty one has no figures', () => {
  const {count, meanMs, p50Ms} = new Histogram().summary();
  assert.deepEqual([count, meanMs, p50Ms], [0, NaN, NaN]);
});

test('quantiles agree with sorting', () => {
  const histogram = new Histogram(), values = [];
  let seed = 7;
  for (let i = 0; i < 5000; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    const ms = 0.002 * 1.003 ** (seed % 5000);
    values.push(ms);
    histogram.add(ms);
  }
  values.sort((a, b) => a - b);
  for (const q of [0.01, 0.25, 0.5, 0.95, 0.99]) {
    const exact = values[Math.ceil(q * values.length) - 1];
    if (exact < 16000) assert.ok(Math.abs(histogram.quantile(q) / exact - 1) < 0.05, `${q}: ${histogram.quantile(q)} for ${exact}`);
  }
  assert.ok(Math.abs(histogram.mean - values.reduce((a, b) => a + b) / values.length) < 1e-6);
  assert.equal(histogram.max, values.at(-1));
});

test('what is out of range is counted at the ends', () => {
  const histogram = new Histogram();
  for (const ms of [0, 1e-9, 1e6]) histogram.add(ms);
  assert.equal(histogram.count, 3);
  assert.equal(histogram.max, 1e6);
  assert.deepEqual(histogram.buckets().map(({count}) => count), [2, 1]);
  histogram.clear();
  assert.equal(histogram.buckets().length, 0);
});
