// Between the page that takes turns and the workers that hold one side each. Every request gets one answer.
import type { Job } from './jobs.ts';
import type { About } from './side.ts';

export interface Calls {
  load: [{ backend: string }, { about: About; ms: number }];
  /** Makes a job and runs it once. `first`: that run's time, with all compiling that waits until then. */
  prepare: [{ job: Job }, Prepared];
  /** Steps of the train job, or bursts of `repeats` products, each timed. */
  turn: [{ count: number; repeats: number }, { ms: number[]; losses: number[] }];
  /** Of the first batch at the first weights; null: the side cannot tell. */
  gradientError: [Record<string, never>, number | null];
  free: [Record<string, never>, null];
}

export interface Prepared {
  /** Making the job and its first run, in ms. */
  setup: number;
  first: number;
  parameters: number;
  /** The side's own count, else null. */
  flops: number | null;
  hashes: { parameters: string; batches: string };
  /** Loss of the first step; of a product the largest error over a sample, relative to Σ|a·b| of its element. */
  loss: number | null;
  error: number | null;
}

export type Request = { [K in keyof Calls]: { id: number; call: K; args: Calls[K][0] } }[keyof Calls];
export type Answer = { id: number; value: unknown } | { id: number; error: string };
