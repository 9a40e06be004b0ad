import { expect, test } from 'vitest';
import { align, LossHistory, steadyRange, wantsLog } from '../src/charts/loss_data';

test('a short run keeps every step, counted from 1', () => {
  const history = new LossHistory();
  history.add(0, [3, 2]);
  history.add(2, [1]);
  expect(history.lines()).toEqual({ steps: [1, 2, 3], losses: [3, 2, 1] });
  expect(history.latest).toBe(1);
});

test('a long run is thinned by averaging, and keeps its mean and its order', () => {
  const history = new LossHistory();
  const losses = Array.from({ length: 10_000 }, (_, i) => 10_000 - i);
  for (let i = 0; i < losses.length; i += 37) history.add(i, losses.slice(i, i + 37));
  const { steps, losses: thinned } = history.lines();
  expect(steps.length).toBeLessThanOrEqual(1024);
  expect(steps.length).toBeGreaterThan(256);
  expect(steps.at(-1)).toBeLessThanOrEqual(10_000);
  expect(steps.every((step, i) => i === 0 || step > steps[i - 1]!)).toBe(true);
  // On a straight line the average of neighbours lies on the line.
  steps.forEach((step, i) => expect(thinned[i]).toBeCloseTo(10_001 - step, 6));
});

test('steps that come twice are taken once; a run may begin late', () => {
  const history = new LossHistory();
  history.add(100, [5, 4]);
  history.add(101, [4, 3]);
  expect(history.lines()).toEqual({ steps: [101, 102, 103], losses: [5, 4, 3] });
});

test('lines of different x share one axis', () => {
  const aligned = align([
    { x: [1, 2, 3], y: [1, Number.NaN, 3] },
    { x: [2, 5], y: [7, 8] },
  ]);
  expect(aligned).toEqual([
    [1, 2, 3, 5],
    [1, null, 3, null],
    [null, 7, null, 8],
  ]);
});

test('a logarithmic axis only for losses that fall steeply and stay above 0', () => {
  expect(wantsLog([1.3, 0.2])).toBe(true);
  expect(wantsLog([1.3, 0.9])).toBe(false);
  expect(wantsLog([1.3, 0])).toBe(false);
  expect(wantsLog([])).toBe(false);
});

test('single outliers of the step line do not stretch the axis, those of the others do', () => {
  const noisy = Array.from({ length: 100 }, (_, i) => (i === 50 ? 99 : 1 + i / 100));
  const [low, high] = steadyRange(noisy, [[0.5, null, 3]])!;
  expect(low).toBe(0.5);
  expect(high).toBe(3);
  expect(steadyRange([2], [[]])).toEqual([2, 2]);
  expect(steadyRange([], [[null]])).toBe(null);
});
