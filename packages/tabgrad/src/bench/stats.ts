// Order statistics and bootstrap intervals of measured times.

export interface Spread {
  median: number;
  p10: number;
  p90: number;
  n: number;
}

/** q = 0 … 1, linear between the two nearest. */
export function quantile(values: number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

export const median = (values: number[]): number => quantile(values, 0.5);

export const spread = (values: number[]): Spread => ({
  median: median(values),
  p10: quantile(values, 0.1),
  p90: quantile(values, 0.9),
  n: values.length,
});

/** 95 % interval of median(a) / median(b): both samples redrawn with replacement, the 2.5th and 97.5th percentile of the ratios. */
export function ratioInterval(a: number[], b: number[], draws = 2000): { ratio: number; low: number; high: number } {
  let state = 1; // a fixed stream, so that a result's interval can be repeated from its samples
  const pick = (values: number[]) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return values[Math.floor((state / 4294967296) * values.length)]!;
  };
  const redrawn = (values: number[]) => median(values.map(() => pick(values)));
  const ratios = Array.from({ length: draws }, () => redrawn(a) / redrawn(b));
  return { ratio: median(a) / median(b), low: quantile(ratios, 0.025), high: quantile(ratios, 0.975) };
}
