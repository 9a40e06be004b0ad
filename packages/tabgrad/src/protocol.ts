// The messages between a page and the worker that trains: plain data, structured-clonable, typed on both sides.
//
// A page sends Requests with an id; the worker answers each with one Reply of the same id, and sends Events about the run
// under way at any time. Errors of users (a bad file, an impossible setting) come as replies whose text names the place and
// what to do; they never end the worker.
//
// Units: times are seconds since 1970 (or row numbers where a series has no clock); values are in the series' own unit.

import type { BenchCalls } from './bench/protocol.ts';
import type { LmCalls, LmEvent } from './lm/protocol.ts';
import type { BuildName } from './wasm/features.ts';

export type ModelKind = 'lstm' | 'gru' | 'transformer';

/** Where a run is computed: the CPU through WebAssembly, or the GPU through one of two interfaces. */
export type Device = 'wasm' | 'webgpu' | 'webgl';
/** auto: the GPU, where there is one and the model is large enough to gain by it. */
export type DeviceChoice = 'auto' | Device;

/** The device of a run. */
export interface DeviceUse {
  device: Device;
  /** For people: the GPU's name, or the threads. */
  description: string;
  /** Plain sentence on why it is not the GPU, where nobody asked for that; else ''. */
  reason: string;
}

export interface GpuInfo {
  device: Exclude<Device, 'wasm'>;
  name: string;
  /** A program that imitates one. */
  software: boolean;
}

/** How the engine runs here, and why not faster. */
export interface RuntimeInfo {
  backend: 'wasm';
  threads: number;
  /** The engine's own line, "cpu: 2 threads, WASM". */
  description: string;
  /** Plain sentence when something is missing ("single thread: this page is not cross-origin isolated"), else ''. */
  reason: string;
  /** Whether runs survive a reload (false: the browser gives this page no storage; `reason` says so). */
  storage: boolean;
  /** The ways to a GPU that runs can use, best first. */
  gpus: GpuInfo[];
  /** Plain sentence on why WebGPU is not among them, or nothing is; else ''. */
  gpuReason: string;
}

export interface ColumnInfo {
  name: string;
  kind: 'empty' | 'number' | 'time' | 'text';
  missing: number;
  /** Why it cannot be used, with row and cell; '' when it can. */
  problem: string;
  /** Extremes of a number or time column, else null. */
  min: number | null;
  max: number | null;
}

export interface TableInfo {
  file: string;
  rows: number;
  columns: ColumnInfo[];
  /** Column found to be the clock; '' when rows are just in order. */
  time: string;
  /** The step for people ("1 day"), '' when unknown. */
  step: string;
  first: string;
  last: string;
  suggestedTarget: string;
  /** A few hundred points of every number column for a preview, thinned evenly; NaN where missing. */
  preview: { times: Float64Array; columns: Record<string, Float64Array> };
  notices: string[];
}

/** As ForecastSettings of the engine writes itself (src/train/forecast_config.cc); absent fields take the model's defaults. */
export interface ForecastSettings {
  target: string;
  time: string;
  features: string[];
  missing: 'auto' | 'drop' | 'previous' | 'linear' | 'error';
  split: { train: number; validation: number; test: number };
  season: number;
  normalise: 'window' | 'standard' | 'minmax' | 'none';
  predict: 'difference' | 'value';
  calendar: string;
  model: {
    kind: ModelKind;
    window: number;
    horizon: number;
    units: number;
    layers: number;
    heads: number;
    dropout: number;
    loss: 'mse' | 'mae' | 'huber' | 'quantile';
    quantiles: number[];
  };
  training: {
    epochs: number;
    batch: number;
    patience: number;
    schedule: 'constant' | 'linear' | 'cosine' | 'step';
    learning_rate: number;
    /** Decimal digits: a seed has 64 bits. */
    seed: string | number;
  };
  clip: number;
}

export type DeepPartial<T> = T extends (infer U)[]
  ? U[]
  : T extends object
    ? { [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** What a training run will be, found without training. */
export interface RunPlan {
  settings: ForecastSettings;
  parameters: number;
  points: { training: number; validation: number; test: number };
  windows: { training: number; validation: number; test: number };
  stepsPerEpoch: number;
  steps: number;
  flopsPerStep: number;
  launchesPerStep: number;
  peakBytes: number;
  notices: string[];
}

export interface Progress {
  run: string;
  state: 'training' | 'paused';
  step: number;
  steps: number;
  epoch: number;
  epochs: number;
  /** Loss of the latest step, in the model's units. */
  loss: number;
  learningRate: number;
  stepsPerSecond: number;
  msPerStep: number;
  secondsLeft: number;
  /** Losses of the steps since the previous event; the first is of step firstStep (counted from 0). */
  firstStep: number;
  losses: Float32Array;
  /** Per finished epoch. */
  trainLoss: number[];
  /** [0] is before training. */
  validationLoss: number[];
  bestEpoch: number;
}

export interface MetricRow {
  name: string;
  rmse: number;
  mae: number;
  smape: number;
  mase: number;
}

export interface BandSeries {
  times: Float64Array;
  /** Labels as people write them ("2015-12-31"), one a point. */
  labels: string[];
  middle: Float64Array;
  /** P10 and P90; empty where the model gives no band. */
  low: Float64Array;
  high: Float64Array;
}

export interface RunResult {
  run: string;
  file: string;
  settings: ForecastSettings;
  /** "LSTM", … */
  title: string;
  parameters: number;
  device: string;
  msPerStep: number;
  trainSeconds: number;
  steps: number;
  ended: 'epochs' | 'patience' | 'stopped' | 'diverged';
  message: string;
  bestEpoch: number;
  trainLoss: number[];
  validationLoss: number[];
  /** The model first, then the baselines; on the test part. */
  metrics: MetricRow[];
  verdict: string;
  bandCoverage: number | null;
  step: string;
  horizon: number;
  /** The last known values, to the end of the series: what the steps to come go on from. */
  history: { times: Float64Array; values: Float64Array };
  /** Test part: forecasts of the first step ahead of each window (h = 1), and the truth. */
  test: BandSeries & { truth: Float64Array };
  next: BandSeries;
  notices: string[];
}

/** A run kept in the browser's storage. */
export interface SavedRun {
  run: string;
  file: string;
  title: string;
  target: string;
  state: 'unfinished' | 'finished';
  step: number;
  steps: number;
  /** Milliseconds since 1970. */
  savedAt: number;
  bytes: number;
}

export type DownloadKind = 'model' | 'forecast' | 'report';

/** name → what the page sends → what it gets. Those of language models are in lm/protocol.ts, of benchmarks in bench/protocol.ts. */
export interface Calls extends LmCalls, BenchCalls {
  /** Loads the engine; first of all. threads 0: all cores. build: not the one that suits this browser best, for comparisons. */
  init: [{ threads: number; autosaveSeconds: number; build?: BuildName }, RuntimeInfo];
  /** Reads a CSV file. The worker keeps it as the current table. */
  open: [{ name: string; file: Blob }, TableInfo];
  defaults: [{ kind: ModelKind }, ForecastSettings];
  plan: [{ settings: DeepPartial<ForecastSettings> }, RunPlan];
  /** Starts on the current table; replies when the run is set up. Progress and ended events follow. */
  train: [
    { settings: DeepPartial<ForecastSettings>; device?: DeviceChoice },
    { run: string; plan: RunPlan; device: DeviceUse },
  ];
  pause: [Record<string, never>, null];
  resume: [Record<string, never>, null];
  /** Ends the run, keeping the best weights; the ended event follows. */
  stop: [Record<string, never>, null];
  runs: [Record<string, never>, SavedRun[]];
  /** Restores a saved run with its data; an unfinished one trains on from where it was. Replies when set up. */
  restore: [
    { run: string; device?: DeviceChoice },
    { run: string; table: TableInfo; plan: RunPlan; device: DeviceUse; result: RunResult | null },
  ];
  forget: [{ run: string }, null];
  download: [{ run: string; kind: DownloadKind }, { name: string; type: string; bytes: Uint8Array<ArrayBuffer> }];
  /** Bytes of WASM memory in use, for tests of leaks. */
  memory: [Record<string, never>, { wasmBytes: number; used: number }];
}
export type CallName = keyof Calls;

export type Request = { [K in CallName]: { id: number; call: K; args: Calls[K][0] } }[CallName];
export type Reply = { id: number; ok: true; value: unknown } | { id: number; ok: false; error: string };

export type Event =
  | LmEvent
  | { event: 'progress'; progress: Progress }
  | { event: 'ended'; result: RunResult }
  /** The run cannot go on; what was saved is kept. */
  | { event: 'failed'; run: string; error: string }
  | { event: 'saved'; run: string; step: number }
  /** Something that the person should know while the run goes on (storage is full, …). */
  | { event: 'notice'; text: string };

export type FromWorker = Reply | Event;
