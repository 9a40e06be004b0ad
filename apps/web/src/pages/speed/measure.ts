// The measuring of this browser: which targets and sizes, within two minutes; its progress and its result as signals.
//
// Does: starts one worker for each target, lets them take turns, ends them. Does not: draw, or keep anything.

import { signal } from '@preact/signals';
import {
  browserHead,
  costsOf,
  type Curve,
  curveOf,
  kPresets,
  loadSide,
  type OwnRemote,
  ownRemote,
  type RowResult,
  runJob,
  type SideResult,
  type Timing,
} from 'tabgrad/bench';
import { textOf } from '../../engine/engine';

export interface Plan extends Timing {
  targets: string[];
  presets: string[];
  peakSeconds: number;
  /** No further size is begun when it is not likely to be done by then. */
  budgetSeconds: number;
}

export const kPlan: Plan = {
  targets: ['wasm', 'wasm-single', 'webgpu', 'webgl'],
  presets: ['tiny', 'small', 'medium', 'large', 'xl'],
  seconds: 1,
  mostSeconds: 4,
  steps: 30,
  pause: 20,
  lossSteps: 200,
  lossSeconds: 3,
  oracle: [],
  gradients: ['tiny', 'small', 'medium', 'large', 'xl'],
  peakSeconds: 0.2,
  budgetSeconds: 110,
};
/** A size takes this many times as long as the one before it, at most: its FLOPs grow by 1.5 to 10. */
const kGrowth = 2;

export type Measuring =
  | { state: 'idle' }
  | { state: 'measuring'; part: number; doing: string }
  | { state: 'done'; curve: Curve }
  | { state: 'failed'; error: string };

export const measuring = signal<Measuring>({ state: 'idle' });

let stopped = false;
export function stop(): void {
  stopped = true;
}

export async function measure(plan: Plan): Promise<void> {
  if (measuring.peek().state === 'measuring') return;
  stopped = false;
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  const say = (doing: string) => {
    measuring.value = { state: 'measuring', part: Math.min(0.99, seconds() / plan.budgetSeconds), doing };
  };
  const remotes: OwnRemote[] = [];
  try {
    const sides: SideResult[] = [];
    for (const target of plan.targets) {
      if (stopped) break;
      say(`Starting ${target} …`);
      const remote = ownRemote(target, target);
      const side = await loadSide(remote, target, plan.peakSeconds);
      sides.push(side);
      if (!side.error) remotes.push(remote);
    }
    const results: RowResult[] = [];
    let last = 0;
    for (const preset of kPresets.filter(({ name }) => plan.presets.includes(name))) {
      if (stopped || remotes.length === 0 || seconds() + kGrowth * last > plan.budgetSeconds) break;
      say(`Training steps of ${preset.name} …`);
      const begun = seconds();
      const hooks = {
        say: (line: string) => say(`${preset.name}: ${line}`),
        stopped: () => {
          say(`Training steps of ${preset.name} …`);
          return stopped || seconds() > 1.5 * plan.budgetSeconds;
        },
      };
      const able = results.length === 0 ? remotes : remotes.filter(({ id }) => !isSoftware(id, sides));
      results.push(...(await runJob({ bench: 'gpt', preset }, able, plan, hooks)));
      last = seconds() - begun;
    }
    if (results.every((row) => row.ms.length === 0)) {
      const reasons = [...sides, ...results].map(({ error }) => error).filter(Boolean);
      throw new Error(stopped ? 'Stopped before anything was measured.' : (reasons[0] ?? 'Nothing could be measured.'));
    }
    say('Fitting …');
    const costs = await costsOf(results, (steps) => remotes[0]!.engine.call('bench.fit', { steps }));
    const head = await browserHead(gpuOf(sides));
    measuring.value = { state: 'done', curve: curveOf(head, sides, results, costs) };
  } catch (error) {
    measuring.value = { state: 'failed', error: textOf(error) };
  } finally {
    for (const remote of remotes) remote.end();
  }
}

/** A software GPU shows at the smallest size that it works; more would only use up the time. */
const isSoftware = (id: string, sides: SideResult[]) => sides.find((side) => side.id === id)?.about?.software === true;

function gpuOf(sides: SideResult[]): 'none' | 'software' | 'hardware' {
  const gpus = sides.filter(({ about }) => about && about.backend !== 'wasm');
  if (gpus.length === 0) return 'none';
  return gpus.some(({ about }) => about!.software) ? 'software' : 'hardware';
}
