// Takes turns among the sides of a benchmark: one worker per side, all alive at once, so that a machine that slows down does so for
// all. Runs in a page; the workers do all computing.
import type { Job } from './jobs.ts';
import type { Peak, Prepared, SideCalls } from './protocol.ts';
import type { About } from './side.ts';
import { median } from './stats.ts';

/** A side as the page sees it. */
export interface RemoteSide {
  id: string;
  call<K extends keyof SideCalls>(call: K, args: SideCalls[K][0]): Promise<SideCalls[K][1]>;
  end(): void;
}

export interface Timing {
  /** Of timing for each row at least, unless `steps` are there only later; and at most, whatever `steps` says. */
  seconds: number;
  mostSeconds: number;
  steps: number;
  /** Milliseconds without work before a turn: a peer's threads spin for a while after their last task. */
  pause: number;
  /** Steps whose losses are wanted, untimed ones after the timing if need be, for at most so many seconds a row. */
  lossSteps: number;
  lossSeconds: number;
  /** GPT presets whose gradients are held against the double-precision oracle, which takes minutes from medium up. */
  oracle: string[];
  /** GPT presets whose gradients are held against the first side's otherwise. */
  gradients: string[];
}

export interface SideResult {
  id: string;
  about: About | null;
  load_ms: number;
  peak: Peak | null;
  error: string;
}
export interface RowResult {
  job: Job;
  side: string;
  /** Why there are no times; '' when there are. */
  error: string;
  prepared: Prepared | null;
  /** Timed runs, in order. */
  ms: number[];
  /** Losses of the first steps, untimed ones included. */
  losses: number[];
  gradientError: number | null;
  /** 'oracle', or the side whose gradients they were held against; '' where nobody looked. */
  gradientReference: string;
}

export interface Hooks {
  /** A line for people. */
  say(line: string): void;
  /** Asked between turns: true ends the job as it is. */
  stopped(): boolean;
}

const kTurnMs = 150;
const kWarmUps = 5;
const kLossesKept = 200; // BENCHMARKS §2: parity over 200 steps
const kSlowMs = 2000; // a step that long is not warmed up further
const kBurstMs = 5; // of products, so that waiting for a GPU counts little

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
const textOf = (error: unknown) => String(error instanceof Error ? error.message : error);

/** Loads a side, and measures what it does at most (seconds 0, or a software GPU, which takes minutes for it: not). */
export async function loadSide(side: RemoteSide, backend: string, peakSeconds: number): Promise<SideResult> {
  try {
    const { about, ms } = await side.call('load', { backend });
    const peak = peakSeconds > 0 && !about.software ? await side.call('peak', { seconds: peakSeconds }) : null;
    return { id: side.id, about, load_ms: ms, peak, error: '' };
  } catch (error) {
    side.end();
    return { id: side.id, about: null, load_ms: 0, peak: null, error: textOf(error) };
  }
}

export async function runJob(job: Job, sides: RemoteSide[], timing: Timing, hooks: Hooks): Promise<RowResult[]> {
  interface Row extends RowResult {
    remote: RemoteSide;
    repeats: number;
    estimate: number;
  }
  const rows: Row[] = sides.map((remote) => ({
    job,
    side: remote.id,
    error: '',
    prepared: null,
    ms: [],
    losses: [],
    gradientError: null,
    gradientReference: '',
    remote,
    repeats: 1,
    estimate: 0,
  }));
  const attempt = async (row: Row, what: () => Promise<void>) => {
    if (row.error) return;
    await what().catch((error) => {
      row.error = textOf(error);
      hooks.say(`${row.side}: ${row.error}`);
    });
  };
  const turn = async (row: Row, count: number) => {
    const { ms, losses } = await row.remote.call('turn', { count, repeats: row.repeats });
    row.losses.push(...losses.slice(0, kLossesKept - row.losses.length));
    row.estimate = Math.max(median(ms), 1e-3);
    return ms;
  };
  const countFor = (row: Row) => Math.min(400, Math.max(1, Math.round(kTurnMs / (row.estimate * row.repeats))));
  for (const row of rows)
    await attempt(row, async () => {
      row.prepared = await row.remote.call('prepare', { job });
      if (row.prepared.loss !== null) row.losses.push(row.prepared.loss);
      await turn(row, 1);
      for (let i = 2; i < kWarmUps && row.estimate < kSlowMs; ++i) await turn(row, 1);
      if (job.bench === 'matmul') row.repeats = Math.max(1, Math.round(kBurstMs / row.estimate));
      await turn(row, 1);
    });
  const done = (row: Row) => {
    const seconds = (sum(row.ms) * row.repeats) / 1000;
    return (row.ms.length >= timing.steps && seconds >= timing.seconds) || seconds >= timing.mostSeconds;
  };
  while (rows.some((row) => !row.error && !done(row)) && !hooks.stopped())
    for (const row of rows) {
      if (row.error || done(row)) continue;
      await attempt(row, async () => {
        if (rows.length > 1) await sleep(timing.pause);
        const count = countFor(row);
        if (count > 1) await turn(row, Math.ceil(count / 10)); // untimed: threads wake, clocks rise
        row.ms.push(...(await turn(row, count)));
      });
    }
  for (const row of rows)
    await attempt(row, async () => {
      const start = performance.now();
      const late = () => performance.now() - start > 1000 * timing.lossSeconds || hooks.stopped();
      while (job.bench !== 'matmul' && row.losses.length < timing.lossSteps && !late()) await turn(row, countFor(row));
    });
  if (job.bench === 'gpt' && !hooks.stopped()) {
    const exact = timing.oracle.includes(job.preset.name);
    if (exact || timing.gradients.includes(job.preset.name)) await compareGradients(rows, exact, attempt);
  }
  for (const row of rows) await row.remote.call('free', {}).catch(() => {});
  return rows.map(({ remote: _, repeats: __, estimate: ___, ...row }) => row);
}

/** exact: against the first side's oracle, else against its gradients. */
async function compareGradients<Row extends RowResult & { remote: RemoteSide }>(
  rows: Row[],
  exact: boolean,
  attempt: (row: Row, what: () => Promise<void>) => Promise<void>,
): Promise<void> {
  let reference: Float64Array[] | null = null;
  for (const row of rows)
    await attempt(row, async () => {
      if (exact) reference ??= await row.remote.call('gradients', { exact });
      const got = await row.remote.call('gradients', { exact: false });
      if (!got) return;
      if (!reference) {
        reference = got;
        return;
      }
      row.gradientError = gradientDistance(got, reference);
      row.gradientReference = exact ? 'oracle' : rows[0]!.side;
    });
}

/** The largest ‖Δ‖ / max(‖g‖, 1e-6·‖all g‖) over the parameters; NaN where any is. */
export function gradientDistance(got: Float64Array[], reference: Float64Array[]): number {
  const norm = (values: Float64Array) => Math.sqrt(values.reduce((total, g) => total + g * g, 0));
  const all = Math.hypot(...reference.map(norm));
  let worst = 0;
  for (const [i, exact] of reference.entries()) {
    const difference = norm(exact.map((g, j) => got[i]![j]! - g));
    const ratio = difference / Math.max(norm(exact), 1e-6 * all);
    if (Number.isNaN(ratio)) return ratio;
    worst = Math.max(worst, ratio);
  }
  return worst;
}

/** The smallest step of performance.now() seen, in ms. */
export function timerResolution(): number {
  const gaps: number[] = [];
  for (let last = performance.now(); gaps.length < 50;) {
    const now = performance.now();
    if (now > last) gaps.push(now - last);
    last = now;
  }
  return Math.min(...gaps);
}

/** "Chromium 156.0.8078.47": Chromium gives its full version on request only. */
export async function browserName(): Promise<string> {
  interface Hints {
    getHighEntropyValues(names: string[]): Promise<{ fullVersionList?: { brand: string; version: string }[] }>;
  }
  const hints = (navigator as unknown as { userAgentData?: Hints }).userAgentData;
  const list = (await hints?.getHighEntropyValues(['fullVersionList']))?.fullVersionList ?? [];
  const named = list.find(({ brand }) => /chrom/i.test(brand));
  if (named) return `${named.brand} ${named.version}`;
  return /(Firefox|Version)\/[\d.]+/.exec(navigator.userAgent)?.[0].replace('/', ' ') ?? navigator.userAgent;
}
