// What a browser benchmark's page is told and what it gives back.
import type { Job } from '../../packages/tabgrad/src/bench/jobs.ts';
import type { DispatchMeasured, DispatchPlan } from '../../packages/tabgrad/src/bench/remote.ts';
import type { CostFit } from '../../packages/tabgrad/src/bench/protocol.ts';
import type { RowResult, SideResult, Timing } from '../../packages/tabgrad/src/bench/turns.ts';

export interface SideConfig {
  /** "tabgrad wasm", … */
  id: string;
  /** Its script: tabgrad's own worker (kOwnWorker), or a peer's. */
  worker: string;
  backend: string;
}
export const kOwnWorker = 'own.js';

export interface Config extends Timing {
  sides: SideConfig[];
  jobs: Job[];
  /** Of each side's largest rates; 0: they are not measured. */
  peakSeconds: number;
  /** Then launches are timed instead of jobs, on the first side. */
  dispatch?: DispatchPlan;
}

export interface Result {
  sides: SideResult[];
  rows: RowResult[];
  /** By side, where it has at least three presets. */
  costs: Record<string, CostFit>;
  dispatch: DispatchMeasured | null;
  config: Config;
  /** "Chromium 156.0.8078.47" */
  browser: string;
  cores: number;
  isolated: boolean;
  /** The smallest step of performance.now() seen, in ms. */
  timerResolution: number;
}
