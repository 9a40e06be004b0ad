// One run under way: trains slice by slice, reports, saves.
//
// Between slices it yields through a MessageChannel, never a timer: browsers slow timers down in hidden tabs, and messages
// from the page still get their turn.
// A GPU that is lost costs the steps since the last checkpoint: the run goes back to it, on a new device, and on the CPU when
// that one is lost too. The losses are those of a run that nothing happened to.

import type { Device, Event, Progress, RunResult } from '../protocol.ts';
import type { Engine } from '../wasm/engine.ts';
import { RateMeter } from './rate.ts';
import { isQuotaError, type RunState, type RunStore } from './store.ts';

const kSliceMs = 20;
const kProgressMs = 100;
/** Between the checkpoints that a lost GPU goes back to. */
const kCheckpointMs = 10_000;

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
  device: Device;
}

/** Reply of the engine's call 'save'. */
interface Checkpoint {
  step: number;
  bytes: Uint8Array;
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
  #device: Device;
  /** On a GPU: what to go back to when it is lost, when that was taken, and how often it was lost since. */
  #checkpoint: Uint8Array | null = null;
  #checkpointed = 0;
  #lostSince = 0;
  /** A slice is under way, or asked for. */
  #scheduled = false;
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
    this.#device = setup.device;
    this.#seconds = setup.seconds;
    this.#saved = performance.now();
    this.#yield.port1.onmessage = () => void this.#slice();
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
    void this.#engine.request('stop');
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
  async judge(): Promise<RunResult> {
    if (!this.#result) {
      const clock = { seconds: this.#setup.seconds, msPerStep: this.#setup.msPerStep };
      const judged = (await this.#engine.request('judge', clock)) as Omit<RunResult, 'run' | 'file'>;
      this.#result = { run: this.id, file: this.file, ...judged };
      this.#state = 'ended';
    }
    return this.#result;
  }

  #next(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#yield.port2.postMessage(null);
  }

  async #slice(): Promise<void> {
    if (this.#state === 'training') await this.#train();
    this.#scheduled = false;
    if (this.#state === 'training') this.#next();
  }

  async #train(): Promise<void> {
    try {
      await this.#keepCheckpoint();
      const start = performance.now();
      const advance = (await this.#engine.request('advance', { milliseconds: kSliceMs })) as Advance;
      const now = performance.now();
      this.#seconds += (now - start) / 1000;
      this.#rate.add(now - start, advance.losses.length);
      this.#losses.push(advance.losses);
      const evaluated = advance.validationLoss.length !== (this.#last?.validationLoss.length ?? 0);
      this.#last = advance;
      if (this.ended) return;
      if (advance.ended) return await this.#end();
      if (evaluated || this.#state === 'paused' || now - this.#reported >= kProgressMs) this.#report();
      if (now - this.#saved >= this.#autosaveMs) this.#save();
    } catch (error) {
      if (this.ended) return;
      if (this.#engine.page?.lost && this.#checkpoint) await this.#recover(this.#checkpoint);
      else this.#fail(error);
    }
  }

  async #keepCheckpoint(): Promise<void> {
    if (this.#device === 'wasm' || (this.#checkpoint && performance.now() - this.#checkpointed < kCheckpointMs)) return;
    this.#keep((await this.#engine.request('save')) as Checkpoint);
  }

  #keep(checkpoint: Checkpoint): void {
    if (this.#device === 'wasm') return;
    this.#checkpoint = checkpoint.bytes;
    this.#checkpointed = performance.now();
    this.#lostSince = 0;
  }

  async #recover(checkpoint: Uint8Array): Promise<void> {
    this.#device = ++this.#lostSince > 1 ? 'wasm' : this.#device;
    const where = this.#device === 'wasm' ? 'on the CPU' : 'on it again';
    const text = `The GPU was lost; the run goes on from its last checkpoint, ${where}.`;
    this.#post({ event: 'notice', text });
    try {
      await this.#engine.request('restore', { ended: false, device: this.#device }, checkpoint);
      this.#losses = [];
      this.#last = null;
    } catch (error) {
      if (this.#device === 'wasm') this.#fail(error);
      else await this.#recover(checkpoint);
    }
  }

  async #end(): Promise<void> {
    this.#report();
    const result = await this.judge();
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

  /** Takes the run's bytes before the next slice and writes them while training goes on; one save at a time. */
  #save(result?: RunResult, must = this.#state !== 'training'): void {
    this.#saved = performance.now();
    if (!this.#store || this.#storageFull) return;
    if (this.#saves > 0 && !must) return; // a slow disk: the next one will do
    const taken = this.#take();
    const { run, file, title, target, steps } = this.#setup;
    const stateOf = (step: number): RunState => ({
      run,
      file,
      title,
      target,
      state: result ? 'finished' : 'unfinished',
      step,
      steps: result ? step : steps,
      savedAt: Date.now(),
      seconds: this.#seconds,
      device: this.#device,
      msPerStep: result?.msPerStep ?? (this.#rate.perSecond > 0 ? 1000 / this.#rate.perSecond : this.#setup.msPerStep),
    });
    const store = this.#store;
    ++this.#saves;
    this.#saving = this.#saving.then(async () => {
      try {
        const checkpoint = await taken;
        if (!checkpoint) return;
        await store.save(stateOf(checkpoint.step), checkpoint.bytes);
        this.#post({ event: 'saved', run, step: checkpoint.step });
      } catch (error) {
        this.#cannotSave(error);
      } finally {
        --this.#saves;
      }
    });
  }

  /** null when the GPU is gone: the next slice finds that too, and goes back. */
  async #take(): Promise<Checkpoint | null> {
    try {
      const checkpoint = (await this.#engine.request('save')) as Checkpoint;
      this.#keep(checkpoint);
      return checkpoint;
    } catch (error) {
      if (this.#engine.page?.lost) return null;
      this.#fail(error);
      return null;
    }
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
