// One run of a language model on bytes in the engine's worker: run(device, settings) → its device, first weights and losses by step.
import { createEngine } from '/tabgrad/index.js';

globalThis.run = async (device, settings) => {
  const engine = createEngine();
  const losses = [];
  let finish, fail;
  const ended = new Promise((resolve, reject) => ([finish, fail] = [resolve, reject]));
  engine.on('crash', (error) => fail(new Error(error)));
  engine.on('event', (event) => {
    if (event.event === 'lm.failed') fail(new Error(event.error));
    if (event.event === 'lm.ended') finish();
    if (event.event !== 'lm.progress') return;
    event.progress.losses.forEach((loss, i) => (losses[event.progress.firstStep + i] = loss));
  });
  await engine.call('init', { threads: 2, autosaveSeconds: 3600 });
  const file = await (await fetch('/data/moby-dick.txt')).blob();
  await engine.call('lm.text', { files: [{ name: 'moby-dick.txt', file }] });
  await engine.call('lm.prepare', { tokenizer: 'byte', validation: 0.1 });
  const started = await engine.call('lm.train', { settings, from: false, device, sampleSeconds: 0 });
  await ended;
  engine.terminate();
  return { device: started.device.device, initialHash: started.initialHash, losses };
};
globalThis.ready = true;
