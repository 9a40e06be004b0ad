// What the engine in WebAssembly calls to run Programs on a GPU (src/backend/webgpu/web/page.js hands the calls on).
//
// Does: loads runners and does what the engine asks with its memory. Does not: throw; a failure is a number below 0, and its
// text is kept until the engine takes it.

import type { Program } from '../program/program.ts';
import { readProgram } from '../program/read.ts';
import { DeviceLost, type Runner } from '../runtime/runner.ts';
import { loadWebGl } from '../runtime/webgl.ts';
import { openWebGl, type WebGlLimits, webGlLimits } from '../runtime/webgl_device.ts';
import { openDevice } from '../runtime/webgpu_device.ts';
import { loadWebGpu } from '../runtime/webgpu.ts';

const kOk = 0;
const kFailure = -1;

/** A device: loads Programs, and says what they may rely on: the least size of a subgroup, shader-f16 as 0 or 1. */
interface Opened {
  load: (program: Program) => Promise<Runner>;
  features: [subgroups: number, f16: number];
}
/** By target of a Program. */
export type Openers = Record<string, () => Promise<Opened>>;

const kOpeners: Openers = {
  webgpu: async () => {
    const device = await openDevice();
    const { subgroups, f16 } = device.facts;
    return { load: (program) => loadWebGpu(program, device), features: [subgroups, Number(f16)] };
  },
  webgl: async () => {
    const device = await openWebGl();
    return { load: (program) => loadWebGl(program, device), features: [0, 0] };
  },
};

export class Page {
  readonly #openers: Openers;
  readonly #runners = new Map<number, Runner>();
  readonly #devices = new Map<string, Opened>();
  readonly #webGlLimits: () => WebGlLimits | null;
  #knownLimits: WebGlLimits | null | undefined;
  #count = 0;
  #failure = '';
  /** Set when the last failure was that the GPU is gone: loading again opens another one. */
  lost = false;

  /** Whether the browser can wait for a GPU inside a call of the engine. */
  static get supported(): boolean {
    return 'Suspending' in WebAssembly;
  }

  /** openers: each is asked for a device before the first Program of its target is loaded, and after each loss. */
  constructor(openers: Openers = kOpeners, limits: () => WebGlLimits | null = webGlLimits) {
    this.#openers = openers;
    this.#webGlLimits = limits;
  }

  get inUse(): boolean {
    return this.#runners.size > 0;
  }

  async load(memory: WebAssembly.Memory, at: number, bytes: number): Promise<number> {
    return this.#answer(async () => {
      const program = readProgram(new Uint8Array(memory.buffer, at >>> 0, bytes), 'the engine');
      const device = await this.#device(program.target);
      this.#runners.set(++this.#count, await device.load(program));
      return this.#count;
    });
  }

  /** Of the WebGPU device, which it opens: one of Opened's features. */
  feature(which: number): Promise<number> {
    return this.#answer(async () => (await this.#device('webgpu')).features[which]!);
  }

  async #device(target: string): Promise<Opened> {
    if (this.lost) this.#devices.clear();
    this.lost = false;
    const known = this.#devices.get(target);
    if (known) return known;
    const open = this.#openers[target];
    if (!open) throw new Error(`Nothing in this page runs Programs for '${target}'.`);
    const device = await open();
    this.#devices.set(target, device);
    return device;
  }

  write(memory: WebAssembly.Memory, runner: number, buffer: number, at: number): number {
    try {
      const of = this.#runner(runner);
      const { name, elements } = of.program.buffers[buffer]!;
      of.write(name, new Float32Array(memory.buffer, at >>> 0, elements));
      return kOk;
    } catch (error) {
      return this.#fail(error);
    }
  }

  setUniform(runner: number, uniform: number, value: number): void {
    const of = this.#runner(runner);
    of.setUniform(of.program.uniforms[uniform]!, value);
  }

  setRandom(runner: number, low: number, high: number, step: number): void {
    this.#runner(runner).setRandom((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0), step >>> 0);
  }

  run(runner: number, entry: number): Promise<number> {
    return this.#answer(async () => {
      const of = this.#runner(runner);
      await of.room();
      of.run(of.program.entries[entry]!.name);
      return kOk;
    });
  }

  read(memory: WebAssembly.Memory, runner: number, buffer: number, runsAgo: number, at: number): Promise<number> {
    return this.#answer(async () => {
      const of = this.#runner(runner);
      const values = await of.read(of.program.buffers[buffer]!.name, runsAgo);
      new Float32Array(memory.buffer, at >>> 0, values.length).set(values);
      return kOk;
    });
  }

  /** Writes draw buffers, texture units and texture size of the WebGL2 that there is, asked once; 0: there is none. */
  webGlLimits(memory: WebAssembly.Memory, at: number): number {
    if (this.#knownLimits === undefined) this.#knownLimits = this.#webGlLimits();
    if (!this.#knownLimits) return 0;
    const { drawBuffers, textureUnits, textureSize } = this.#knownLimits;
    new Int32Array(memory.buffer, at >>> 0, 3).set([drawBuffers, textureUnits, textureSize]);
    return 1;
  }

  runsInFlight(runner: number): number {
    return this.#runner(runner).runsInFlight;
  }

  /** Of a runner: its description. Of kFailure: the last failure. */
  text(memory: WebAssembly.Memory, runner: number, at: number, capacity: number): number {
    const text = runner === kFailure ? this.#failure : this.#runner(runner).description;
    const bytes = new TextEncoder().encode(text).subarray(0, capacity);
    new Uint8Array(memory.buffer, at >>> 0, capacity).set(bytes);
    return bytes.length;
  }

  free(runner: number): void {
    this.#runner(runner).destroy();
    this.#runners.delete(runner);
  }

  #runner(number: number): Runner {
    const runner = this.#runners.get(number);
    if (!runner) throw new Error('a runner that was never loaded');
    return runner;
  }

  async #answer(work: () => Promise<number>): Promise<number> {
    try {
      return await work();
    } catch (error) {
      return this.#fail(error);
    }
  }

  #fail(error: unknown): number {
    this.lost = error instanceof DeviceLost;
    this.#failure = error instanceof Error ? error.message : String(error);
    return kFailure;
  }
}
