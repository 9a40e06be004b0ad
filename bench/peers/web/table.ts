// Rows of the peers' comparison with their checks, and the table printed for people.
import { jobFlops, jobName } from '../../../packages/tabgrad/src/bench/jobs.ts';
import type { RowResult } from '../../../packages/tabgrad/src/bench/turns.ts';
import type { Measured } from '../../web/run.ts';
import { ratioInterval, spread, type Spread } from '../../../packages/tabgrad/src/bench/stats.ts';

/** Two sides did the same work if their losses agree this closely over the first steps, relative. */
const kLossTolerance = 1e-4;
const kLossSteps = 5;
/** Error of a product's element relative to Σ|a·b|: far above any order of adding up in f32, far below a wrong element. */
const kProductTolerance = 1e-5;

export interface Row {
  bench: string;
  name: string;
  side: string;
  flops: number;
  ms: Spread | null;
  gflops: number;
  setup_ms: number;
  first_ms: number;
  parameters: number;
  parameters_hash: string;
  batches_hash: string;
  losses: number[];
  /** Largest relative difference of the first losses to the first side's; of a product, its error. */
  difference: number;
  disagrees: boolean;
  error: string;
  /** Time over the first side's, with a bootstrap 95 % interval; absent on the first side. */
  over_first?: { ratio: number; low: number; high: number };
}

export function rowsOf(measured: Measured): Row[] {
  const first = new Map<string, RowResult>();
  return measured.rows.map((row): Row => {
    const name = jobName(row.job);
    const key = `${row.job.bench} ${name}`;
    const reference = first.get(key) ?? row;
    if (!row.error && !first.has(key)) first.set(key, row);
    const flops = jobFlops(row.job);
    const ms = row.ms.length ? spread(row.ms) : null;
    const product = row.job.bench === 'matmul';
    const difference = product ? (row.prepared?.error ?? NaN) : lossDifference(row.losses, reference.losses);
    const same =
      difference <= (product ? kProductTolerance : kLossTolerance) &&
      row.prepared?.hashes.parameters === reference.prepared?.hashes.parameters &&
      row.prepared?.hashes.batches === reference.prepared?.hashes.batches;
    return {
      bench: row.job.bench,
      name,
      side: row.side,
      flops,
      ms,
      gflops: ms ? (flops * 1e-6) / ms.median : 0,
      setup_ms: row.prepared?.setup ?? 0,
      first_ms: row.prepared?.first ?? 0,
      parameters: row.prepared?.parameters ?? 0,
      parameters_hash: row.prepared?.hashes.parameters ?? '',
      batches_hash: row.prepared?.hashes.batches ?? '',
      losses: row.losses.slice(0, 10),
      difference,
      disagrees: !row.error && !same,
      error: row.error,
      ...(reference !== row && row.ms.length && { over_first: ratioInterval(row.ms, reference.ms) }),
    };
  });
}

function lossDifference(losses: number[], reference: number[]): number {
  const steps = Math.min(kLossSteps, losses.length, reference.length);
  if (steps === 0) return NaN;
  return Math.max(...losses.slice(0, steps).map((loss, i) => Math.abs(loss - reference[i]!) / Math.abs(reference[i]!)));
}

export function table(
  rows: Row[],
  { sides, browser, cpu, cores, isolated, timerResolution, load, date }: Measured,
): string {
  const out = [
    `${browser}, ${cpu}, ${cores} cores, ${isolated ? 'cross-origin isolated' : 'not isolated: one thread'}, ` +
      `timer ${(timerResolution * 1000).toFixed(0)} µs, load before ${load ? load[0].toFixed(2) : 'unknown'}, ${date}`,
  ];
  for (const { id, about, error } of sides) {
    const device = about && `${about.device}${about.software ? ' (SOFTWARE GPU: not a GPU figure)' : ''}`;
    out.push(`- ${id}: ${about ? `${about.library} ${about.version}, ${about.threads} threads, ${device}` : error}`);
  }
  out.push(
    '',
    '| job | side | median ms | p10 | p90 | n | GFLOP/s | time over first | agrees |',
    '|---|---|---|---|---|---|---|---|---|',
  );
  for (const row of rows) {
    const ratio = row.over_first;
    const cells = row.ms
      ? [
          ...[row.ms.median, row.ms.p10, row.ms.p90].map((t) => t.toPrecision(3)),
          row.ms.n,
          row.gflops.toFixed(1),
          ratio ? `${ratio.ratio.toFixed(2)} [${ratio.low.toFixed(2)}, ${ratio.high.toFixed(2)}]` : '1',
          `${row.disagrees ? '**NO** ' : ''}${row.difference.toExponential(0)}`,
        ]
      : [row.error.split('\n')[0], '', '', '', '', '', ''];
    out.push(`| ${row.bench} ${row.name} | ${row.side} | ${cells.join(' | ')} |`);
  }
  return out.join('\n');
}
