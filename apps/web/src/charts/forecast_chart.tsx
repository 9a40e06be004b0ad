// Forecasts with their P10–P90 band: over the test part against the truth, or the steps after the end of the series.

import { useMemo } from 'preact/hooks';
import type { BandSeries } from '../engine/types';
import { hasClock } from '../lib/time_step';
import { align } from './loss_data';
import type { ChartSpec } from './options';
import { Plot } from './plot';
import { pointLabel } from './time_labels';

interface Props {
  forecast: BandSeries;
  known: { times: ArrayLike<number>; values: ArrayLike<number> };
  knownLabel: string;
  title: string;
  step: string;
  summary: string;
}

export function ForecastChart({ forecast, known, knownLabel, title, step, summary }: Props) {
  const clock = hasClock(step);
  const banded = forecast.low.length > 0;
  const data = useMemo(
    () =>
      align([
        { x: known.times, y: known.values },
        { x: forecast.times, y: forecast.middle },
        ...(banded
          ? [
              { x: forecast.times, y: forecast.low },
              { x: forecast.times, y: forecast.high },
            ]
          : []),
      ]),
    [forecast, known],
  );
  const spec: ChartSpec = {
    x: clock ? 'time' : 'number',
    lines: [
      { label: knownLabel, ink: 'truth', width: 1.25 },
      { label: title, ink: 'model', width: 2, points: forecast.times.length === 1 },
      ...(banded
        ? [
            { label: 'P10', ink: 'model' as const, edge: true },
            { label: 'P90', ink: 'model' as const, edge: true },
          ]
        : []),
    ],
    ...(banded ? { bands: [{ label: 'P10 to P90', low: 2, high: 3 }] } : {}),
  };
  const nameX = (x: number) => (clock ? pointLabel(x) : x.toLocaleString('en-US'));
  return <Plot spec={spec} data={data} height={300} nameX={nameX} summary={summary} />;
}
