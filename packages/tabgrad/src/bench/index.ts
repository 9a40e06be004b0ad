// Measuring a browser: what the site's pages "Speed" and "Dispatch" and the commands in bench/web share.

export {
  type Curve,
  type CurveHead,
  curveOf,
  type CurveRow,
  type CurveTarget,
  costsOf,
  kCurveSchema,
} from './curve.ts';
export { type Job, kPresets, type Preset } from './jobs.ts';
export type { AblationRow, CostFit, Launches } from './protocol.ts';
export { type DispatchMeasured, measureDispatch, type OwnRemote, ownRemote } from './remote.ts';
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
