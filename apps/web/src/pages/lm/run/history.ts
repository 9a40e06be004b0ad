// The numbers of a run as lines to draw, and what is read off them.

import { LossHistory } from '../../../charts/loss_data';
import type { LmNumbers } from '../../../engine/types';

export class RunHistory {
  readonly losses = new LossHistory();
  readonly gradNorms = new LossHistory();
  readonly rates = new LossHistory();
  validationStep: number[] = [];
  validationLoss: number[] = [];
  bestStep = -1;

  add(numbers: LmNumbers): void {
    this.losses.add(numbers.firstStep, numbers.losses);
    this.gradNorms.add(numbers.firstStep, numbers.gradNorms);
    this.rates.add(numbers.firstStep, numbers.learningRates);
    this.validationStep = numbers.validationStep;
    this.validationLoss = numbers.validationLoss;
    this.bestStep = numbers.bestStep;
  }

  /** The best validation loss so far, nats a token. */
  get best(): number | null {
    return this.validationLoss.length > 0 ? Math.min(...this.validationLoss) : null;
  }
}

/** Points that a smoothed line looks back on, as a part of all. */
const kMemory = 0.015;

/** A moving average that forgets slowly; its beginning is that of what there is (Kingma & Ba's correction). */
export function smoothed(values: readonly number[]): number[] {
  const keep = 1 - 1 / Math.max(1, kMemory * values.length);
  let mean = 0;
  let weight = 0;
  return values.map((value) => {
    mean = keep * mean + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return mean / weight;
  });
}
