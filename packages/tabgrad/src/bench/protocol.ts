// What a benchmark's page asks of the worker that holds one side: a library and backend, and at most one of its jobs. Tabgrad's own
// worker answers these as 'bench.load', … beside its other calls (protocol.ts above); peers' workers answer nothing else.
import type { Device } from '../protocol.ts';
import type { Job, Preset } from './jobs.ts';
import type { About } from './side.ts';

export interface SideCalls {
  load: [{ backend: string }, { about: About; ms: number }];
  /** Makes a job and runs it once. `first`: that run's time, with all compiling that waits until then. */
  prepare: [{ job: Job }, Prepared];
  /** Steps of the train job, or bursts of `repeats` products, each timed. */
  turn: [{ count: number; repeats: number }, { ms: number[]; losses: number[] }];
  /** Of the first batch at the first weights, parameter by parameter; exact: by a double-precision oracle. Null: the side cannot tell. */
  gradients: [{ exact: boolean }, Float64Array[] | null];
  /** Null: the side does not measure it. */
  peak: [{ seconds: number }, Peak | null];
  free: [Record<string, never>, null];
}

export interface Prepared {
  /** Making the job and its first run, in ms. */
  setup: number;
  first: number;
  parameters: number;
  /** The side's own count, else null. */
  flops: number | null;
  /** [how many, FLOPs, bytes] of equal launches of a step, where the side tells. */
  launches: Launches | null;
  hashes: { parameters: string; batches: string };
  /** Loss of the first step; of a product the largest error over a sample, relative to Σ|a·b| of its element. */
  loss: number | null;
  error: number | null;
}
export type Launches = [count: number, flops: number, bytes: number][];

/** The most that the side's backend does: a large product, and reading and writing memory. */
export interface Peak {
  gflops: number;
  gbytes_per_s: number;
}

/** The cost model of src/cost. */
export interface Cost {
  overhead_us: number;
  gflops: number;
  gbytes_per_s: number;
  /** FLOPs of a launch, in millions, at which half of the rate is reached. */
  half_mflop: number;
}
/** Fitted to steps, with what it makes of each: from all, and from the others alone. */
export interface CostFit extends Cost {
  rows: { preset: string; ms: number; predicted_ms: number; left_out_ms: number | null }[];
}

export interface AblationRow {
  entry: string;
  variant: string;
  launches: number;
  ms: number;
}

/** One of the ways to launch (BENCHMARKS §3); times in microseconds a launch. */
export interface DispatchRow {
  method: string;
  dispatches: number;
  n: number;
  us_median: number;
  us_mean: number;
  us_mean_ci95: [number, number];
  us_p10: number;
  us_p90: number;
  cv: number;
  /** Where the timer can tell them apart. */
  stages_us: Record<string, number>;
}

type Named = { [K in keyof SideCalls as `bench.${K}`]: SideCalls[K] };
/** What tabgrad's worker answers. */
export interface BenchCalls extends Named {
  'bench.fit': [{ steps: { name: string; ms: number; launches: Launches }[] }, CostFit];
  /** Seconds of measuring, and the cost model that follows. */
  'bench.calibrate': [{ device: Device; seconds: number }, Cost];
  /** Milliseconds of a step. */
  'bench.predict': [{ cost: Cost; launches: Launches }, number];
  /** Every preset's step on every device; best: the largest preset whose `steps` are done within `seconds`. */
  'bench.foretell': [
    { devices: Partial<Record<Device, Cost>>; presets: string[]; steps: number; seconds: number },
    {
      rows: { preset: string; device: Device; ms: number }[];
      best: { preset: string; device: Device; seconds: number } | null;
    },
  ];
  'bench.dispatch': [{ repeats: number; rounds: number }, DispatchRow[]];
  'bench.replay': [
    { device: Device; seconds: number },
    { launches: number; us_median: number; us_p10: number; us_p90: number },
  ];
  /** quick: merging alone and everything, for software GPUs, which take minutes for all. */
  'bench.ablation': [{ device: Device; preset: Preset; seconds: number; quick: boolean }, AblationRow[]];
}
