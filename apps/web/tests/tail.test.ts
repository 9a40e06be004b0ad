import { expect, test } from 'vitest';
import { joinTail, tailOf } from '../src/pages/forecast/result/tail';

const f = (...values: number[]) => Float64Array.of(...values);

test('the last points of a forecast, with or without a band', () => {
  const series = { times: f(1, 2, 3), labels: ['a', 'b', 'c'], middle: f(4, 5, 6), low: f(), high: f() };
  expect(tailOf(series, 2)).toEqual({ times: f(2, 3), labels: ['b', 'c'], middle: f(5, 6), low: f(), high: f() });
});

test('what is known: history, then the truth of the test part', () => {
  const history = { times: f(1, 2, 3), values: f(10, 20, 30) };
  const test_ = { times: f(4, 5), truth: f(40, 50) };
  expect(joinTail(history, test_, 3)).toEqual({ times: f(3, 4, 5), values: f(30, 40, 50) });
  expect(joinTail(history, test_, 1)).toEqual({ times: f(5), values: f(50) });
  expect(joinTail(history, test_, 99)).toEqual({ times: f(1, 2, 3, 4, 5), values: f(10, 20, 30, 40, 50) });
});
