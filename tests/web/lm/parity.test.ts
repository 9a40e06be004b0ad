// The GPT presets tiny and small learn the same on every target from the same first weights: natively on the CPU and through WebGPU, in
// Chromium on WebAssembly, WebGPU and WebGL2 (software GPUs). Needs `make site`.
import { execFile } from 'node:child_process';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { differences } from '../lib/differences.ts';
import { serve, type Server } from '../lib/server.ts';
import { kPatience } from '../lib/test_page.ts';

const kRoot = `${import.meta.dirname}/../../..`;
const kDist = process.env.TABGRAD_DIST ?? `${kRoot}/packages/tabgrad/dist`;
const kSteps = 200;
/** The presets' (`tabgrad train lm` has a faster default, with which differences of rounding grow a thousand times as large). */
const kLearningRate = 3e-4;

interface Run {
  device: string;
  initialHash: string;
  losses: number[];
}
declare global {
  function run(device: string, settings: object): Promise<Run>;
}

let browser: Chromium;
let server: Server;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/tabgrad-parity-`);
  browser = await launchChromium({ gpu: 'software' });
  server = await serve({ '/': import.meta.dirname, '/tabgrad/': kDist, '/data/': `${kRoot}/examples/data` });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function natively(preset: string, device: string): Promise<Run> {
  const json = `${folder}/${preset}-${device}.json`;
  const text = `${kRoot}/examples/data/moby-dick.txt`;
  const args = ['train', 'lm', '--text', text, '--preset', preset, '--device', device, '--steps', `${kSteps}`];
  args.push('--lr', `${kLearningRate}`, '--schedule', 'constant', '--warmup', '0');
  args.push('--eval-every', `${kSteps}`, '--eval-batches', '1', '--json', json);
  await promisify(execFile)(`${kRoot}/build/native/bin/tabgrad`, args);
  const result = JSON.parse(await readFile(json, 'utf8'));
  return { device: result.device, initialHash: result.init_hash, losses: result.train_loss };
}

async function inChromium(preset: string, device: string): Promise<Run> {
  const page = await browser.newPage();
  await page.goto(`${server.url}worker.html`);
  await page.waitForFunction(() => globalThis.ready);
  const schedule = { schedule: 'constant', learning_rate: kLearningRate, warmup: 0 };
  const settings = {
    model: { name: preset },
    training: { ...schedule, steps: kSteps, eval_every: kSteps, eval_batches: 1 },
  };
  const result = await page.evaluate(([on, what]) => run(on, what), [device, settings] as const);
  await page.close();
  return result;
}

describe.each(['tiny', 'small'])('GPT %s', (preset) => {
  let cpu: Run;
  beforeAll(async () => {
    cpu = await natively(preset, 'cpu');
  }, kPatience);

  test.each([
    ['native', 'webgpu', natively],
    ['Chromium', 'wasm', inChromium],
    ['Chromium', 'webgpu', inChromium],
    ['Chromium', 'webgl', inChromium],
  ] as const)('%s, %s', { timeout: kPatience }, async (where, device, train) => {
    const got = await train(preset, device);
    expect(got.device).toBe(device);
    expect(got.initialHash).toBe(cpu.initialHash);
    expect(got.losses).toHaveLength(kSteps);
    const { largest, mean } = differences(got.losses, cpu.losses);
    console.log(
      `GPT ${preset}, ${where}, ${device}: largest ${largest.toExponential(1)}, mean ${mean.toExponential(1)}`,
    );
    expect(largest).toBeLessThan(1e-4);
    expect(mean).toBeLessThan(1e-5);
  });
});
