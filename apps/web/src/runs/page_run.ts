// The run of a page, under way or last looked at: signals for it, its set-up, and the commands of the person.
//
// Does: what is alike for all kinds of runs. Does not: know the calls and events of a kind; its page names them.
// Invariant: an event that comes before the reply that names its run is handled after it.

import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { onCrash, onEvent, textOf } from '../engine/engine';
import type { DeviceUse, Event } from '../engine/types';

export type RunState = 'training' | 'paused' | 'ended' | 'failed';
export type RunCommand = 'pause' | 'resume' | 'stop';

/** What the runs of every page have. */
export interface AnyRun {
  id: string;
  device: DeviceUse;
  state: RunState;
  error: string | null;
  /** Step of the last checkpoint in the browser's storage; null when there was none. */
  savedStep: number | null;
  notices: string[];
}

interface Kind<R extends AnyRun> {
  send: (command: RunCommand) => Promise<unknown>;
  /** The engine's words about settings as the page has them. */
  explain: (error: string) => string;
  /** An event while there is a run, perhaps of another run or page. */
  onEvent: (event: Event, current: R) => void;
}

export interface PageRun<R extends AnyRun> {
  run: Signal<R | null>;
  /** A run is being set up; the engine answers when it stands. */
  starting: Signal<boolean>;
  /** Why it could not be set up, or a command failed. */
  runError: Signal<string | null>;
  training: ReadonlySignal<boolean>;
  setUp: (begin: () => Promise<R>) => Promise<R | null>;
  /** Nothing happens when another run is there by now. */
  change: (id: string, patch: Partial<R> | Partial<AnyRun>) => void;
  /** Adds a notice that is not there yet. */
  notice: (text: string) => void;
  command: (name: RunCommand) => Promise<void>;
}

export function begun(id: string, device: DeviceUse): AnyRun {
  return { id, device, state: 'training', error: null, savedStep: null, notices: [] };
}

/** Once for each page: it listens to the engine from then on. */
export function pageRun<R extends AnyRun>(kind: Kind<R>): PageRun<R> {
  const run = signal<R | null>(null);
  const starting = signal(false);
  const runError = signal<string | null>(null);
  const training = computed(() => starting.value || ['training', 'paused'].includes(run.value?.state ?? ''));
  let early: (() => void)[] = [];

  async function setUp(begin: () => Promise<R>): Promise<R | null> {
    starting.value = true;
    runError.value = null;
    try {
      return (run.value = await begin());
    } catch (error) {
      runError.value = kind.explain(textOf(error));
      early = [];
      return null;
    } finally {
      starting.value = false;
      for (const action of early.splice(0)) action();
    }
  }

  function change(id: string, patch: Partial<R> | Partial<AnyRun>): void {
    const current = run.peek();
    if (current && current.id === id) run.value = { ...current, ...patch };
  }

  function notice(text: string): void {
    const current = run.peek();
    if (current && !current.notices.includes(text)) change(current.id, { notices: [...current.notices, text] });
  }

  async function command(name: RunCommand): Promise<void> {
    runError.value = null;
    const current = run.peek();
    if (!current) return;
    try {
      await kind.send(name);
      if (name === 'pause') change(current.id, { state: 'paused' });
      if (name === 'resume') change(current.id, { state: 'training' });
    } catch (error) {
      runError.value = textOf(error);
    }
  }

  onEvent((event) => {
    const handle = () => {
      const current = run.peek();
      if (current) kind.onEvent(event, current);
    };
    if (starting.peek()) early.push(handle);
    else handle();
  });

  onCrash((error) => {
    const current = run.peek();
    if (!current || !training.peek()) return;
    const kept =
      current.savedStep === null ? 'Nothing of this run was saved.' : `It was saved at step ${current.savedStep}.`;
    change(current.id, { state: 'failed', error: `${error} ${kept}` });
  });

  return { run, starting, runError, training, setUp, change, notice, command };
}
