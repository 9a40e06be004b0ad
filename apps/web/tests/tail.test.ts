import { expect, test } from 'vitest';
import { fromLastKnown, lastOf, tailOf } from '../src/pages/forecast/result/tail';

const f = (...values: number[]) => Float64Array.of(...values);

test('the last points of a forecast, with or without a band', () => {
  const series = { times: f(1, 2, 3), labels: ['a', 'b', 'c'], middle: f(4, 5, 6), low: f(), high: f() };
  expect(tailOf(series, 2)).toEqual({ times: f(2, 3), labels: ['b', 'c'], middle: f(5, 6), low: f(), high: f() });
});

test('a forecast begins at the last known point, band and all', () => {
  const known = lastOf({ times: f(1, 2, 3), values: f(10, 20, 30) }, 2);
  expect(known).toEqual({ times: f(2, 3), values: f(20, 30) });
  const next = { times: f(4, 5), labels: ['d', 'e'], middle: f(31, 32), low: f(29, 28), high: f(33, 35) };
  expect(fromLastKnown(next, known)).toEqual({
    times: f(3, 4, 5),
    labels: ['', 'd', 'e'],
    middle: f(30, 31, 32),
    low: f(30, 29, 28),
    high: f(30, 33, 35),
  });
  expect(fromLastKnown(next, { times: f(), values: f() })).toBe(next);
});
