// Trains an exported model: Program and starting data, which `tabgrad export --to program` wrote, on a runner.
//
// The data file holds tensors "weights/<parameter>" (where training starts) and "training/<input>", "validation/<input>" (one
// row an example); its text "training" is a TrainingPlan. Batches, rates and random keys are those of the engine's own trainer
// (src/train/trainer.cc), so the losses are too.
// Does not: stop early, keep the best weights, or save.

import type { Program } from '../program/program.ts';
import { epochOrder } from './epoch_order.ts';
import type { Runner } from './runner.ts';
import type { Tensor, Tensors } from './safetensors.ts';

export interface TrainingPlan {
  /** "Seattle: temp_max, LSTM", for people. */
  title: string;
  /** Decimal digits: it has 64 bits. */
  seed: string;
  epochs: number;
  batch: number;
  evalBatch: number;
  schedule: {
    kind: 'constant' | 'linear' | 'cosine' | 'step';
    peak: number;
    warmupSteps: number;
    totalSteps: number;
    dropEvery: number;
    dropFactor: number;
  };
  /** Zeros where the optimizer does not correct its averages. */
  beta1: number;
  beta2: number;
}

export type TrainingEvent =
  | { kind: 'step'; epoch: number; step: number; steps: number; loss: number }
  /** Means over the examples; validation is null without a validation part. Epoch 0 is before training. */
  | { kind: 'epoch'; epoch: number; train: number | null; validation: number | null };

/** Steps under way before the first of their losses is waited for. */
const kAhead = 2;

/** One part's examples, and the inputs that take them. */
class Part {
  readonly examples: number;
  readonly #inputs: { name: string; rows: Tensor; batch: Float32Array<ArrayBuffer> }[] = [];
  readonly #weight: { name: string; batch: Float32Array<ArrayBuffer> };

  constructor(data: Tensors, program: Program, part: string, prefix: string, batch: number) {
    for (const [name, rows] of data.tensors) {
      if (!name.startsWith(`${part}/`)) continue;
      const input = prefix + name.slice(part.length + 1);
      const buffer = program.buffers.find((b) => b.name === input && b.role === 'input');
      const perRow = rows.values.length / rows.dims[0]!;
      if (buffer?.elements !== perRow * batch) throw new Error(`The data's '${name}' does not fit the Program.`);
      this.#inputs.push({ name: input, rows, batch: new Float32Array(buffer.elements) });
    }
    this.examples = this.#inputs[0]?.rows.dims[0] ?? 0;
    if (this.#inputs.some(({ rows }) => rows.dims[0] !== this.examples)) {
      throw new Error(`The data's ${part} part has inputs of different lengths.`);
    }
    this.#weight = { name: `${prefix}weight`, batch: new Float32Array(batch) };
  }

  /** Rows beyond the chosen ones have weight 0. */
  load(runner: Runner, chosen: Uint32Array): void {
    for (const { name, rows, batch } of this.#inputs) {
      const size = rows.values.length / this.examples;
      for (let at = 0; at * size < batch.length; ++at) {
        const row = chosen[at] ?? chosen[0]!;
        batch.set(rows.values.subarray(row * size, (row + 1) * size), at * size);
      }
      runner.write(name, batch);
    }
    this.#weight.batch.fill(0).fill(1, 0, chosen.length);
    runner.write(this.#weight.name, this.#weight.batch);
  }
}

export class Training {
  readonly plan: TrainingPlan;
  readonly steps: number;
  readonly #runner: Runner;
  readonly #training: Part;
  readonly #validation: Part;

  /** Puts the starting weights into the runner. Throws Error where data and Program do not belong together. */
  constructor(runner: Runner, data: Tensors) {
    const plan = JSON.parse(data.metadata.training ?? 'null') as TrainingPlan | null;
    if (!plan) throw new Error('The data file says nothing about training.');
    this.plan = plan;
    this.#runner = runner;
    this.#training = new Part(data, runner.program, 'training', '', plan.batch);
    this.#validation = new Part(data, runner.program, 'validation', 'eval.', plan.evalBatch);
    if (this.#training.examples < 1) throw new Error('The data file holds nothing to train on.');
    this.steps = Math.ceil(this.#training.examples / plan.batch) * plan.epochs;
    for (const b of runner.program.buffers) {
      if (b.role !== 'parameter') continue;
      const weights = data.tensors.get(`weights/${b.name}`);
      if (!weights) throw new Error(`The data file lacks the weights '${b.name}'.`);
      runner.write(b.name, weights.values);
    }
  }

  /** Each step's loss in order, and each epoch's mean and validation loss. */
  async *train(): AsyncGenerator<TrainingEvent, void> {
    const { seed, epochs, batch } = this.plan;
    const { examples } = this.#training;
    yield { kind: 'epoch', epoch: 0, train: null, validation: await this.#evaluate() };
    for (let epoch = 0, step = 0; epoch < epochs; ++epoch) {
      const order = epochOrder(BigInt(seed), epoch, examples);
      const underWay: { step: number; count: number; loss: Promise<Float32Array> }[] = [];
      let sum = 0;
      for (let at = 0; at < examples || underWay.length > 0; at += batch) {
        if (at < examples) {
          const chosen = order.subarray(at, at + batch);
          await this.#runner.room();
          underWay.push({ step: ++step, count: chosen.length, loss: this.#step(chosen, step) });
        }
        if (at < examples && underWay.length <= kAhead) continue;
        const done = underWay.shift()!;
        const loss = (await done.loss)[0]!;
        if (!Number.isFinite(loss)) throw new Error(`Training diverged: the loss became ${loss} at step ${done.step}.`);
        sum += loss * done.count;
        yield { kind: 'step', epoch: epoch + 1, step: done.step, steps: this.steps, loss };
      }
      yield { kind: 'epoch', epoch: epoch + 1, train: sum / examples, validation: await this.#evaluate() };
    }
  }

  #step(chosen: Uint32Array, step: number): Promise<Float32Array> {
    this.#training.load(this.#runner, chosen);
    const { beta1, beta2, seed } = this.plan;
    this.#runner.setUniform('lr', learningRate(this.plan.schedule, step));
    this.#runner.setUniform('bias1', 1 - beta1 ** step);
    this.#runner.setUniform('bias2', 1 - beta2 ** step);
    this.#runner.setRandom(BigInt(seed), step);
    this.#runner.run('train_step');
    return this.#runner.read('loss');
  }

  async #evaluate(): Promise<number | null> {
    const { examples } = this.#validation;
    if (examples === 0) return null;
    const all = Uint32Array.from({ length: examples }, (_, i) => i);
    let sum = 0;
    for (let at = 0; at < examples; at += this.plan.evalBatch) {
      this.#validation.load(this.#runner, all.subarray(at, at + this.plan.evalBatch));
      this.#runner.run('evaluate');
      sum += (await this.#runner.read('eval.loss'))[0]!;
    }
    return sum / examples;
  }
}

/** Of steps from 1 on: src/train/schedule.h. */
export function learningRate(schedule: TrainingPlan['schedule'], step: number): number {
  const { kind, peak, warmupSteps, totalSteps, dropEvery, dropFactor } = schedule;
  if (step < warmupSteps) return (peak * step) / warmupSteps;
  const past = step - warmupSteps;
  if (kind === 'constant') return peak;
  if (kind === 'step') return peak * dropFactor ** Math.floor(past / dropEvery);
  const part = Math.min(1, past / Math.max(1, totalSteps - warmupSteps));
  return kind === 'linear' ? peak * (1 - part) : peak * 0.5 * (1 + Math.cos(Math.PI * part));
}
