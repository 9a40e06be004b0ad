// A worker of tabgrad's as a side of a benchmark, and what only such a side can be asked: what launches cost on it.
import { createEngine, type Engine } from '../client.ts';
import type { CallName, Calls } from '../protocol.ts';
import type { BuildName } from '../wasm/features.ts';
import type { CurveTarget, ResultHead } from './curve.ts';
import type { Preset } from './jobs.ts';
import type { AblationRow, BenchCalls, DispatchRow } from './protocol.ts';
import type { About } from './side.ts';
import type { RemoteSide } from './turns.ts';

export interface OwnRemote extends RemoteSide {
  engine: Engine;
}

/** backend: 'wasm' for the build that the package would choose here, 'wasm-threads', 'wasm-relaxed', 'wasm-single', 'webgpu', 'webgl'. */
export function ownRemote(id: string, backend: string, worker?: Worker): OwnRemote {
  const engine = createEngine(worker);
  const gpu = backend === 'webgpu' || backend === 'webgl';
  // On a GPU the engine only hands calls on, for which threads are of no use.
  const build = gpu ? 'single' : (backend.split('-')[1] as BuildName | undefined);
  let started: Promise<unknown> | null = null;
  return {
    id,
    engine,
    async call(call, args) {
      started ??= engine.call('init', { threads: 0, autosaveSeconds: 3600, ...(build && { build }) });
      await started;
      const sent = call === 'load' ? { backend: gpu ? backend : 'wasm' } : args;
      const name = `bench.${call}` as CallName;
      return (await engine.call(name, sent as Calls[typeof name][0])) as never;
    },
    end: () => engine.terminate(),
  };
}

export interface DispatchPlan {
  /** Of the launch that is waited for, and of the other methods. */
  repeats: number;
  rounds: number;
  /** Whose train and decode steps are run with parts of the fusing. */
  preset: Preset;
  /** Of replay, and of each of those. */
  seconds: number;
}

export interface DispatchMeasured {
  rows: DispatchRow[];
  replay: BenchCalls['bench.replay'][1];
  ablation: AblationRow[];
}

/** quick: see bench.ablation. say: hears what is done next. Rejects where the side has no WebGPU. */
export async function measureDispatch(
  { engine }: OwnRemote,
  { repeats, rounds, preset, seconds }: DispatchPlan,
  quick: boolean,
  say: (doing: string) => void,
): Promise<DispatchMeasured> {
  const device = 'webgpu';
  say('Single launches …');
  const rows = await engine.call('bench.dispatch', { repeats, rounds });
  say('Replaying a Program …');
  const replay = await engine.call('bench.replay', { device, seconds });
  say('Train and decode steps with parts of the fusing …');
  const ablation = await engine.call('bench.ablation', { device, preset, seconds, quick });
  return { rows, replay, ablation };
}

/** The result: what `tabgrad bench dispatch` (src/cli/bench/dispatch.cc) writes too; its schema is in bench/README.md. */
export interface Dispatch extends ResultHead {
  schema: 'tabgrad-dispatch/2';
  targets: Pick<CurveTarget, 'id' | 'about'>[];
  timer: string;
  kernel: string;
  rows: DispatchRow[];
  single_op_over_sequential: number;
  replay: DispatchMeasured['replay'];
  ablation: { preset: string; rows: AblationRow[] };
}

export function dispatchOf(head: ResultHead, about: About, preset: Preset, measured: DispatchMeasured): Dispatch {
  const { rows, replay, ablation } = measured;
  const [single, sequential] = rows;
  return {
    schema: 'tabgrad-dispatch/2',
    ...head,
    targets: [{ id: 'webgpu', about }],
    timer: 'performance.now()',
    kernel: 'data[i] += 1 on 256 f32, workgroup 64',
    rows,
    single_op_over_sequential: single!.us_median / sequential!.us_median,
    replay,
    ablation: { preset: preset.name, rows: ablation },
  };
}
