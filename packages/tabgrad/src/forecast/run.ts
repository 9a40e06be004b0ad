// A run of a forecaster: what it reports, and its judgement at the end.

import type { Device, Event, Progress, RunResult, SavedRun } from '../protocol.ts';
import { joined } from '../runs/joined.ts';
import { type Advance, type RunHost, TrainingRun } from '../runs/training_run.ts';

export interface ForecastState extends Omit<SavedRun, 'bytes'> {
  /** Of training, over all sessions. */
  seconds: number;
  msPerStep: number;
  /** Where it was computed; saves of before there was a choice lack it. */
  device?: Device;
}

/** Reply of the engine's call 'advance'. */
interface ForecastAdvance extends Advance {
  steps: number;
  epoch: number;
  epochs: number;
  loss: number | null;
  learningRate: number;
  firstStep: number;
  trainLoss: number[];
  bestEpoch: number;
}

export interface RunSetup {
  run: string;
  file: string;
  title: string;
  target: string;
  steps: number;
  /** Of the sessions before, when restored. */
  seconds: number;
  msPerStep: number;
  device: Device;
}

export class Run extends TrainingRun<ForecastAdvance, ForecastState> {
  readonly #post: (event: Event) => void;
  readonly #setup: RunSetup;
  #result: RunResult | null = null;

  constructor(host: RunHost<ForecastState>, post: (event: Event) => void, setup: RunSetup) {
    super(host, setup, '');
    this.#post = post;
    this.#setup = setup;
  }

  get file(): string {
    return this.#setup.file;
  }

  /** The judged run, once it has ended. */
  async judge(): Promise<RunResult> {
    if (!this.#result) {
      const clock = { seconds: this.#setup.seconds, msPerStep: this.#setup.msPerStep };
      const judged = (await this.engine.request('judge', clock)) as Omit<RunResult, 'run' | 'file'>;
      this.#result = { run: this.id, file: this.file, ...judged };
      this.markEnded();
    }
    return this.#result;
  }

  protected async finish(): Promise<void> {
    const result = await this.judge();
    this.save(true);
    this.#post({ event: 'ended', result });
  }

  protected report(last: ForecastAdvance, slices: ForecastAdvance[], paused: boolean): void {
    const losses = joined(slices.map((slice) => slice.losses));
    const perSecond = this.stepsPerSecond;
    const progress: Progress = {
      run: this.id,
      state: paused ? 'paused' : 'training',
      step: last.step,
      steps: last.steps,
      epoch: last.epoch,
      epochs: last.epochs,
      loss: last.loss ?? NaN,
      learningRate: last.learningRate,
      stepsPerSecond: perSecond,
      msPerStep: perSecond > 0 ? 1000 / perSecond : 0,
      secondsLeft: perSecond > 0 ? (last.steps - last.step) / perSecond : NaN,
      firstStep: last.step - losses.length,
      losses,
      trainLoss: last.trainLoss,
      validationLoss: last.validationLoss,
      bestEpoch: last.bestEpoch,
    };
    this.#post({ event: 'progress', progress });
  }

  protected stateAt(step: number): ForecastState {
    const { run, file, title, target, steps } = this.#setup;
    const result = this.#result;
    return {
      run,
      file,
      title,
      target,
      state: result ? 'finished' : 'unfinished',
      step,
      steps: result ? step : steps,
      savedAt: Date.now(),
      seconds: this.seconds,
      device: this.device,
      msPerStep: result?.msPerStep ?? this.msPerStep,
    };
  }

  protected tellFailed(error: string): void {
    this.#post({ event: 'failed', run: this.id, error });
  }
  protected tellSaved(step: number): void {
    this.#post({ event: 'saved', run: this.id, step });
  }
  protected tellNotice(text: string): void {
    this.#post({ event: 'notice', text });
  }
}
