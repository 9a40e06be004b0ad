// One run under way, of any kind: trains slice by slice, reports, saves.
//
// Does: slices, pause and stop, autosaves, checkpoints against a lost GPU. Does not: know what is trained; a kind of run
// extends it with what it reports and keeps (forecast/run.ts, lm/run.ts).
//
// Between slices it yields through a MessageChannel, never a timer: browsers slow timers down in hidden tabs, and messages
// from the page still get their turn.
// A GPU that is lost costs the steps since the last checkpoint: the run goes back to it, on a new device, and on the CPU when
// that one is lost too. The losses are those of a run that nothing happened to.

import type { Device } from '../protocol.ts';
import type { Engine } from '../wasm/engine.ts';
import { RateMeter } from './rate.ts';
import { isQuotaError, type RunState, type RunStore } from './store.ts';

const kSliceMs = 20;
const kProgressMs = 100;
/** Between the checkpoints that a lost GPU goes back to. */
const kCheckpointMs = 10_000;

/** What every kind's reply of the engine's call 'advance' has. */
export interface Advance {
  ended: boolean;
  step: number;
  /** Of the steps taken. */
  losses: Float32Array;
  validationLoss: number[];
}

/** What a run needs of the worker. */
export interface RunHost<S extends RunState> {
  engine: Engine;
  /** null: nothing is saved. */
  store: RunStore<S> | null;
  autosaveSeconds: number;
  /** Called when the run is let go of. */
  unlock: () => void;
}

export interface RunStart {
  run: string;
  device: Device;
  /** Of the sessions before, when restored. */
  seconds: number;
  msPerStep: number;
}

/** Reply of the engine's call 'save'. */
interface Checkpoint {
  step: number;
  bytes: Uint8Array;
}

export abstract class TrainingRun<A extends Advance, S extends RunState> {
  protected readonly engine: Engine;
  readonly #host: RunHost<S>;
  readonly #start: RunStart;
  /** Before the names of the engine's calls. */
  readonly #prefix: string;
  readonly #yield = new MessageChannel();
  readonly #rate = new RateMeter();

  #state: 'training' | 'paused' | 'ended' = 'paused';
  #seconds: number;
  #unreported: A[] = [];
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
  #last: A | null = null;

  protected constructor(host: RunHost<S>, start: RunStart, prefix: string) {
    this.engine = host.engine;
    this.#host = host;
    this.#start = start;
    this.#prefix = prefix;
    this.#device = start.device;
    this.#seconds = start.seconds;
    this.#saved = performance.now();
    this.#yield.port1.onmessage = () => void this.#slice();
  }

  /** Tells the page how the run stands (`last`), and of the slices since the report before. */
  protected abstract report(last: A, slices: A[], paused: boolean): void;
  /** The run has ended by itself or by stop(): makes what comes of it and tells the page. */
  protected abstract finish(): Promise<void>;
  /** What to keep of the run beside its checkpoint. */
  protected abstract stateAt(step: number): S;
  protected abstract tellFailed(error: string): void;
  protected abstract tellSaved(step: number): void;
  protected abstract tellNotice(text: string): void;
  /** Comes before every slice. */
  protected async before(): Promise<void> {}
  /** Does the work of a slice, when others who use the run's weights are not. */
  protected turn<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  get id(): string {
    return this.#start.run;
  }
  get ended(): boolean {
    return this.#state === 'ended';
  }
  protected get device(): Device {
    return this.#device;
  }
  /** Of training, over all sessions. */
  protected get seconds(): number {
    return this.#seconds;
  }
  /** 0 before the first step. */
  protected get stepsPerSecond(): number {
    return this.#rate.perSecond;
  }
  protected get msPerStep(): number {
    return this.#rate.perSecond > 0 ? 1000 / this.#rate.perSecond : this.#start.msPerStep;
  }
  protected get last(): A | null {
    return this.#last;
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
    this.save();
  }

  stop(): void {
    if (this.#state === 'ended') return;
    void this.engine.request(`${this.#prefix}stop`);
    this.start();
  }

  /** Takes what a later restore needs, before something that may end the run. */
  checkpoint(): void {
    if (this.#state !== 'ended') this.save(true);
  }

  /** Lets go of the run once its saves are written; it can be restored. */
  async leave(): Promise<void> {
    this.#state = 'ended';
    await this.#saving;
    this.#yield.port1.close();
    this.#host.unlock();
  }

  protected markEnded(): void {
    this.#state = 'ended';
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
      await this.before();
      if (this.#state !== 'training') return;
      let start = 0;
      const advance = await this.turn(() => {
        start = performance.now();
        return this.engine.request(`${this.#prefix}advance`, { milliseconds: kSliceMs }) as Promise<A>;
      });
      const now = performance.now();
      this.#seconds += (now - start) / 1000;
      this.#rate.add(now - start, advance.losses.length);
      this.#unreported.push(advance);
      const evaluated = advance.validationLoss.length !== (this.#last?.validationLoss.length ?? 0);
      this.#last = advance;
      if (this.ended) return;
      if (advance.ended) return await this.#end();
      if (evaluated || this.#state !== 'training' || now - this.#reported >= kProgressMs) this.#report();
      if (now - this.#saved >= this.#host.autosaveSeconds * 1000) this.save();
    } catch (error) {
      if (this.ended) return;
      if (this.engine.page?.lost && this.#checkpoint) await this.#recover(this.#checkpoint);
      else this.#fail(error);
    }
  }

  async #keepCheckpoint(): Promise<void> {
    if (this.#device === 'wasm' || (this.#checkpoint && performance.now() - this.#checkpointed < kCheckpointMs)) return;
    this.#keep((await this.engine.request(`${this.#prefix}save`)) as Checkpoint);
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
    this.tellNotice(`The GPU was lost; the run goes on from its last checkpoint, ${where}.`);
    try {
      const args = { ended: false, device: this.#device };
      await this.engine.request(`${this.#prefix}restore`, args, checkpoint);
      this.#unreported = [];
      this.#last = null;
    } catch (error) {
      if (this.#device === 'wasm') this.#fail(error);
      else await this.#recover(checkpoint);
    }
  }

  async #end(): Promise<void> {
    this.#report();
    await this.finish();
  }

  #fail(error: unknown): void {
    this.#state = 'ended';
    this.tellFailed(error instanceof Error ? error.message : String(error));
  }

  #report(): void {
    if (!this.#last) return;
    const slices = this.#unreported;
    this.#unreported = [];
    this.#reported = performance.now();
    this.report(this.#last, slices, this.#state === 'paused');
  }

  /** Takes the run's bytes before the next slice and writes them while training goes on; one save at a time. */
  protected save(must = this.#state !== 'training'): void {
    this.#saved = performance.now();
    const { store } = this.#host;
    if (!store || this.#storageFull) return;
    if (this.#saves > 0 && !must) return; // a slow disk: the next one will do
    const taken = this.#take();
    ++this.#saves;
    this.#saving = this.#saving.then(async () => {
      try {
        const checkpoint = await taken;
        if (!checkpoint) return;
        await store.save(this.stateAt(checkpoint.step), checkpoint.bytes);
        this.tellSaved(checkpoint.step);
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
      const checkpoint = (await this.engine.request(`${this.#prefix}save`)) as Checkpoint;
      this.#keep(checkpoint);
      return checkpoint;
    } catch (error) {
      if (this.engine.page?.lost) return null;
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
    this.tellNotice(
      `This run can no longer be saved: ${why}. It goes on, and the last save is kept; forget old runs to make room.`,
    );
  }
}
