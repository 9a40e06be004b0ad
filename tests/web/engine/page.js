// What the tests of the engine's worker drive: `start` gives an engine, `events` are all that it sent.
import { createEngine } from '/tabgrad/index.js';

globalThis.events = [];
globalThis.engine = createEngine();
engine.on('event', (event) => events.push(event));
engine.on('crash', (error) => events.push({ event: 'crash', error }));

/** The first event of a kind from now on, or one that is there already. */
globalThis.waitFor = async (kind, seconds = 60) => {
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const found = events.find(({ event }) => event === kind);
    if (found) return found;
    const failed = events.find(({ event }) => event === 'failed' || event === 'crash');
    if (failed) throw new Error(JSON.stringify(failed));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no event '${kind}' within ${seconds} s; got ${events.map(({ event }) => event)}`);
};

/** Losses of all steps that were reported, in order. */
globalThis.losses = () =>
  events.filter(({ event }) => event === 'progress').flatMap(({ progress }) => [...progress.losses]);

globalThis.csv = async (name) => new File([await (await fetch(`/data/${name}`)).blob()], name);
globalThis.ready = true;
