// Loads the two files that `tabgrad export --to program` wrote, trains, and draws the losses.
import { loadWebGpu, openDevice, readProgram, readSafetensors, Training } from './runtime.js';

const status = document.querySelector('#status');
const line = document.querySelector('polyline');

async function bytes(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

function draw(losses) {
  const top = Math.max(...losses);
  line.setAttribute('points', losses.map((y, i) => `${i / losses.length},${1 - y / top}`).join(' '));
}

async function train() {
  status.value = 'Loading …';
  const device = await openDevice();
  const runner = await loadWebGpu(readProgram(await bytes('model/program.tgp'), 'program.tgp'), device);
  const data = readSafetensors(await bytes('model/training.safetensors'), 'training.safetensors');
  const training = new Training(runner, data);
  const losses = [];
  let drawn = 0;
  let last = null;
  for await (const event of training.train()) {
    if (event.kind === 'step') losses.push(event.loss);
    if (event.kind === 'epoch') last = event;
    if (event.kind === 'step' && performance.now() - drawn < 100) continue;
    drawn = performance.now();
    draw(losses);
    status.value = `${runner.description}: step ${losses.length} of ${training.steps}, loss ${losses.at(-1)?.toFixed(5) ?? '–'}`;
  }
  draw(losses);
  status.value = `Trained ${losses.length} steps on ${runner.description}. Mean loss of the last epoch ${last.train.toFixed(5)}, on validation data ${last.validation?.toFixed(5) ?? 'not known'}.`;
  device.destroy();
}

document.querySelector('#train').onclick = async ({ target }) => {
  target.disabled = true;
  try {
    await train();
  } catch (error) {
    status.value = error.message;
  }
  target.disabled = false;
};
