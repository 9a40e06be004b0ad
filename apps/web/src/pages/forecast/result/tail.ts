// The last points of series, for close views; and forecasts that begin where the known values end.

import type { BandSeries } from '../../../engine/types';

interface Known {
  times: Float64Array;
  values: Float64Array;
}

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

export function lastOf({ times, values }: Known, points: number): Known {
  return { times: times.slice(-points), values: values.slice(-points) };
}

/** The line of a forecast begins at the last known point, so that the eye can follow it. */
export function fromLastKnown(next: BandSeries, known: Known): BandSeries {
  const time = known.times.at(-1);
  const value = known.values.at(-1);
  if (time === undefined || value === undefined) return next;
  const before = (values: Float64Array) => (values.length === 0 ? values : Float64Array.of(value, ...values));
  return {
    times: Float64Array.of(time, ...next.times),
    labels: ['', ...next.labels],
    middle: before(next.middle),
    low: before(next.low),
    high: before(next.high),
  };
}
