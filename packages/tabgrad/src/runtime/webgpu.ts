// The runner of Programs on a GPUDevice: everything is made at load; a run only encodes and submits.
//
// One encoder and one pass for each kLaunchesAPass launches, since both cost more than a launch, and encoding overlaps with
// the GPU's work. Small outputs are copied into a ring of mapped buffers after every run.
//
// Invariants: after load nothing is allocated on the GPU but staging for reads of large buffers, which is kept. A device that
// refuses something at load, or in an entry's first run, makes the Runner throw; later errors come through device.check().

import {
  arenaElements,
  inArena,
  kUniformHeaderWords,
  type Entry,
  type Program,
  uniformWords,
} from '../program/program.ts';
import { kRunsInFlight, type Runner, RunRing, type RunSlot, Uniforms, type Values } from './runner.ts';
import type { WebGpuDevice } from './webgpu_device.ts';

const kLaunchesAPass = 50;
/** Outputs up to this many bytes are brought along by every run, so many bytes of them in all. */
const kSmallOutput = 4096;
const kSmallOutputs = 4 * kSmallOutput;
const kStagingKept = 4;

// Written out: GPUBufferUsage and GPUMapMode are not global in Node.
const kUsage = { mapRead: 0x1, copySrc: 0x4, copyDst: 0x8, uniform: 0x40, storage: 0x80 };
const kMapRead = 0x1;

interface Place {
  buffer: GPUBuffer;
  /** Bytes. */
  offset: number;
  size: number;
}
interface Step {
  pipeline: GPUComputePipeline;
  bindings: GPUBindGroup;
  grid: [number, number, number];
}
interface Prepared {
  steps: Step[];
  /** Its first run is watched for errors of validation. */
  fresh: boolean;
}
/** One place of the ring: the small outputs of one run. */
interface Slot extends RunSlot {
  buffer: GPUBuffer;
  values: Float32Array<ArrayBuffer>;
}

/** Throws Error where the device refuses the Program. */
export async function loadWebGpu(program: Program, device: WebGpuDevice): Promise<Runner> {
  device.check();
  const runner = new WebGpuRunner(program, device);
  try {
    await runner.load();
  } catch (error) {
    runner.destroy();
    throw await device.explain(error);
  }
  return runner;
}

class WebGpuRunner implements Runner {
  readonly program: Program;
  readonly description: string;
  readonly #device: WebGpuDevice;
  readonly #gpu: GPUDevice;
  readonly #uniforms: Uniforms;
  readonly #allocations: GPUBuffer[] = [];
  readonly #places: Place[] = []; // by buffer of the Program
  readonly #names = new Map<string, number>();
  readonly #entries = new Map<string, Prepared>();
  readonly #small = new Map<string, { from: Place; at: number }>(); // at: bytes in a slot
  readonly #ring = new RunRing<Slot>();
  #staging: GPUBuffer[] = [];
  #uniformBuffer!: GPUBuffer;
  readonly runsInFlight = kRunsInFlight;
  #destroyed = false;

  constructor(program: Program, device: WebGpuDevice) {
    this.program = program;
    this.description = `webgpu: ${device.facts.name}`;
    this.#device = device;
    this.#gpu = device.gpu;
    this.#uniforms = new Uniforms(program.uniforms, uniformWords(program), kUniformHeaderWords);
  }

  get bytes(): number {
    return [...this.#allocations, ...this.#staging].reduce((sum, b) => sum + b.size, 0);
  }

  async load(): Promise<void> {
    if (this.program.target !== 'webgpu')
      throw new Error(`This Program is for '${this.program.target}', not for WebGPU.`);
    const { subgroups, f16, name } = this.#device.facts;
    if (this.program.subgroups > subgroups) {
      const has = subgroups === 0 ? 'none' : `some of ${subgroups}`;
      throw new Error(
        `[webgpu] the Program relies on subgroups of ${this.program.subgroups}, and ${name} has ${has}: ` +
          'compile it for this device, or without subgroups.',
      );
    }
    if (this.program.f16 && !f16) {
      throw new Error(
        `[webgpu] the Program stores activations as f16, and ${name} has no shader-f16: compile it in f32.`,
      );
    }
    const pipelines: GPUComputePipeline[] = [];
    const refused = await this.#watched(async () => {
      this.#makeBuffers();
      for (const made of await Promise.allSettled(this.#makePipelines())) {
        if (made.status === 'rejected') throw made.reason;
        pipelines.push(made.value);
      }
    });
    const misfit = await this.#watched(async () => {
      for (const entry of this.program.entries) {
        const steps = entry.launches.map((_, i) => this.#makeStep(pipelines, entry, i));
        this.#entries.set(entry.name, { steps, fresh: true });
      }
    });
    const error = refused ?? misfit;
    if (error) throw new Error(`[webgpu] ${this.#device.facts.name}, while loading: ${error.message}`);
  }

  /** The device's first error in the part of the work before it waits for something: others may use the device meanwhile. */
  async #watched(work: () => Promise<void>): Promise<GPUError | null> {
    const filters: GPUErrorFilter[] = ['validation', 'out-of-memory', 'internal'];
    for (const filter of filters) this.#gpu.pushErrorScope(filter);
    const done = work();
    const errors = Promise.all(filters.map(() => this.#gpu.popErrorScope()));
    await done;
    return (await errors).find((e) => e !== null) ?? null;
  }

  write(name: string, values: Values): void {
    this.#device.check();
    const place = this.#place(name);
    if (values.length * 4 !== place.size) {
      throw new Error(`[write] '${name}' has ${place.size / 4} elements, not ${values.length}.`);
    }
    this.#gpu.queue.writeBuffer(place.buffer, place.offset, values);
    if (this.#small.has(name)) this.#ring.forget();
  }

  setUniform(name: string, value: number): void {
    this.#uniforms.set(name, value);
  }

  setRandom(seed: bigint, step: number): void {
    this.#uniforms.setRandom(seed, step);
  }

  run(name: string): void {
    this.#device.check();
    const entry = this.#entries.get(name);
    if (!entry) throw new Error(`[run] the Program has no entry point '${name}'.`);
    if (this.#uniforms.changed) this.#gpu.queue.writeBuffer(this.#uniformBuffer, 0, this.#uniforms.words);
    this.#uniforms.changed = false;
    const watched = entry.fresh;
    entry.fresh = false;
    if (watched) this.#gpu.pushErrorScope('validation');
    const slot = this.#ring.take();
    const { steps } = entry;
    for (let first = 0; first < steps.length || first === 0; first += kLaunchesAPass) {
      const end = Math.min(steps.length, first + kLaunchesAPass);
      const encoder = this.#gpu.createCommandEncoder();
      encodePass(encoder, steps, first, end);
      if (end === steps.length && slot) this.#copySmall(encoder, slot);
      this.#gpu.queue.submit([encoder.finish()]);
    }
    if (watched) {
      void this.#gpu
        .popErrorScope()
        .then((error) => error && this.#device.report(`'${name}' is refused: ${error.message}`));
    }
    this.#ring.follow(slot ? this.#bring(slot) : this.#gpu.queue.onSubmittedWorkDone());
  }

  async room(): Promise<void> {
    await this.#ring.room();
    this.#device.check();
  }

  async read(name: string, runsAgo = 0): Promise<Float32Array<ArrayBuffer>> {
    this.#device.check();
    const slot = this.#ring.of(runsAgo);
    const small = slot && this.#small.get(name);
    if (!small && runsAgo > 0) throw new Error(`[read] '${name}' of ${runsAgo} runs ago was not kept.`);
    try {
      if (!slot || !small) return await this.#copyOut(this.#place(name));
      await slot.done;
      return slot.values.slice(small.at / 4, (small.at + small.from.size) / 4);
    } catch (error) {
      throw await this.#device.explain(error);
    }
  }

  destroy(): void {
    this.#destroyed = true;
    for (const b of this.#allocations) b.destroy();
    for (const b of this.#staging) b.destroy();
  }

  // ---- loading ----------------------------------------------------------------------------------------------------------

  #makeBuffer(bytes: number, usage: number): GPUBuffer {
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const { maxBufferSize } = this.#gpu.limits;
    if (size > maxBufferSize) throw this.#tooLarge('takes buffers', maxBufferSize, 'the model', size);
    return this.#gpu.createBuffer({ size, usage });
  }

  #tooLarge(does: string, limit: number, what: string, bytes: number): Error {
    const [most, needed] = [limit, bytes].map((n) => (n / 1e6).toFixed(0));
    return new Error(
      `[webgpu] ${this.#device.facts.name} ${does} of up to ${most} MB, and ${what} needs ${needed} MB: ` +
        'lower the batch, the window or the model’s size.',
    );
  }

  #storage(elements: number): GPUBuffer {
    const buffer = this.#makeBuffer(elements * 4, kUsage.storage | kUsage.copyDst | kUsage.copySrc);
    this.#allocations.push(buffer);
    return buffer;
  }

  #makeBuffers(): void {
    const arena = arenaElements(this.program) > 0 ? this.#storage(arenaElements(this.program)) : null;
    const packs = this.program.packs.map((elements) => this.#storage(elements));
    for (const [i, b] of this.program.buffers.entries()) {
      const size = b.elements * 4;
      if (inArena(b)) {
        this.#places.push({ buffer: arena!, offset: b.arenaOffset * 4, size });
        continue;
      }
      const place =
        b.pack >= 0
          ? { buffer: packs[b.pack]!, offset: b.packOffset * 4, size }
          : { buffer: this.#storage(b.elements), offset: 0, size };
      if (b.data) this.#gpu.queue.writeBuffer(place.buffer, place.offset, b.data);
      this.#places.push(place);
      if (b.role !== 'activation') this.#names.set(b.name, i);
    }
    this.#uniformBuffer = this.#makeBuffer(this.#uniforms.words.byteLength, kUsage.uniform | kUsage.copyDst);
    this.#allocations.push(this.#uniformBuffer);
    this.#makeRing();
  }

  #makeRing(): void {
    let bytes = 0;
    for (const [i, b] of this.program.buffers.entries()) {
      const from = this.#places[i]!;
      if (b.role !== 'output' || from.size > kSmallOutput || bytes + from.size > kSmallOutputs) continue;
      this.#small.set(b.name, { from, at: bytes });
      bytes += from.size;
    }
    if (bytes === 0) return;
    this.#ring.fill(() => {
      const buffer = this.#makeBuffer(bytes, kUsage.mapRead | kUsage.copyDst);
      this.#allocations.push(buffer);
      return { buffer, values: new Float32Array(bytes / 4), done: Promise.resolve(), busy: false };
    });
  }

  /** All at once: making one takes milliseconds. */
  #makePipelines(): Promise<GPUComputePipeline>[] {
    return this.program.kernels.map(async ({ name, text }) => {
      const module = this.#gpu.createShaderModule({ code: text });
      try {
        return await this.#gpu.createComputePipelineAsync({
          label: name,
          layout: 'auto',
          compute: { module, entryPoint: 'main' },
        });
      } catch (error) {
        const { messages } = await module.getCompilationInfo();
        const why = messages.find((m) => m.type === 'error')?.message ?? String(error);
        throw new Error(`[webgpu] ${this.#device.facts.name} refuses the shader '${name}': ${why}`);
      }
    });
  }

  #makeStep(pipelines: GPUComputePipeline[], entry: Entry, index: number): Step {
    const launch = entry.launches[index]!;
    const shader = this.program.kernels[launch.kernel]!;
    const pipeline = pipelines[launch.kernel]!;
    const limit = this.#gpu.limits.maxStorageBufferBindingSize;
    const entries: GPUBindGroupEntry[] = launch.args.map((arg, a) => {
      const { buffer, offset } = this.#places[arg]!;
      const size = shader.args[a]!.elements * 4;
      if (size > limit) throw this.#tooLarge('binds buffers', limit, `'${launch.label}'`, size);
      return { binding: a + 1, resource: { buffer, offset, size } };
    });
    if (shader.uniforms) entries.unshift({ binding: 0, resource: { buffer: this.#uniformBuffer } });
    const bindings = this.#gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    return { pipeline, bindings, grid: launch.grid };
  }

  #place(name: string): Place {
    const index = this.#names.get(name);
    if (index === undefined) throw new Error(`[buffer] the Program has no buffer '${name}'.`);
    return this.#places[index]!;
  }

  // ---- reading back -----------------------------------------------------------------------------------------------------

  #copySmall(encoder: GPUCommandEncoder, slot: Slot): void {
    for (const { from, at } of this.#small.values()) {
      encoder.copyBufferToBuffer(from.buffer, from.offset, slot.buffer, at, from.size);
    }
  }

  /** Resolves when the slot's values are there. */
  #bring(slot: Slot): Promise<void> {
    slot.busy = true;
    slot.done = slot.buffer.mapAsync(kMapRead).then(() => {
      slot.values.set(new Float32Array(slot.buffer.getMappedRange(0, slot.values.byteLength)));
      slot.buffer.unmap();
      slot.busy = false;
    });
    return slot.done;
  }

  async #copyOut({ buffer, offset, size }: Place): Promise<Float32Array<ArrayBuffer>> {
    const staging = this.#takeStaging(size);
    const encoder = this.#gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
    this.#gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(kMapRead, 0, size);
    const values = new Float32Array(staging.getMappedRange(0, size).slice(0));
    staging.unmap();
    this.#staging.push(staging);
    while (this.#staging.length > (this.#destroyed ? 0 : kStagingKept)) this.#staging.shift()!.destroy();
    return values;
  }

  #takeStaging(size: number): GPUBuffer {
    const fits = this.#staging.findIndex((b) => b.size >= size && b.size <= 4 * size + 4096);
    if (fits >= 0) return this.#staging.splice(fits, 1)[0]!;
    return this.#makeBuffer(size, kUsage.mapRead | kUsage.copyDst);
  }
}

function encodePass(encoder: GPUCommandEncoder, steps: Step[], first: number, end: number): void {
  if (first === end) return;
  const pass = encoder.beginComputePass();
  let bound: GPUComputePipeline | null = null;
  for (let i = first; i < end; ++i) {
    const { pipeline, bindings, grid } = steps[i]!;
    if (pipeline !== bound) pass.setPipeline(pipeline);
    bound = pipeline;
    pass.setBindGroup(0, bindings);
    pass.dispatchWorkgroups(grid[0], grid[1], grid[2]);
  }
  pass.end();
}
