import { expect, test } from 'vitest';
import { pointLabel, timeLabels } from '../src/charts/time_labels';
import { hasClock, spanOf } from '../src/lib/time_step';

const kDay = 86400;

test('steps with a clock are told from rows and counters', () => {
  expect(['1 day', '15 minutes', '1 weekday', '3 months', '1 year', '2.5 seconds'].every(hasClock)).toBe(true);
  expect(['1 row', '0.5', '10', ''].some(hasClock)).toBe(false);
});

test('how far steps reach', () => {
  expect(spanOf(12, '1 day')).toBe('12 days');
  expect(spanOf(48, '15 minutes')).toBe('12 hours');
  expect(spanOf(48, '1 hour')).toBe('2 days');
  expect(spanOf(1, '1 day')).toBe('1 day');
  expect(spanOf(35, '1 day')).toBe('5 weeks');
  expect(spanOf(24, '1 month')).toBe('2 years');
  expect(spanOf(12, '1 month')).toBe('12 months');
  expect(spanOf(12, '1 row')).toBe('');
  expect(spanOf(Number.NaN, '1 day')).toBe('');
});

test('time labels tell what is larger once', () => {
  const at = (...date: [number, number, number, number?]) => Date.UTC(...date) / 1000;
  expect(timeLabels([at(1969, 0, 1), at(1971, 0, 1)], 730 * kDay)).toEqual(['1969', '1971']);
  expect(timeLabels([at(2015, 11, 1), at(2016, 0, 1), at(2016, 1, 1)], 30 * kDay)).toEqual([
    'Dec\n2015',
    'Jan\n2016',
    'Feb',
  ]);
  expect(timeLabels([at(2015, 11, 31), at(2016, 0, 7)], 7 * kDay)).toEqual(['31 Dec\n2015', '7 Jan\n2016']);
  expect(timeLabels([at(2015, 0, 2, 6), at(2015, 0, 2, 12)], 21600)).toEqual(['06:00\n2 Jan 2015', '12:00']);
});

test('points are named as the file writes them', () => {
  expect(pointLabel(Date.UTC(2015, 8, 3) / 1000)).toBe('2015-09-03');
  expect(pointLabel(Date.UTC(2015, 8, 3, 14) / 1000)).toBe('2015-09-03 14:00');
  expect(pointLabel(Date.UTC(2015, 8, 3, 14, 0, 5) / 1000)).toBe('2015-09-03 14:00:05');
});
