// Measuring a browser: what the site's pages "Speed" and "Dispatch" and the commands in bench/web share.

export {
  browserHead,
  type Curve,
  curveOf,
  type CurveRow,
  type CurveTarget,
  costsOf,
  kCurveSchema,
  type ResultHead,
} from './curve.ts';
export { type Job, kPresets, type Preset } from './jobs.ts';
export type { AblationRow, CostFit, Launches } from './protocol.ts';
export { type Dispatch, dispatchOf, measureDispatch, type OwnRemote, ownRemote } from './remote.ts';
export type { About } from './side.ts';
export {
  browserName,
  loadSide,
  type RowResult,
  runJob,
  type SideResult,
  timerResolution,
  type Timing,
} from './turns.ts';
