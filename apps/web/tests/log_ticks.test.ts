import { expect, test } from 'vitest';
import { logTicks } from '../src/charts/log_ticks';

test('round numbers, as many as there is room for', () => {
  expect(logTicks(0.18, 1.2, 7)).toEqual([0.2, 0.3, 0.5, 0.7, 1]);
  expect(logTicks(0.001, 10, 7)).toEqual([0.001, 0.01, 0.1, 1, 10]);
  expect(logTicks(0.02, 1.5, 7)).toEqual([0.02, 0.05, 0.1, 0.2, 0.5, 1]);
  expect(logTicks(3.1, 8.4, 7)).toEqual([4, 5, 6, 7, 8]);
});
