// Which device a run uses: the GPU through WebGPU, or the CPU through WebAssembly, and why.
//
// Does: decides from what is known before the first step. Does not: measure. Switching in the middle of a run is the run's
// (forecast/run.ts), and only after the GPU was lost twice.

import type { DeviceChoice, DeviceUse, RuntimeInfo } from './protocol.ts';
import { openDevice } from './runtime/webgpu_device.ts';
import { Page } from './wasm/page.ts';

/** Of one step; the engine's call 'plan' tells them for each device. */
export interface StepCost {
  flopsPerStep: number;
  launchesPerStep: number;
}

// Rough on purpose: only differences of several times decide. A step on a GPU waits about 0.6 ms for its loss, and a launch of
// a small kernel takes 3 µs; a thread of WebAssembly does some 4 GFLOP/s in the products of a train step (bench/web).
const kGpuStepMs = 0.6;
const kGpuLaunchMs = 0.003;
const kThreadFlopsPerMs = 4e6;

/** Opens the GPU once, to know that it can be used and what it is. */
export async function findGpu(): Promise<Pick<RuntimeInfo, 'gpu' | 'gpuReason'>> {
  const none = (gpuReason: string) => ({ gpu: null, gpuReason });
  if (!globalThis.navigator?.gpu) return none('This browser has no WebGPU.');
  if (!Page.supported) return none('This browser cannot suspend WebAssembly (JSPI), which WebGPU needs here.');
  try {
    const device = await openDevice();
    const { name, software } = device.facts;
    device.destroy();
    return { gpu: { name, software }, gpuReason: '' };
  } catch (error) {
    return none(error instanceof Error ? error.message : String(error));
  }
}

/** cost: of the plan for WebGPU; null where it was not asked for, and the GPU has to be. */
export function chooseDevice(
  choice: DeviceChoice,
  info: Pick<RuntimeInfo, 'description' | 'threads' | 'gpu' | 'gpuReason'>,
  cost: StepCost | null,
): DeviceUse {
  const wasm = (reason: string): DeviceUse => ({ device: 'wasm', description: info.description, reason });
  if (choice === 'wasm') return wasm('');
  if (!info.gpu) return wasm(info.gpuReason);
  const webgpu: DeviceUse = { device: 'webgpu', description: info.gpu.name, reason: '' };
  if (choice === 'webgpu') return webgpu;
  if (info.gpu.software || !cost) return wasm('The browser imitates a GPU in software, which is slower.');
  const onGpu = kGpuStepMs + kGpuLaunchMs * cost.launchesPerStep;
  if (cost.flopsPerStep / (kThreadFlopsPerMs * info.threads) < onGpu) {
    return wasm('This model is so small that the CPU is as fast as the GPU.');
  }
  return webgpu;
}
