// The last points of series, for close views.

import type { BandSeries } from '../../../engine/types';

export function tailOf(series: BandSeries, points: number): BandSeries {
  const cut = (values: Float64Array) => values.slice(-points);
  return {
    times: cut(series.times),
    labels: series.labels.slice(-points),
    middle: cut(series.middle),
    low: cut(series.low),
    high: cut(series.high),
  };
}

/** The last points of what is known: the history before the test part, then the truth over it. */
export function joinTail(
  history: { times: Float64Array; values: Float64Array },
  test: { times: Float64Array; truth: Float64Array },
  points: number,
): { times: Float64Array; values: Float64Array } {
  const join = (a: Float64Array, b: Float64Array) => {
    const fromA = Math.max(0, points - b.length);
    const kept = fromA > 0 ? a.slice(-fromA) : new Float64Array();
    return Float64Array.of(...kept, ...b.slice(-points));
  };
  return { times: join(history.times, test.times), values: join(history.values, test.truth) };
}
