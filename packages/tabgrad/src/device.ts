// Which device a run uses: the GPU through WebGPU or else WebGL2, or the CPU through WebAssembly, and why.
//
// Does: decides from what is known before the first step. Does not: measure. Switching in the middle of a run is the run's
// (forecast/run.ts), and only after the GPU was lost twice.

import type { DeviceChoice, DeviceUse, GpuInfo, RuntimeInfo } from './protocol.ts';
import { openWebGl } from './runtime/webgl_device.ts';
import { openDevice } from './runtime/webgpu_device.ts';
import { Page } from './wasm/page.ts';

/** Of one step; the engine's call 'plan' tells them for each device. */
export interface StepCost {
  flopsPerStep: number;
  launchesPerStep: number;
}

// Rough on purpose: only differences of several times decide. A step on a GPU waits about 0.6 ms for its loss, and a launch of
// a small kernel takes 3 µs, a draw 20; a thread of WebAssembly does some 4 GFLOP/s in the products of a train step (bench/web).
const kGpuStepMs = 0.6;
const kGpuLaunchMs = { webgpu: 0.003, webgl: 0.02 };
const kThreadFlopsPerMs = 4e6;

/** Opens each way to the GPU once, to know whether it can be used and what it is. */
export async function findGpus(): Promise<Pick<RuntimeInfo, 'gpus' | 'gpuReason'>> {
  if (!Page.supported) {
    return { gpus: [], gpuReason: 'This browser cannot suspend WebAssembly (JSPI), which the GPU needs here.' };
  }
  const gpus: GpuInfo[] = [];
  const reasons: string[] = [];
  for (const [device, open] of [
    ['webgpu', openDevice],
    ['webgl', openWebGl],
  ] as const) {
    try {
      const opened = await open();
      gpus.push({ device, name: opened.facts.name, software: opened.facts.software });
      opened.destroy();
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (gpus.some(({ device }) => device === 'webgpu')) return { gpus, gpuReason: '' };
  return { gpus, gpuReason: reasons.join(' ') };
}

/** The way to the GPU that a choice means; null: the CPU, if only for want of one. */
export function gpuFor(choice: DeviceChoice, { gpus }: Pick<RuntimeInfo, 'gpus'>): GpuInfo | null {
  return (choice === 'auto' ? gpus[0] : gpus.find(({ device }) => device === choice)) ?? null;
}

/** cost: of the plan for that GPU; null where it was not asked for, and the GPU has to be. */
export function chooseDevice(
  choice: DeviceChoice,
  info: Pick<RuntimeInfo, 'description' | 'threads' | 'gpus' | 'gpuReason'>,
  cost: StepCost | null,
): DeviceUse {
  const wasm = (reason: string): DeviceUse => ({ device: 'wasm', description: info.description, reason });
  if (choice === 'wasm') return wasm('');
  const gpu = gpuFor(choice, info);
  if (!gpu) return wasm(info.gpuReason || 'This browser has no WebGL2.');
  // With the reason why it is not the better one, where there would be.
  const use: DeviceUse = { device: gpu.device, description: gpu.name, reason: choice === 'auto' ? info.gpuReason : '' };
  if (choice !== 'auto') return use;
  if (gpu.software || !cost) return wasm('The browser imitates a GPU in software, which is slower.');
  const onGpu = kGpuStepMs + kGpuLaunchMs[gpu.device] * cost.launchesPerStep;
  if (cost.flopsPerStep / (kThreadFlopsPerMs * info.threads) < onGpu) {
    return wasm('This model is so small that the CPU is as fast as the GPU.');
  }
  return use;
}
