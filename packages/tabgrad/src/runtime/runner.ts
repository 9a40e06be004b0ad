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

/** One place of a RunRing: what a run leaves for the host. */
export interface RunSlot {
  /** Resolves when its values are there. */
  done: Promise<void>;
  busy: boolean;
}

/** Runs that may be under way at once. */
export const kRunsInFlight = 3;

/**
 * The slots of a runner's last runs, and the runs under way. Twice as many slots as runs in flight: one is not taken again while it is
 * filled, or while its run can still be read.
 */
export class RunRing<Slot extends RunSlot> {
  readonly slots: Slot[] = []; // all
  readonly #underWay: Promise<void>[] = [];
  #recent: (Slot | null)[] = []; // of the last runs, the last one last

  fill(make: () => Slot): void {
    for (let i = 0; i < 2 * kRunsInFlight; ++i) this.slots.push(make());
  }

  /** For a run that begins; null: it brings nothing along. */
  take(): Slot | null {
    const slot = this.slots.find((s) => !s.busy && !this.#recent.includes(s)) ?? null;
    this.#recent.push(slot);
    if (this.#recent.length > kRunsInFlight) this.#recent.shift();
    return slot;
  }

  of(runsAgo: number): Slot | null {
    return this.#recent.at(-1 - runsAgo) ?? null;
  }

  /** What the last runs brought along is no longer what the buffers hold. */
  forget(): void {
    this.#recent = [];
  }

  /** `run` settles when the run is over; whoever reads hears of an error, otherwise the device reports it. */
  follow(run: Promise<unknown>): void {
    const ended = () => void this.#underWay.splice(this.#underWay.indexOf(over), 1);
    const over: Promise<void> = run.then(ended, ended);
    this.#underWay.push(over);
  }

  async room(): Promise<void> {
    while (this.#underWay.length >= kRunsInFlight) await this.#underWay[0];
  }
}

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
