// One run under way: trains slice by slice, reports, saves.
//
// Between slices it yields through a MessageChannel, never a timer: browsers slow timers down in hidden tabs, and messages
// from the page still get their turn.

import type { Event, Progress, RunResult } from '../protocol.ts';
import type { Engine } from '../wasm/engine.ts';
import { RateMeter } from './rate.ts';
import { isQuotaError, type RunState, type RunStore } from './store.ts';

const kSliceMs = 20;
const kProgressMs = 100;

/** Reply of the engine's call 'advance'. */
interface Advance {
  ended: boolean;
  step: number;
  steps: number;
  epoch: number;
  epochs: number;
  loss: number | null;
  learningRate: number;
  firstStep: number;
  losses: Float32Array;
  trainLoss: number[];
  validationLoss: number[];
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
}

export class Run {
  readonly #engine: Engine;
  readonly #post: (event: Event) => void;
  readonly #store: RunStore | null;
  readonly #autosaveMs: number;
  readonly #setup: RunSetup;
  readonly #unlock: () => void;
  readonly #yield = new MessageChannel();
  readonly #rate = new RateMeter();

  #state: 'training' | 'paused' | 'ended' = 'paused';
  #seconds: number;
  #losses: Float32Array[] = [];
  #reported = 0;
  #saved: number;
  #saving: Promise<void> = Promise.resolve();
  #saves = 0;
  #storageFull = false;
  #last: Advance | null = null;
  #result: RunResult | null = null;

  /** store null: nothing is saved. */
  constructor(
    engine: Engine,
    post: (event: Event) => void,
    store: RunStore | null,
    autosaveSeconds: number,
    setup: RunSetup,
    unlock: () => void,
  ) {
    this.#engine = engine;
    this.#post = post;
    this.#store = store;
    this.#autosaveMs = autosaveSeconds * 1000;
    this.#setup = setup;
    this.#unlock = unlock;
    this.#seconds = setup.seconds;
    this.#saved = performance.now();
    this.#yield.port1.onmessage = () => this.#slice();
  }

  get id(): string {
    return this.#setup.run;
  }
  get file(): string {
    return this.#setup.file;
  }
  get ended(): boolean {
    return this.#state === 'ended';
  }

  start(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'training';
    this.#next();
  }

  pause(): void {
    if (this.#state !== 'training') return;
    this.#state = 'paused';
    this.#report();
    this.#save();
  }

  stop(): void {
    if (this.#state === 'ended') return;
    this.#engine.call('stop');
    this.start();
  }

  /** Takes what a later restore needs, before something that may end the run. */
  checkpoint(): void {
    if (this.#state !== 'ended') this.#save(undefined, true);
  }

  /** Lets go of the run once its saves are written; it can be restored. */
  async leave(): Promise<void> {
    this.#state = 'ended';
    await this.#saving;
    this.#yield.port1.close();
    this.#unlock();
  }

  /** The judged run, once it has ended. */
  judge(): RunResult {
    if (!this.#result) {
      const clock = { seconds: this.#setup.seconds, msPerStep: this.#setup.msPerStep };
      const judged = this.#engine.call('judge', clock) as Omit<RunResult, 'run' | 'file'>;
      this.#result = { run: this.id, file: this.file, ...judged };
      this.#state = 'ended';
    }
    return this.#result;
  }

  #next(): void {
    this.#yield.port2.postMessage(null);
  }

  #slice(): void {
    if (this.#state !== 'training') return;
    try {
      const start = performance.now();
      const advance = this.#engine.call('advance', { milliseconds: kSliceMs }) as Advance;
      const now = performance.now();
      this.#seconds += (now - start) / 1000;
      this.#rate.add(now - start, advance.losses.length);
      this.#losses.push(advance.losses);
      const evaluated = advance.validationLoss.length !== (this.#last?.validationLoss.length ?? 0);
      this.#last = advance;
      if (advance.ended) return this.#end();
      if (evaluated || now - this.#reported >= kProgressMs) this.#report();
      if (now - this.#saved >= this.#autosaveMs) this.#save();
      this.#next();
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(): void {
    this.#report();
    const result = this.judge();
    this.#save(result);
    this.#post({ event: 'ended', result });
  }

  #fail(error: unknown): void {
    this.#state = 'ended';
    this.#post({ event: 'failed', run: this.id, error: error instanceof Error ? error.message : String(error) });
  }

  #report(): void {
    const a = this.#last;
    if (!a) return;
    const count = this.#losses.reduce((sum, part) => sum + part.length, 0);
    const losses = new Float32Array(count);
    let at = 0;
    for (const part of this.#losses) {
      losses.set(part, at);
      at += part.length;
    }
    this.#losses = [];
    this.#reported = performance.now();
    const perSecond = this.#rate.perSecond;
    const progress: Progress = {
      run: this.id,
      state: this.#state === 'paused' ? 'paused' : 'training',
      step: a.step,
      steps: a.steps,
      epoch: a.epoch,
      epochs: a.epochs,
      loss: a.loss ?? NaN,
      learningRate: a.learningRate,
      stepsPerSecond: perSecond,
      msPerStep: perSecond > 0 ? 1000 / perSecond : 0,
      secondsLeft: perSecond > 0 ? (a.steps - a.step) / perSecond : NaN,
      firstStep: a.step - count,
      losses,
      trainLoss: a.trainLoss,
      validationLoss: a.validationLoss,
      bestEpoch: a.bestEpoch,
    };
    this.#post({ event: 'progress', progress });
  }

  /** Takes the run's bytes now and writes them while training goes on; one save at a time. */
  #save(result?: RunResult, must = this.#state !== 'training'): void {
    this.#saved = performance.now();
    if (!this.#store || this.#storageFull) return;
    if (this.#saves > 0 && !must) return; // a slow disk: the next one will do
    const { step, bytes } = this.#engine.call('save') as { step: number; bytes: Uint8Array };
    const { run, file, title, target, steps } = this.#setup;
    const state: RunState = {
      run,
      file,
      title,
      target,
      state: result ? 'finished' : 'unfinished',
      step,
      steps: result ? step : steps,
      savedAt: Date.now(),
      seconds: this.#seconds,
      msPerStep: result?.msPerStep ?? (this.#rate.perSecond > 0 ? 1000 / this.#rate.perSecond : this.#setup.msPerStep),
    };
    const store = this.#store;
    ++this.#saves;
    this.#saving = this.#saving.then(async () => {
      try {
        await store.save(state, bytes);
        this.#post({ event: 'saved', run, step });
      } catch (error) {
        this.#cannotSave(error);
      } finally {
        --this.#saves;
      }
    });
  }

  #cannotSave(error: unknown): void {
    this.#storageFull = true;
    const why = isQuotaError(error)
      ? 'the browser’s storage is full'
      : error instanceof Error
        ? error.message
        : String(error);
    this.#post({
      event: 'notice',
      text: `This run can no longer be saved: ${why}. It goes on, and the last save is kept; forget old runs to make room.`,
    });
  }
}
