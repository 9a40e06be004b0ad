// A forecasting run in the engine's worker on WebGPU and WebGL2 (Chromium, a software GPU): the numbers of the CPU's run, which device is
// chosen and why, and a GPU that is lost in the middle. Needs `npm run build -w tabgrad`.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { differences } from '../lib/differences.ts';
import { serve, type Server } from '../lib/server.ts';

const kRoot = `${import.meta.dirname}/../../..`;
const kDist = process.env.TABGRAD_DIST ?? `${kRoot}/packages/tabgrad/dist`;
const kSlow = 600_000;
const kEpochs = 7;
const kSteps = 224;

declare global {
  function run(device: string, settings: object, options?: { loseAt?: number[] }): Promise<any>;
}

let browser: Chromium;
let server: Server;
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software' });
  server = await serve({ '/': import.meta.dirname, '/tabgrad/': kDist, '/data/': `${kRoot}/examples/data` });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

async function open(): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(`${server.url}worker.html`);
  await page.waitForFunction(() => globalThis.ready);
  return page;
}

async function train(kind: string, device: string, loseAt: number[] = [], epochs = kEpochs): Promise<any> {
  const page = await open();
  // Small, since a program that imitates a GPU takes a second for a step of the default model.
  const settings = {
    target: 'temp_max',
    model: { kind, window: 6, horizon: 3, units: 8 },
    training: { epochs, batch: 32, patience: 0, seed: '7' },
  };
  const result = await page.evaluate(([d, s, at]) => run(d, s, { loseAt: at }), [device, settings, loseAt] as const);
  await page.close();
  return result;
}

describe.each([
  ['lstm', 'webgpu'],
  ['gru', 'webgpu'],
  ['transformer', 'webgpu'],
  ['lstm', 'webgl'],
])('%s, %s', (kind, device) => {
  test('200 steps on the GPU give the CPU’s losses', { timeout: kSlow }, async () => {
    const cpu = await train(kind, 'wasm');
    const gpu = await train(kind, device);
    expect(cpu.device.device).toBe('wasm');
    expect(gpu.device).toMatchObject({ device, reason: '' });
    expect(gpu.on).toMatch(new RegExp(`^${device}: .*software adapter`));
    expect(gpu.losses.length).toBe(kSteps);
    const { largest, mean } = differences(gpu.losses, cpu.losses);
    console.log(`${kind}, ${device}: largest difference ${largest.toExponential(1)}, mean ${mean.toExponential(1)}`);
    expect(largest).toBeLessThan(1e-4);
    expect(mean).toBeLessThan(1e-5);
    expect(differences(gpu.validationLoss, cpu.validationLoss).largest).toBeLessThan(1e-4);
    expect(
      differences(
        gpu.metrics.map((m: any) => m.rmse),
        cpu.metrics.map((m: any) => m.rmse),
      ).largest,
    ).toBeLessThan(1e-3);
  });
});

test.each(['webgpu', 'webgl'])(
  'a GPU lost in the middle costs nothing but time: %s',
  { timeout: kSlow },
  async (device) => {
    // Two epochs of 32 steps: each load compiles all shaders anew.
    const whole = await train('lstm', device, [], 2);
    const lost = await train('lstm', device, [20], 2);
    expect(whole.notices).toEqual([]);
    expect(lost.notices.length).toBeGreaterThan(0);
    for (const notice of lost.notices)
      expect(notice).toMatch(/The GPU was lost; the run goes on from its last checkpoint/);
    expect(lost.losses).toEqual(whole.losses);
    expect(lost.validationLoss).toEqual(whole.validationLoss);
    expect(lost.metrics).toEqual(whole.metrics);
  },
);

test('a GPU that is only imitated is used when asked for, not by itself', { timeout: kSlow }, async () => {
  const { info, device } = await train('lstm', 'auto');
  expect(info.gpus).toMatchObject([
    { device: 'webgpu', software: true },
    { device: 'webgl', software: true },
  ]);
  expect(device.device).toBe('wasm');
  expect(device.reason).toMatch(/software/);
});
