// How long a run will take, foretold before its first step: by a measurement of this device of a few seconds, and the cost model.
//
// Does: measures each device once a visit, the planned run on each, and which size can be trained in a while. Does not: measure while a
// run is under way (settings/plan.ts asks only then when none is).

import { signal } from '@preact/signals';
import { deviceChoice } from '../../../engine/device';
import { call, engineState } from '../../../engine/engine';
import type { Cost, DeepPartial, Device, LmPlan, LmSettings } from '../../../engine/types';

export interface Foretold {
  device: Device;
  /** Of the planned run. */
  seconds: number;
  /** The largest size whose steps are done in kSoonSeconds. */
  size: { preset: string; device: Device; seconds: number } | null;
}

/** null: nothing can be said before the first steps. */
export const foretold = signal<Foretold | 'measuring' | null>(null);

/** Of measuring, all devices together. */
const kCalibrationSeconds = 4;
export const kSoonSeconds = 600;
/** Larger ones take long to plan, and no browser trains them soon. */
const kSizes = ['tiny', 'small', 'medium', 'large', 'xl'];

const costs = new Map<Device, Promise<Cost>>();

/** Where the run may be computed: what was chosen, or the CPU and the best GPU that is one. */
export function candidates(): Device[] {
  const now = engineState.peek();
  const choice = deviceChoice.peek();
  if (now.state !== 'ready') return [];
  if (choice !== 'auto') return [choice];
  const gpu = now.info.gpus.find(({ software }) => !software);
  return gpu ? ['wasm', gpu.device] : ['wasm'];
}

let latest = 0;

export async function foretell(
  plan: LmPlan,
  args: { settings: DeepPartial<LmSettings>; from: boolean },
): Promise<void> {
  const mine = ++latest;
  const devices = candidates();
  foretold.value = 'measuring';
  try {
    const known: Partial<Record<Device, Cost>> = {};
    for (const device of devices) {
      const seconds = kCalibrationSeconds / devices.length;
      if (!costs.has(device)) costs.set(device, call('bench.calibrate', { device, seconds }));
      known[device] = await costs.get(device)!;
    }
    let best: { device: Device; seconds: number } | null = null;
    for (const device of devices) {
      if (mine !== latest) return;
      const { launches } = device === 'wasm' ? plan : await call('lm.plan', { ...args, device });
      const ms = await call('bench.predict', { cost: known[device]!, launches });
      const seconds = (plan.steps * ms) / 1000;
      if (!best || seconds < best.seconds) best = { device, seconds };
    }
    const { steps } = plan;
    const advice = await call('bench.foretell', { devices: known, presets: kSizes, steps, seconds: kSoonSeconds });
    if (mine === latest && best) foretold.value = { ...best, size: advice.best };
  } catch {
    if (mine === latest) foretold.value = null;
  }
}
