// Runner: what runs a Program on a device of the page's. One Runner holds one loaded Program and its buffers; WebGPU's is
// webgpu.ts. The engine's C++ Backend is the same interface.
//
// run() only enqueues. read() gives what a buffer holds after all that was enqueued before it. What goes wrong on the device
// later is kept and thrown by the next call.

import type { Program } from '../program/program.ts';

export type Values = Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

export interface Runner {
  readonly program: Program;
  /** For people: "webgpu: NVIDIA H200". */
  readonly description: string;
  /** Held on the device. */
  readonly bytes: number;

  /** All elements of a parameter, state or input. Throws Error on an unknown name or a wrong size. */
  write(name: string, values: Values): void;
  setUniform(name: string, value: number): void;
  /** Keys of random numbers. */
  setRandom(seed: bigint, step: number): void;
  run(entry: string): void;
  /**
   * Small outputs (a loss) cost next to nothing, since each run brings them along; others wait for a copy. runsAgo: of a small
   * output, as the run left it that came so many before the last, without waiting for those after it.
   */
  read(name: string, runsAgo?: number): Promise<Float32Array<ArrayBuffer>>;
  /** runsAgo stays below it. 1: only the last run can be read. */
  readonly runsInFlight: number;
  /** Resolves when few enough runs are under way for another one. Nothing bounds them otherwise. */
  room(): Promise<void>;

  destroy(): void;
}

/** The device is gone (a driver was reset, the browser took it away, somebody destroyed it): load again, on a new one. */
export class DeviceLost extends Error {}

/** The values of the uniform block, as runners write it before a run. */
export class Uniforms {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #floats: Float32Array;
  readonly #places: Map<string, number>;
  /** Since it was last set to false. */
  changed = true;

  constructor(names: string[], words: number, header: number) {
    this.words = new Uint32Array(words);
    this.#floats = new Float32Array(this.words.buffer);
    this.#places = new Map(names.map((name, i) => [name, header + i]));
  }

  /** A name that no launch needs is no mistake: "lr" in a Program that only predicts. */
  set(name: string, value: number): void {
    const place = this.#places.get(name);
    if (place === undefined) return;
    this.#floats[place] = value;
    this.changed = true;
  }

  setRandom(seed: bigint, step: number): void {
    this.words[0] = Number(seed & 0xffffffffn);
    this.words[1] = Number((seed >> 32n) & 0xffffffffn);
    this.words[2] = step;
    this.changed = true;
  }
}
