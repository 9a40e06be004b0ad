// A run of a language model: what it reports, keeps and writes on the way.

import type { Event } from '../protocol.ts';
import { joined } from '../runs/joined.ts';
import { type Advance, type RunHost, type RunStart, TrainingRun } from '../runs/training_run.ts';
import type { Turns } from '../runs/turns.ts';
import type { LmNumbers, LmProgress, LmResult, LmRunFacts, SavedLmRun } from './protocol.ts';
import type { Writer } from './writer.ts';

const kSampleTokens = 160;

export type LmRunState = Omit<SavedLmRun, 'bytes'>;

/** Reply of the engine's calls 'lm.advance' and 'lm.history'. */
export interface LmAdvance extends Advance, LmNumbers {
  end: LmResult['ended'];
  message: string;
  steps: number;
  validating: boolean;
}

export function numbersOf({
  firstStep,
  losses,
  gradNorms,
  learningRates,
  validationStep,
  validationLoss,
  bestStep,
}: LmNumbers): LmNumbers {
  return { firstStep, losses, gradNorms, learningRates, validationStep, validationLoss, bestStep };
}

export interface LmRunParts {
  facts: LmRunFacts;
  post: (event: Event) => void;
  writer: Writer;
  turns: Turns;
  /** Between two samples of what it writes; 0: none. */
  sampleSeconds: number;
  /** The numbers so far, of a restored run. */
  before: LmAdvance | null;
}

export class LmRun extends TrainingRun<LmAdvance, LmRunState> {
  readonly facts: LmRunFacts;
  readonly #parts: LmRunParts;
  #now: LmAdvance | null;
  #sampled: number;
  #result: LmResult | null = null;

  constructor(host: RunHost<LmRunState>, start: RunStart, parts: LmRunParts) {
    super(host, start, 'lm.');
    this.facts = parts.facts;
    this.#parts = parts;
    this.#now = parts.before;
    this.#sampled = performance.now();
    if (parts.before?.ended) this.#result = this.#resultOf(parts.before);
  }

  get result(): LmResult | null {
    return this.#result;
  }

  protected override turn<T>(work: () => Promise<T>): Promise<T> {
    return this.#parts.turns.take(work);
  }

  protected override async before(): Promise<void> {
    const { sampleSeconds } = this.#parts;
    if (sampleSeconds <= 0 || performance.now() - this.#sampled < 1000 * sampleSeconds) return;
    await this.#sample();
  }

  protected report(last: LmAdvance, slices: LmAdvance[], paused: boolean): void {
    this.#now = last;
    const losses = joined(slices.map((slice) => slice.losses));
    const progress: LmProgress = {
      ...numbersOf(last),
      run: this.id,
      state: paused ? 'paused' : 'training',
      step: last.step,
      steps: last.steps,
      validating: last.validating,
      firstStep: last.step - losses.length,
      losses,
      gradNorms: joined(slices.map((slice) => slice.gradNorms)),
      learningRates: joined(slices.map((slice) => slice.learningRates)),
      stepsPerSecond: this.stepsPerSecond,
      secondsLeft: this.stepsPerSecond > 0 ? (last.steps - last.step) / this.stepsPerSecond : NaN,
      seconds: this.seconds,
    };
    this.#parts.post({ event: 'lm.progress', progress });
  }

  protected async finish(): Promise<void> {
    this.markEnded();
    this.#result = this.#resultOf(this.last!);
    this.save(true);
    // The run is over: a last sample that fails takes nothing from it.
    if (this.#parts.sampleSeconds > 0 && this.#result.ended !== 'diverged') await this.#sample().catch(() => {});
    this.#parts.post({ event: 'lm.ended', result: this.#result });
  }

  protected stateAt(step: number): LmRunState {
    const now = this.last ?? this.#now;
    return {
      ...this.facts,
      device: this.device,
      state: this.#result ? 'finished' : 'unfinished',
      step,
      steps: this.facts.settings.training.steps,
      seconds: this.seconds,
      msPerStep: this.msPerStep,
      validationStep: now?.validationStep ?? [],
      validationLoss: now?.validationLoss ?? [],
      savedAt: Date.now(),
    };
  }

  protected tellFailed(error: string): void {
    this.#parts.post({ event: 'lm.failed', run: this.id, error });
  }
  protected tellSaved(step: number): void {
    this.#parts.post({ event: 'lm.saved', run: this.id, step });
  }
  protected tellNotice(text: string): void {
    this.#parts.post({ event: 'lm.notice', text });
  }

  #resultOf({ end, message, step }: LmAdvance): LmResult {
    return { run: this.id, ended: end, message, step, seconds: this.seconds, msPerStep: this.msPerStep };
  }

  /** What it writes by now, from a line's beginning on. */
  async #sample(): Promise<void> {
    const { post, writer } = this.#parts;
    const step = (this.last ?? this.#now)?.step ?? 0;
    const say = (text: string, goesOn: boolean): void =>
      post({ event: 'lm.sample', sample: { run: this.id, step, text, goesOn } });
    const sampling = { temperature: 0.8, topK: 0, topP: 1, repetitionPenalty: 1, seed: '1' };
    const request = { source: 'run' as const, prompt: '\n', sampling, maxTokens: kSampleTokens, stop: [] };
    try {
      await writer.write(request, (tokens) => say(tokens.map((token) => token.text).join(''), true));
      say('', false);
    } finally {
      this.#sampled = performance.now();
    }
  }
}
