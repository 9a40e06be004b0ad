// The page of a browser benchmark: one worker per side, all alive at once, that take turns; or the launches of one side. Reads
// config.json beside it and POSTs its Result.
import { costsOf } from '../../packages/tabgrad/src/bench/curve.ts';
import type { SideCalls } from '../../packages/tabgrad/src/bench/protocol.ts';
import { measureDispatch, type OwnRemote, ownRemote } from '../../packages/tabgrad/src/bench/remote.ts';
import { median } from '../../packages/tabgrad/src/bench/stats.ts';
import {
  browserName,
  loadSide,
  type RemoteSide,
  runJob,
  timerResolution,
} from '../../packages/tabgrad/src/bench/turns.ts';
import { type Config, kOwnWorker, type Result, type SideConfig } from './config.ts';
import type { Answer } from './messages.ts';

const kPatienceMs = 300_000; // for one answer; compiling a large model takes a peer minutes

/** A peer in its worker. */
class PeerSide implements RemoteSide {
  readonly id: string;
  readonly #worker: Worker;
  #next = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  constructor({ id, worker }: SideConfig) {
    this.id = id;
    this.#worker = new Worker(new URL(worker, location.href), { type: 'module', name: id });
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#waiting.get(data.id)?.(data);
    this.#worker.onerror = (event) => {
      for (const [id, answer] of this.#waiting) answer({ id, error: `worker: ${event.message}` });
    };
  }

  async call<K extends keyof SideCalls>(call: K, args: SideCalls[K][0]): Promise<SideCalls[K][1]> {
    const id = this.#next++;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const answer = await new Promise<Answer>((done) => {
      this.#waiting.set(id, done);
      timer = setTimeout(() => done({ id, error: `no answer for ${kPatienceMs / 1000} s` }), kPatienceMs);
      this.#worker.postMessage({ id, call, args });
    });
    clearTimeout(timer);
    this.#waiting.delete(id);
    if ('error' in answer) throw new Error(answer.error);
    return answer.value as SideCalls[K][1];
  }

  end(): void {
    this.#worker.terminate();
  }
}

const isOwn = (side: RemoteSide): side is OwnRemote => 'engine' in side;

function remoteOf(config: SideConfig): RemoteSide {
  if (config.worker !== kOwnWorker) return new PeerSide(config);
  const worker = new Worker(new URL(config.worker, location.href), { type: 'module', name: config.id });
  return ownRemote(config.id, config.backend, worker);
}

async function main(): Promise<Result> {
  const config = (await (await fetch('config.json')).json()) as Config;
  const result: Result = {
    sides: [],
    rows: [],
    costs: {},
    dispatch: null,
    config,
    browser: await browserName(),
    cores: navigator.hardwareConcurrency,
    isolated: crossOriginIsolated,
    timerResolution: timerResolution(),
  };
  const sides: RemoteSide[] = [];
  for (const side of config.sides) {
    const remote = remoteOf(side);
    const loaded = await loadSide(remote, side.backend, config.peakSeconds);
    result.sides.push(loaded);
    if (!loaded.error) sides.push(remote);
    const { about } = loaded;
    console.log(
      `${side.id}: ${about ? `${about.library} ${about.version}, ${about.threads} threads, ${about.device}` : loaded.error}`,
    );
  }
  const [first] = sides;
  if (config.dispatch && first && isOwn(first))
    result.dispatch = await measureDispatch(first, config.dispatch, result.sides[0]!.about!.software, (doing) =>
      console.log(doing),
    );
  for (const job of config.jobs) {
    const rows = await runJob(job, sides, config, {
      say: (line) => console.log(`  ${line}`),
      stopped: () => false,
    });
    result.rows.push(...rows);
    for (const row of rows)
      if (!row.error)
        console.log(
          `${row.side}: ${JSON.stringify(job)} ${median(row.ms).toFixed(3)} ms, n ${row.ms.length}, ` +
            `first ${row.prepared?.first.toFixed(0)} ms, loss ${row.losses.slice(0, 3).join(' ')} error ${row.prepared?.error}`,
        );
  }
  const own = sides.find(isOwn);
  if (own) result.costs = await costsOf(result.rows, (steps) => own.engine.call('bench.fit', { steps }));
  return result;
}

const post = (value: unknown) => fetch('/__result', { method: 'POST', body: JSON.stringify(value) });
main().then(post, (error) => post({ failed: String(error?.stack ?? error) }));
