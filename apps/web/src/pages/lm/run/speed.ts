// How fast this device trained lately, to foretell how long a run will take before its first step.

import { signal } from '@preact/signals';
import type { Device, LmPlan, LmRunFacts } from '../../../engine/types';

const kKey = 'tabgrad-lm-flops-per-second';

type Speeds = Partial<Record<Device, number>>;

function stored(): Speeds {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(kKey) ?? '{}');
    return value && typeof value === 'object' ? (value as Speeds) : {};
  } catch {
    return {}; // no storage, or not ours
  }
}

export const speeds = signal<Speeds>(stored());

export function keepSpeed({ device, flopsPerStep }: LmRunFacts, stepsPerSecond: number): void {
  const speed = flopsPerStep * stepsPerSecond;
  if (!(speed > 0)) return;
  speeds.value = { ...speeds.peek(), [device]: speed };
  try {
    localStorage.setItem(kKey, JSON.stringify(speeds.peek()));
  } catch {
    // It is then known until this page is closed.
  }
}

/** Null while nothing is known about the device. */
export function secondsFor(plan: LmPlan, device: Device, known: Speeds): number | null {
  const speed = known[device];
  return typeof speed === 'number' && speed > 0 ? (plan.steps * plan.flopsPerStep) / speed : null;
}
