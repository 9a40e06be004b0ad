// The page's side of the engine: starts the worker, sends calls, hands events on.
//
//   const engine = createEngine();
//   await engine.call('init', { threads: 0, autosaveSeconds: 5 });
//   engine.on('event', (event) => { if (event.event === 'progress') … });
//
// Does not: hold any state of a run.

import type { CallName, Calls, Event, FromWorker, Reply } from './protocol.ts';

export interface Engine {
  /** Rejects with an Error whose text is meant for people. */
  call<K extends CallName>(name: K, args: Calls[K][0]): Promise<Calls[K][1]>;
  /** 'crash': the worker ended by itself; calls under way are rejected too. Returns what takes the listener off. */
  on(what: 'event', listener: (event: Event) => void): () => void;
  on(what: 'crash', listener: (error: string) => void): () => void;
  /** Ends the worker at once; what was saved is kept. */
  terminate(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const kCrash =
  'The engine ended without a word, perhaps for lack of memory. Load this page again; saved runs are kept.';

/** worker: for tests, or where the bundler wants to make it. */
export function createEngine(
  worker: Worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'tabgrad' }),
): Engine {
  const waiting = new Map<number, Waiting>();
  const eventListeners = new Set<(event: Event) => void>();
  const crashListeners = new Set<(error: string) => void>();
  let lastId = 0;
  let ended = '';

  const settle = (reply: Reply): void => {
    const call = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.ok) call?.resolve(reply.value);
    else call?.reject(new Error(reply.error));
  };
  const end = (reason: string): void => {
    if (ended) return;
    ended = reason;
    worker.terminate();
    for (const call of waiting.values()) call.reject(new Error(reason));
    waiting.clear();
  };
  const crash = (reason: string): void => {
    if (ended) return;
    end(reason);
    for (const listener of crashListeners) listener(reason);
  };

  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (!('event' in data)) settle(data);
    else for (const listener of eventListeners) listener(data);
  };
  worker.onmessageerror = () => crash(kCrash);
  worker.onerror = (event) => {
    event.preventDefault();
    crash(
      event.message
        ? `The engine could not go on: ${event.message}. Load this page again; saved runs are kept.`
        : kCrash,
    );
  };

  return {
    call(name, args) {
      if (ended) return Promise.reject(new Error(ended));
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
        worker.postMessage({ id, call: name, args });
      });
    },
    on(what: 'event' | 'crash', listener: ((event: Event) => void) & ((error: string) => void)) {
      const listeners: Set<typeof listener> =
        what === 'event' ? (eventListeners as Set<typeof listener>) : (crashListeners as Set<typeof listener>);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    terminate: () => end('The engine was ended.'),
  };
}
