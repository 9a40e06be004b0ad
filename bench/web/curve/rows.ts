// The curve's result: rows with speedups, rates and parity out of what the page measured. Its schema, tabgrad-curve/1, is
// described in bench/README.md; a change of meaning gets a new number.
import { jobFlops, jobName, type Preset } from '../jobs.ts';
import type { RowResult, SideResult } from '../page.ts';
import type { Measured } from '../run.ts';
import { ratioInterval, spread, type Spread } from '../stats.ts';

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

export interface Curve {
  schema: 'tabgrad-curve/1';
  date: string;
  step: string;
  baseline: string;
  cpu: string;
  cores: number;
  browser: string;
  isolated: boolean;
  timer_resolution_ms: number;
  gpu: Measured['gpu'];
  /** One-minute load average before and after; null where it is not known. */
  load: [number, number] | null;
  /** Requests that tried to leave the machine, all refused; null where nobody watched. */
  outside: string[] | null;
  targets: (SideResult & { peak_gflops: number | null })[];
  rows: CurveRow[];
}

const kStep = 'batch uploaded, forward, cross-entropy, backward, clip by global norm 1.0, AdamW, loss on the host; f32';

export function curveOf(measured: Measured): Curve {
  const baseline = measured.config.sides[0]!.id;
  const peaks = new Map<string, number>();
  for (const { job, side, ms } of measured.rows)
    if (job.bench === 'matmul' && ms.length) peaks.set(side, (jobFlops(job) * 1e-6) / spread(ms).median);
  const gpt = measured.rows.filter((row) => row.job.bench === 'gpt');
  return {
    schema: 'tabgrad-curve/1',
    date: measured.date,
    step: kStep,
    baseline,
    cpu: measured.cpu,
    cores: measured.cores,
    browser: measured.browser,
    isolated: measured.isolated,
    timer_resolution_ms: measured.timerResolution,
    gpu: measured.gpu,
    load: measured.load,
    outside: measured.outside,
    targets: measured.sides.map((side) => ({ ...side, peak_gflops: peaks.get(side.id) ?? null })),
    rows: gpt.map((row) => {
      const name = jobName(row.job);
      const base = gpt.find((other) => other.side === baseline && jobName(other.job) === name);
      return curveRow(row, (row.job as { preset: Preset }).preset, base ?? null, peaks.get(row.side) ?? null);
    }),
  };
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
    (row.gradientError ?? 0) <= kMostGradientError &&
    largest <= kMostLossDifference &&
    mean <= kMostMeanLossDifference &&
    sameInputs;
  return {
    preset: preset.name,
    target: row.side,
    parameters: row.prepared?.parameters ?? 0,
    flops,
    tokens,
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

export function curveTable(curve: Curve): string {
  const out = [
    `${curve.browser}, ${curve.cpu}, ${curve.cores} cores, timer ${(curve.timer_resolution_ms * 1000).toFixed(0)} µs, ` +
      `load before ${curve.load ? curve.load[0].toFixed(2) : 'unknown'}, ${curve.date}`,
    `step: ${curve.step}; baseline: ${curve.baseline}`,
  ];
  for (const { id, about, error, peak_gflops: peak } of curve.targets) {
    const device = about && `${about.device}${about.software ? ' (SOFTWARE GPU: not a GPU figure)' : ''}`;
    out.push(`- ${id}: ${about ? `${device}, peak ${peak ? `${peak.toFixed(1)} GFLOP/s` : 'not measured'}` : error}`);
  }
  const columns = ['preset', 'target', 'median ms', 'p10', 'p90', 'n', 'GFLOP/s', 'of peak', 'speedup [95 %]'];
  columns.push('gradients', 'loss: largest, mean (steps)');
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  out.push('', line(columns), line(columns.map(() => '---')));
  for (const row of curve.rows) {
    const software = curve.targets.find((target) => target.id === row.target)?.about?.software;
    const { gradient_error: gradient, loss_steps: steps, loss_largest: largest, loss_mean: mean } = row.parity;
    const speedup = row.speedup;
    const ratio = speedup && `${speedup.ratio.toFixed(2)} [${speedup.low.toFixed(2)}, ${speedup.high.toFixed(2)}]`;
    const cells = row.ms
      ? [
          ...[row.ms.median, row.ms.p10, row.ms.p90].map((t) => t.toPrecision(3)),
          row.ms.n,
          row.gflops.toFixed(1),
          row.of_peak ? `${(100 * row.of_peak).toFixed(0)} %` : '–',
          software ? 'software GPU' : (ratio ?? 'baseline'),
          gradient === null ? '–' : gradient.toExponential(1),
          `${row.parity_failed ? '**FAILED** ' : ''}${steps ? `${largest.toExponential(1)}, ${mean.toExponential(1)} (${steps})` : '–'}`,
        ]
      : [row.error.split('\n')[0]!, ...columns.slice(3).map(() => '')];
    out.push(line([row.preset, row.target, ...cells]));
  }
  return out.join('\n');
}
