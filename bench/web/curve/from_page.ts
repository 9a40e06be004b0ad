// A curve out of what the page measured and what only the command knows.
import { type Curve, curveOf } from '../../../packages/tabgrad/src/bench/curve.ts';
import type { Measured } from '../run.ts';

export function curveFrom(measured: Measured): Curve {
  const { date, browser, cpu, cores, isolated, timerResolution, gpu, load, outside, sides, rows, costs } = measured;
  const head = {
    date,
    runtime: browser,
    cpu,
    cores,
    isolated,
    timer_resolution_ms: timerResolution,
    gpu,
    power: '',
    load,
  };
  return curveOf({ ...head, outside }, sides, rows, costs);
}
