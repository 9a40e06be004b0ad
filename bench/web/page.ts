// The page of a browser benchmark: one worker per side, all alive at once; for each job they take turns, so that a machine
// that slows down does so for all. Reads config.json beside it and POSTs its Result.
import type { Job } from './jobs.ts';
import type { Answer, Calls, Prepared } from './messages.ts';
import type { About } from './side.ts';
import { median } from './stats.ts';

export interface SideConfig {
  /** "tabgrad wasm", … */
  id: string;
  worker: string;
  backend: string;
}
export interface Config {
  sides: SideConfig[];
  jobs: Job[];
  /** Of timing for each row at least, unless `steps` are there only later; and at most, whatever `steps` says. */
  seconds: number;
  mostSeconds: number;
  steps: number;
  /** Milliseconds without work before a turn: a peer's threads spin for a while after their last task. */
  pause: number;
  /** Steps whose losses are wanted, untimed ones after the timing if need be, for at most so many seconds a row. */
  lossSteps: number;
  lossSeconds: number;
  /** GPT presets whose gradients are held against the oracle, which takes minutes from medium up. */
  gradients: string[];
}

export interface SideResult {
  id: string;
  about: About | null;
  loadMs: number;
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
}
export interface Result {
  sides: SideResult[];
  rows: RowResult[];
  config: Config;
  /** "Chromium 156.0.8078.47" */
  browser: string;
  cores: number;
  isolated: boolean;
  /** The smallest step of performance.now() seen, in ms. */
  timerResolution: number;
}

const kTurnMs = 150;
const kWarmUps = 5;
const kLossesKept = 200; // BENCHMARKS §2: parity over 200 steps
const kPatienceMs = 300_000; // for one answer; compiling a large model takes a peer minutes

class RemoteSide {
  readonly worker: Worker;
  private next = 0;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  readonly config: SideConfig;
  constructor(config: SideConfig) {
    this.config = config;
    this.worker = new Worker(new URL(config.worker, location.href), { type: 'module', name: config.id });
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.waiting.get(data.id)?.(data);
    this.worker.onerror = (event) => {
      for (const [id, answer] of this.waiting) answer({ id, error: `worker: ${event.message}` });
    };
  }
  async call<K extends keyof Calls>(call: K, args: Calls[K][0]): Promise<Calls[K][1]> {
    const id = this.next++;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const answer = await new Promise<Answer>((done) => {
      this.waiting.set(id, done);
      timer = setTimeout(() => done({ id, error: `no answer for ${kPatienceMs / 1000} s` }), kPatienceMs);
      this.worker.postMessage({ id, call, args });
    });
    clearTimeout(timer);
    this.waiting.delete(id);
    if ('error' in answer) throw new Error(answer.error);
    return answer.value as Calls[K][1];
  }
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

function timerResolution(): number {
  const gaps: number[] = [];
  for (let last = performance.now(); gaps.length < 50;) {
    const now = performance.now();
    if (now > last) gaps.push(now - last);
    last = now;
  }
  return Math.min(...gaps);
}

async function runJob(job: Job, sides: RemoteSide[], config: Config): Promise<RowResult[]> {
  interface Row extends RowResult {
    remote: RemoteSide;
    repeats: number;
    estimate: number;
  }
  const rows: Row[] = sides.map((remote) => ({
    job,
    side: remote.config.id,
    error: '',
    prepared: null,
    ms: [],
    losses: [],
    gradientError: null,
    remote,
    repeats: 1,
    estimate: 0,
  }));
  const attempt = async (row: Row, what: () => Promise<void>) => {
    if (row.error) return;
    await what().catch((error) => {
      row.error = String(error?.message ?? error);
      console.log(`  ${row.side}: ${row.error}`);
    });
  };
  const turn = async (row: Row, count: number) => {
    const { ms, losses } = await row.remote.call('turn', { count, repeats: row.repeats });
    row.losses.push(...losses.slice(0, kLossesKept - row.losses.length));
    row.estimate = median(ms);
    return ms;
  };
  // What runs in a burst: a step of a train job, or as many products as fill about 5 ms, so that waiting for a GPU counts little.
  for (const row of rows)
    await attempt(row, async () => {
      row.prepared = await row.remote.call('prepare', { job });
      if (row.prepared.loss !== null) row.losses.push(row.prepared.loss);
      await turn(row, 1);
      for (let i = 2; i < kWarmUps && row.estimate < 2000; ++i) await turn(row, 1);
      if (job.bench === 'matmul') row.repeats = Math.max(1, Math.round(5 / Math.max(row.estimate, 1e-3)));
      await turn(row, 1);
    });
  const done = (row: Row) => {
    const seconds = (sum(row.ms) * row.repeats) / 1000;
    return (row.ms.length >= config.steps && seconds >= config.seconds) || seconds >= config.mostSeconds;
  };
  while (rows.some((row) => !row.error && !done(row)))
    for (const row of rows) {
      if (row.error || done(row)) continue;
      await attempt(row, async () => {
        if (rows.length > 1) await sleep(config.pause);
        const count = Math.min(400, Math.max(1, Math.round(kTurnMs / (row.estimate * row.repeats))));
        if (count > 1) await turn(row, Math.ceil(count / 10)); // untimed: threads wake, clocks rise
        row.ms.push(...(await turn(row, count)));
      });
    }
  for (const row of rows)
    await attempt(row, async () => {
      const start = performance.now();
      while (
        job.bench !== 'matmul' &&
        row.losses.length < config.lossSteps &&
        performance.now() - start < 1000 * config.lossSeconds
      )
        await turn(row, Math.max(1, Math.round(kTurnMs / row.estimate)));
      if (job.bench === 'gpt' && config.gradients.includes(job.preset.name))
        row.gradientError = await row.remote.call('gradientError', {});
    });
  for (const row of rows) await row.remote.call('free', {}).catch(() => {});
  return rows.map(({ remote: _, repeats: __, estimate: ___, ...row }) => row);
}

/** Chromium gives its full version on request only. */
async function browserName(): Promise<string> {
  interface Hints {
    getHighEntropyValues(names: string[]): Promise<{ fullVersionList?: { brand: string; version: string }[] }>;
  }
  const hints = (navigator as unknown as { userAgentData?: Hints }).userAgentData;
  const list = (await hints?.getHighEntropyValues(['fullVersionList']))?.fullVersionList ?? [];
  const named = list.find(({ brand }) => /chrom/i.test(brand));
  return named ? `${named.brand} ${named.version}` : navigator.userAgent;
}

async function main(): Promise<Result> {
  const config = (await (await fetch('config.json')).json()) as Config;
  const result: Result = {
    sides: [],
    rows: [],
    config,
    browser: await browserName(),
    cores: navigator.hardwareConcurrency,
    isolated: crossOriginIsolated,
    timerResolution: timerResolution(),
  };
  const sides: RemoteSide[] = [];
  for (const side of config.sides) {
    const remote = new RemoteSide(side);
    try {
      const { about, ms } = await remote.call('load', { backend: side.backend });
      sides.push(remote);
      result.sides.push({ id: side.id, about, loadMs: ms, error: '' });
      console.log(`${side.id}: ${about.library} ${about.version}, ${about.threads} threads, ${about.device}`);
    } catch (error) {
      remote.worker.terminate();
      result.sides.push({ id: side.id, about: null, loadMs: 0, error: String(error) });
      console.log(`${side.id}: ${error}`);
    }
  }
  for (const job of config.jobs) {
    const rows = await runJob(job, sides, config);
    result.rows.push(...rows);
    for (const row of rows)
      if (!row.error)
        console.log(
          `${row.side}: ${JSON.stringify(job)} ${median(row.ms).toFixed(3)} ms, n ${row.ms.length}, ` +
            `first ${row.prepared?.first.toFixed(0)} ms, loss ${row.losses.slice(0, 3).join(' ')} error ${row.prepared?.error}`,
        );
  }
  return result;
}

const post = (value: unknown) => fetch('/__result', { method: 'POST', body: JSON.stringify(value) });
main().then(post, (error) => post({ failed: String(error?.stack ?? error) }));
