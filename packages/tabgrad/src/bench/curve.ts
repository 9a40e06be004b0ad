// The curve's result: rows with speedups, rates and parity out of what a page measured. Its schema, tabgrad-curve/2, is described in
// bench/README.md; `tabgrad bench curve` writes the same (src/cli/bench/curve_result.cc). A change of meaning gets a new number.
import { jobFlops, jobName, type Preset } from './jobs.ts';
import type { CostFit, Launches } from './protocol.ts';
import type { About } from './side.ts';
import { median, ratioInterval, spread, type Spread } from './stats.ts';
import { browserName, type RowResult, type SideResult, timerResolution } from './turns.ts';

/** BENCHMARKS §5, S2. */
const kMostGradientError = 1e-5;
const kMostLossDifference = 1e-4;
const kMostMeanLossDifference = 1e-5;

export interface CurveRow {
  preset: string;
  target: string;
  parameters: number;
  flops: number;
  tokens: number;
  launches: Launches;
  /** Making the model, and its first step, in ms: apart from the timed steps. */
  setup_ms: number;
  first_ms: number;
  ms: Spread | null;
  samples_ms: number[];
  tokens_per_s: number;
  gflops: number;
  /** Fraction of the target's measured peak; null where it has none. */
  of_peak: number | null;
  /** Baseline's time over this target's, with a bootstrap 95 % interval; null on the baseline itself. */
  speedup: { ratio: number; low: number; high: number } | null;
  parity: {
    gradient_error: number | null;
    /** 'oracle', or the target that the gradients were held against; '' where nobody looked. */
    gradient_reference: string;
    loss_steps: number;
    loss_largest: number;
    loss_mean: number;
  };
  parity_failed: boolean;
  parameters_hash: string;
  batches_hash: string;
  losses: number[];
  error: string;
}

export type GpuKind = 'none' | 'software' | 'hardware';

export interface CurveTarget {
  id: string;
  about: About | null;
  error: string;
  load_ms?: number;
  peak_gflops: number | null;
  peak_gbytes_per_s: number | null;
  /** The cost model fitted to the target's rows; null where there are fewer than three. */
  cost: CostFit | null;
}

/** Where and when: what the rows do not tell. */
export interface ResultHead {
  date: string;
  /** 'native', or the browser. */
  runtime: string;
  cpu: string;
  cores: number;
  isolated: boolean | null;
  timer_resolution_ms: number;
  gpu: GpuKind;
  power: string;
  /** One-minute load average before and after; null where it is not known. */
  load: [number, number] | null;
  /** Requests that tried to leave the machine, all refused; null where nobody watched. */
  outside: string[] | null;
}

/** Of this browser, which tells nothing of its processor. */
export const browserHead = async (gpu: GpuKind): Promise<ResultHead> => ({
  date: new Date().toISOString(),
  runtime: await browserName(),
  cpu: 'unknown',
  cores: navigator.hardwareConcurrency,
  isolated: crossOriginIsolated,
  timer_resolution_ms: timerResolution(),
  gpu,
  power: '',
  load: null,
  outside: null,
});

export interface Curve extends ResultHead {
  schema: typeof kCurveSchema;
  step: string;
  baseline: string;
  targets: CurveTarget[];
  rows: CurveRow[];
}

export const kCurveSchema = 'tabgrad-curve/2';
const kStep = 'batch uploaded, forward, cross-entropy, backward, clip by global norm 1.0, AdamW, loss on the host; f32';

export function curveOf(
  head: ResultHead,
  sides: SideResult[],
  results: RowResult[],
  costs: Record<string, CostFit>,
): Curve {
  const baseline = sides[0]!.id;
  const gpt = results.filter((row) => row.job.bench === 'gpt');
  return {
    schema: kCurveSchema,
    ...head,
    step: kStep,
    baseline,
    targets: sides.map(({ id, about, error, load_ms, peak }) => ({
      id,
      about,
      error,
      load_ms,
      peak_gflops: peak?.gflops ?? null,
      peak_gbytes_per_s: peak?.gbytes_per_s ?? null,
      cost: costs[id] ?? null,
    })),
    rows: gpt.map((row) => {
      const name = jobName(row.job);
      const base = gpt.find((other) => other.side === baseline && jobName(other.job) === name);
      const peak = sides.find(({ id }) => id === row.side)?.peak?.gflops ?? null;
      return curveRow(row, (row.job as { preset: Preset }).preset, base ?? null, peak);
    }),
  };
}

/** The cost model of each side with at least three measured presets, by `fit`. */
export async function costsOf(
  rows: RowResult[],
  fit: (steps: { name: string; ms: number; launches: Launches }[]) => Promise<CostFit>,
): Promise<Record<string, CostFit>> {
  const steps = new Map<string, { name: string; ms: number; launches: Launches }[]>();
  for (const { job, side, ms, prepared } of rows) {
    if (job.bench !== 'gpt' || ms.length === 0 || !prepared?.launches) continue;
    const list = steps.get(side) ?? steps.set(side, []).get(side)!;
    list.push({ name: job.preset.name, ms: median(ms), launches: prepared.launches });
  }
  const costs: Record<string, CostFit> = {};
  for (const [side, list] of steps) if (list.length >= 3) costs[side] = await fit(list);
  return costs;
}

function curveRow(row: RowResult, preset: Preset, base: RowResult | null, peak: number | null): CurveRow {
  const ms = row.ms.length ? spread(row.ms) : null;
  const tokens = preset.context * preset.batch;
  const flops = row.prepared?.flops ?? jobFlops(row.job);
  const gflops = ms ? (flops * 1e-6) / ms.median : 0;
  const other = base && base !== row && base.losses.length ? base : null;
  const differences = other
    ? row.losses.slice(0, other.losses.length).map((loss, i) => Math.abs(loss - other.losses[i]!) / other.losses[i]!)
    : [];
  const largest = Math.max(0, ...differences);
  const mean = differences.reduce((a, b) => a + b, 0) / Math.max(1, differences.length);
  const sameInputs =
    !other ||
    (other.prepared?.hashes.parameters === row.prepared?.hashes.parameters &&
      other.prepared?.hashes.batches === row.prepared?.hashes.batches);
  const within =
    (row.gradientReference === '' || row.gradientError! <= kMostGradientError) &&
    largest <= kMostLossDifference &&
    mean <= kMostMeanLossDifference &&
    sameInputs;
  return {
    preset: preset.name,
    target: row.side,
    parameters: row.prepared?.parameters ?? 0,
    flops,
    tokens,
    launches: row.prepared?.launches ?? [],
    setup_ms: row.prepared?.setup ?? 0,
    first_ms: row.prepared?.first ?? 0,
    ms,
    samples_ms: row.ms,
    tokens_per_s: ms ? (1000 * tokens) / ms.median : 0,
    gflops,
    of_peak: peak && ms ? gflops / peak : null,
    speedup: other && ms && other.ms.length ? ratioInterval(other.ms, row.ms) : null,
    parity: {
      gradient_error: row.gradientError,
      gradient_reference: row.gradientReference,
      loss_steps: differences.length,
      loss_largest: largest,
      loss_mean: mean,
    },
    parity_failed: !row.error && !within,
    parameters_hash: row.prepared?.hashes.parameters ?? '',
    batches_hash: row.prepared?.hashes.batches ?? '',
    losses: row.losses,
    error: row.error,
  };
}
