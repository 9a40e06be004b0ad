import { expect, test } from 'vitest';
import { ago, bytes, clock, count, pageTitle, percent, roughDuration, shortNumber } from '../src/lib/format';

test('numbers have four digits and the same rules as the report', () => {
  expect([8486, 0.73118, 12.5, 0, -0.00005, 1e9, 123456.7, 2.8381].map(shortNumber)).toEqual([
    '8,486',
    '0.7312',
    '12.5',
    '0',
    '-5e-5',
    '1e+9',
    '123,457',
    '2.838',
  ]);
  expect([Number.NaN, Infinity, null, undefined].map(shortNumber)).toEqual(['–', '–', '–', '–']);
});

test('counts, parts and sizes', () => {
  expect(count(1, 'row')).toBe('1 row');
  expect(count(7305, 'row')).toBe('7,305 rows');
  expect(percent(0.2361)).toBe('23.6 %');
  expect([900, 5_300_000, 412_300].map(bytes)).toEqual(['900 bytes', '5.3 MB', '412 kB']);
});

test('durations', () => {
  expect([7, 760, 3723, Number.NaN].map(clock)).toEqual(['0:07', '12:40', '1:02:03', '–']);
  expect([0.4, 7, 180, 7200, -1].map(roughDuration)).toEqual([
    'about a second',
    'about 7 seconds',
    'about 3 minutes',
    'about 2 hours',
    'an unknown time',
  ]);
});

test('how long ago', () => {
  const now = Date.UTC(2026, 10, 30, 12);
  const hours = (n: number) => ago(now - n * 3_600_000, now);
  expect([0, 0.5, 5, 30, 100].map(hours)).toEqual([
    'just now',
    '30 minutes ago',
    '5 hours ago',
    'yesterday',
    'on 2026-11-26',
  ]);
});

test('a tab says how far its run is', () => {
  expect(pageTitle('Forecast', null)).toBe('Forecast · tabgrad');
  expect(pageTitle('Forecast', { step: 199, steps: 1000 })).toBe('19 % · Forecast · tabgrad');
  expect(pageTitle('Forecast', { step: 0, steps: 0 })).toBe('0 % · Forecast · tabgrad');
});
