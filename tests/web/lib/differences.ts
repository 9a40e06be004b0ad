import { expect } from 'vitest';

/** Relative differences of numbers to those that they are held against. */
export function differences(got: number[], want: number[]): { largest: number; mean: number } {
  expect(got).toHaveLength(want.length);
  const all = got.map((value, i) => Math.abs(value - want[i]!) / Math.abs(want[i]!));
  return { largest: Math.max(...all), mean: all.reduce((sum, d) => sum + d, 0) / all.length };
}
