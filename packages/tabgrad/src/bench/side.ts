// What a library must offer to be measured: one Side per library and backend, living in a worker of its own.
//
// A train step is: the batch goes to the device, forward, loss, backward, clipping where asked, optimizer, and the loss comes
// back to the host. Everything that need not happen in each step belongs in the making of a job and is not timed.
import type { Batch, Floats, LstmShape, MatmulShape, Optimizer, Parameter, Preset } from './jobs.ts';
import type { Launches, Peak } from './protocol.ts';

export interface About {
  library: string;
  version: string;
  /** 'wasm', 'webgl', 'webgpu' */
  backend: string;
  /** CPU threads; 0 on a GPU. */
  threads: number;
  /** The GPU as the browser names it, or the build of the WASM module that runs. */
  device: string;
  /** A GPU that is a program on the CPU: labelled in every table, never shown as a GPU. */
  software: boolean;
  /** The way a step is written, where a library has several ("jit", "trainOnBatch"). */
  notes: string[];
}

export interface TrainJob {
  /** One step; its loss, before the update. On a GPU the next one may be called before this one's loss is there. */
  step(batch: Batch): number | Promise<number>;
  /** Several steps, where calls of step() cannot overlap but the library itself lets steps do so. */
  steps?(batches: Batch[]): number[] | Promise<number[]>;
  /** The side's own count of a step's floating-point operations, where it has one, and its launches. */
  flops?: number;
  launches?: Launches;
  /** This batch's gradients at the first weights, parameter by parameter; exact: by a double-precision oracle. */
  gradients?(batch: Batch, exact: boolean): Promise<Float64Array[]>;
  dispose(): void | Promise<void>;
}

export interface MatmulJob {
  /** `count` products one after another; done when the device is done. Nothing is read back. */
  run(count: number): void | Promise<void>;
  /** C, row by row, after one more product. */
  result(): Float32Array | Promise<Float32Array>;
  dispose(): void;
}

/** Made once for a backend. A job it cannot do throws, and the reason stands in the table. */
export interface Side {
  about: About;
  gpt(preset: Preset, parameters: Parameter[], optimizer: Optimizer): TrainJob | Promise<TrainJob>;
  lstm(shape: LstmShape, parameters: Parameter[], optimizer: Optimizer): TrainJob | Promise<TrainJob>;
  matmul(shape: MatmulShape, a: Floats, b: Floats): MatmulJob | Promise<MatmulJob>;
  peak?(seconds: number): Promise<Peak>;
}

export type LoadSide = (backend: string) => Promise<Side>;
