// A GPUDevice for the runner, and what is known of it. Asks for the largest buffers that the adapter has, for subgroups and f16, and
// for nothing else beyond WebGPU's defaults, so that every Program for the default limits loads.

import { DeviceLost } from './runner.ts';

export interface DeviceFacts {
  /** For people: "NVIDIA H200 (hopper)". */
  name: string;
  /** No GPU but a program that imitates one: right, and slow. */
  software: boolean;
  /** The least size of a subgroup; 0 without the feature. */
  subgroups: number;
  /** Has it shader-f16? */
  f16: boolean;
}

const kSubgroups = 'subgroups';
const kHalf = 'shader-f16';

export class WebGpuDevice {
  readonly gpu: GPUDevice;
  readonly facts: DeviceFacts;
  readonly #own: boolean;
  /** Kept: in Node devices die with the GPU object that they came from. */
  protected readonly source: GPU | null;
  #error: Error | null = null;

  constructor(gpu: GPUDevice, info: GPUAdapterInfo, own: boolean, source: GPU | null = null) {
    this.gpu = gpu;
    this.source = source;
    const subgroups = gpu.features.has(kSubgroups) ? (info.subgroupMinSize ?? 0) : 0;
    this.facts = { ...factsOf(info), subgroups, f16: gpu.features.has(kHalf) };
    this.#own = own;
    void gpu.lost.then(({ message, reason }) => {
      this.#error = new DeviceLost(`the GPU was lost (${message || reason})`);
    });
    // A caller's device may have other users, whose errors are none of ours.
    if (own) gpu.addEventListener('uncapturederror', ({ error }) => this.report(error.message));
  }

  /** Resolves when the device is lost: typed, so that a page can load again on a new one. */
  get lost(): Promise<DeviceLost> {
    return this.gpu.lost.then(() => this.#error as DeviceLost);
  }

  /** Throws the first error of the device, if there was one. */
  check(): void {
    if (this.#error) throw this.#error;
  }

  report(error: string): void {
    this.#error ??= new Error(`[webgpu] ${this.facts.name}: ${error}`);
  }

  /** What to throw for a refused call: a lost device refuses them before it says that it is lost. */
  async explain(error: unknown): Promise<unknown> {
    await Promise.race([this.gpu.lost, new Promise((later) => setTimeout(later, 200))]);
    return this.#error instanceof DeviceLost ? this.#error : error;
  }

  destroy(): void {
    if (this.#own) this.gpu.destroy();
  }
}

/** Throws Error with the reason when there is none. gpu: navigator.gpu, or what stands for it in Node. */
export async function openDevice(gpu: GPU | undefined = globalThis.navigator?.gpu): Promise<WebGpuDevice> {
  if (!gpu) throw new Error('This browser has no WebGPU.');
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error('The browser offers no GPU (WebGPU has no adapter here).');
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
    requiredFeatures: ([kSubgroups, kHalf] as const).filter((feature) => adapter.features.has(feature)),
  });
  return new WebGpuDevice(device, adapter.info, true, gpu);
}

/** A caller's device: it stays the caller's, and is not destroyed with ours. */
export function useDevice(gpu: GPUDevice): WebGpuDevice {
  return new WebGpuDevice(gpu, gpu.adapterInfo, false);
}

function factsOf(info: GPUAdapterInfo): Pick<DeviceFacts, 'name' | 'software'> {
  const { vendor, architecture, device, description, isFallbackAdapter } = info;
  const name = description || [vendor, device || architecture].filter(Boolean).join(' ') || 'a GPU';
  const software = isFallbackAdapter || /swiftshader|llvmpipe|lavapipe/i.test(`${architecture} ${description}`);
  return { name: software ? `${name}, a software adapter, no GPU` : name, software };
}
