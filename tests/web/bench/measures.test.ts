// What the browser benchmarks compute without a browser: statistics, work counts, and the jobs that all sides share.
import { expect, test } from 'vitest';
import {
  batchesOf,
  hashOf,
  jobFlops,
  kLstms,
  kPresets,
  parametersOf,
  type Job,
} from '../../../packages/tabgrad/src/bench/jobs.ts';
import { median, quantile, ratioInterval, spread } from '../../../packages/tabgrad/src/bench/stats.ts';

const gpt = (name: string): Job => ({ bench: 'gpt', preset: kPresets.find((p) => p.name === name)! });

test('quantiles lie between the neighbours', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(quantile([1, 2, 3, 4, 5], 0.1)).toBeCloseTo(1.4);
  expect(spread([7])).toEqual({ median: 7, p10: 7, p90: 7, n: 1 });
});

test('a ratio has an interval around it, the same each time', () => {
  const noisy = (centre: number) => Array.from({ length: 41 }, (_, i) => centre * (1 + 0.1 * Math.sin(i * 7)));
  const interval = ratioInterval(noisy(10), noisy(5));
  expect(interval.ratio).toBeCloseTo(2);
  expect(interval.low).toBeLessThan(2);
  expect(interval.high).toBeGreaterThan(2);
  expect(interval.high - interval.low).toBeLessThan(0.5);
  expect(ratioInterval(noisy(10), noisy(5))).toEqual(interval);
});

// Parameters: BENCHMARKS §1. FLOPs: what `tabgrad plan` counts for the same steps.
test.each([
  ['tiny', 70464, 217350144],
  ['small', 366432, 2304442368],
  ['xl', 6416896, 40680554496],
])('preset %s has %i parameters and %i FLOPs', (name, parameters, flops) => {
  expect(parametersOf(gpt(name)).reduce((sum, p) => sum + p.data.length, 0)).toBe(parameters);
  expect(jobFlops(gpt(name))).toBe(flops);
});

test('LSTM steps count as the engine counts', () => {
  const flops = kLstms.map((shape) => jobFlops({ bench: 'lstm', shape }));
  expect(flops).toEqual([19273728, 1258340352]);
});

test('weights and batches are the same bits each time, and differ from batch to batch', () => {
  const job = gpt('tiny');
  const hash = () => hashOf(parametersOf(job).map((p) => p.data));
  expect(hash()).toBe(hash());
  const batches = batchesOf(job).map((batch) => hashOf(Object.values(batch)));
  expect(new Set(batches).size).toBe(batches.length);
});

test('initial weights have the deviation that the preset asks for', () => {
  const embedding = parametersOf(gpt('small'))[0]!.data;
  const variance = embedding.reduce((sum, x) => sum + x * x, 0) / embedding.length;
  expect(Math.sqrt(variance)).toBeCloseTo(0.02, 3);
});
