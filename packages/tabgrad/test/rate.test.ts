import { expect, test } from 'vitest';
import { RateMeter } from '../src/runs/rate.ts';

test('steady steps give their rate', () => {
  const rate = new RateMeter();
  expect(rate.perSecond).toBe(0);
  for (let i = 0; i < 500; ++i) rate.add(20, 4);
  expect(rate.perSecond).toBeCloseTo(200);
});

test('the past is forgotten within seconds', () => {
  const rate = new RateMeter();
  for (let i = 0; i < 100; ++i) rate.add(100, 1);
  for (let i = 0; i < 40; ++i) rate.add(100, 10);
  expect(rate.perSecond).toBeCloseTo(100);
});

test('steps slower than the window have a rate', () => {
  const rate = new RateMeter();
  for (let i = 0; i < 3; ++i) rate.add(8000, 1);
  expect(rate.perSecond).toBeCloseTo(1 / 8);
});
