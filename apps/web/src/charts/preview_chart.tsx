// The series as it was found in the file, with the parts that the split makes of it.

import { useMemo } from 'preact/hooks';
import { hasClock } from '../lib/time_step';
import { Plot } from './plot';
import { pointLabel } from './time_labels';
import type { ChartSpec, Zone } from './options';

interface Props {
  name: string;
  step: string;
  times: ArrayLike<number>;
  values: ArrayLike<number>;
  /** Parts of the whole for training and validation; the rest is the test part. */
  split: { train: number; validation: number };
}

function finite(values: ArrayLike<number>): (number | null)[] {
  return Array.from(values, (value) => (Number.isFinite(value) ? value : null));
}

export function PreviewChart({ name, step, times, values, split }: Props) {
  const clock = hasClock(step);
  const x = useMemo(() => Array.from(times), [times]);
  const data = useMemo(() => [x, finite(values)] as [number[], (number | null)[]], [x, values]);
  const at = (part: number) => x[Math.min(x.length - 1, Math.floor(part * x.length))] ?? 0;
  const zones: Zone[] = [
    { from: at(0), to: at(split.train), label: 'training', shaded: false },
    { from: at(split.train), to: at(split.train + split.validation), label: 'validation', shaded: true },
    { from: at(split.train + split.validation), to: at(1), label: 'test', shaded: false },
  ];
  const spec: ChartSpec = { x: clock ? 'time' : 'number', lines: [{ label: name, ink: 'truth', width: 1.25 }], zones };
  const nameX = (value: number) => (clock ? pointLabel(value) : value.toLocaleString('en-US'));
  return <Plot spec={spec} data={data} height={200} nameX={nameX} summary={`${name} over time, thinned.`} />;
}
