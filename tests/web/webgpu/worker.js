// One run of the engine in a worker: run(device, settings, { loseAt }) → what it said, with the losses by step.
import { createEngine } from '/tabgrad/index.js';

globalThis.run = async (device, settings, { loseAt = [] } = {}) => {
  const worker = new Worker('losing_worker.js', { type: 'module' });
  const engine = createEngine(worker);
  const [losses, notices, lose] = [[], [], [...loseAt]];
  let finish, fail;
  const ended = new Promise((resolve, reject) => ([finish, fail] = [resolve, reject]));
  engine.on('crash', (error) => fail(new Error(error)));
  engine.on('event', (event) => {
    if (event.event === 'notice') notices.push(event.text);
    if (event.event === 'failed') fail(new Error(event.error));
    if (event.event === 'ended') finish(event.result);
    if (event.event !== 'progress') return;
    event.progress.losses.forEach((loss, i) => (losses[event.progress.firstStep + i] = loss));
    if (losses.length >= lose[0]) {
      lose.shift();
      worker.postMessage({ lose: true });
    }
  });
  const info = await engine.call('init', { threads: 2, autosaveSeconds: 1 });
  const file = await (await fetch('/data/seattle-weather.csv')).blob();
  await engine.call('open', { name: 'seattle-weather.csv', file });
  const started = await engine.call('train', { settings, device });
  const result = await ended;
  const runs = await engine.call('runs', {});
  engine.terminate();
  const { trainLoss, validationLoss, metrics } = result;
  return { info, device: started.device, losses, notices, trainLoss, validationLoss, metrics, on: result.device, runs };
};
globalThis.ready = true;
