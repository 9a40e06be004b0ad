// The engine of this page: one worker, started once the page may, started anew when it dies.
//
// Does: start-up, the state that the pages show about it, and calls. Does not: know what the calls mean (each page does).

import { effect, signal } from '@preact/signals';
import { createEngine, type Engine } from 'tabgrad';
import type { CallName, Calls, Event, RuntimeInfo } from './types';

/** Often enough that a crash costs little, seldom enough not to matter beside training. */
const kAutosaveSeconds = 5;

export type EngineState =
  { state: 'starting' } | { state: 'ready'; info: RuntimeInfo } | { state: 'failed'; error: string };

export const engineState = signal<EngineState>({ state: 'starting' });

let engine: Engine | null = null;
const listeners = new Set<(event: Event) => void>();
const deathListeners = new Set<(error: string) => void>();

/** threads 0: all cores. */
export async function startEngine(threads: number): Promise<void> {
  engine?.terminate();
  engineState.value = { state: 'starting' };
  const started = createEngine();
  engine = started;
  started.on('event', (event) => {
    if (engine === started) for (const listener of listeners) listener(event);
  });
  started.on('crash', (error) => {
    if (engine !== started) return;
    engineState.value = { state: 'failed', error };
    for (const listener of deathListeners) listener(error);
  });
  try {
    const info = await started.call('init', { threads, autosaveSeconds: kAutosaveSeconds });
    if (engine === started) engineState.value = { state: 'ready', info };
  } catch (error) {
    if (engine === started) engineState.value = { state: 'failed', error: textOf(error) };
  }
}

function settled(): Promise<EngineState> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const now = engineState.value;
      if (now.state === 'starting') return;
      queueMicrotask(() => stop());
      resolve(now);
    });
  });
}

/** Waits for a start under way. Rejects with an Error whose text is meant for people. */
export async function call<K extends CallName>(name: K, args: Calls[K][0]): Promise<Calls[K][1]> {
  const now = await settled();
  if (now.state === 'failed' || !engine)
    throw new Error('The engine is not running. Start it again, or load this page again.');
  return engine.call(name, args);
}

export function onEvent(listener: (event: Event) => void): void {
  listeners.add(listener);
}

/** The worker ended by itself; calls under way are rejected too. */
export function onCrash(listener: (error: string) => void): void {
  deathListeners.add(listener);
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
