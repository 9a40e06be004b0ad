// Results out of what a page measured and what only the command knows.
import { type Curve, curveOf, type ResultHead } from '../../packages/tabgrad/src/bench/curve.ts';
import { type Dispatch, dispatchOf } from '../../packages/tabgrad/src/bench/remote.ts';
import type { Measured } from './run.ts';

const headOf = ({
  date,
  browser,
  cpu,
  cores,
  isolated,
  timerResolution,
  gpu,
  load,
  outside,
}: Measured): ResultHead => ({
  date,
  runtime: browser,
  cpu,
  cores,
  isolated,
  timer_resolution_ms: timerResolution,
  gpu,
  power: '',
  load,
  outside,
});

export const curveFrom = (measured: Measured): Curve =>
  curveOf(headOf(measured), measured.sides, measured.rows, measured.costs);

/** Null: the browser has no WebGPU for it. */
export function dispatchFrom(measured: Measured): Dispatch | null {
  const { config, dispatch, sides } = measured;
  const about = sides[0]?.about;
  return dispatch && about ? dispatchOf(headOf(measured), about, config.dispatch!.preset, dispatch) : null;
}
