// 10,000 steps of an exported LSTM in Chromium on a software GPU: buffers, their bytes and JavaScript's heap stay what they were. Needs
// build/native/tabgrad.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../../lib/browsers.ts';
import { serve, type Server } from '../../lib/server.ts';
import { bundled } from '../bundled.ts';
import { exportModel } from './export_model.ts';

let browser: Chromium;
let server: Server;
beforeAll(async () => {
  // Tiny, since a program that imitates a GPU takes tens of milliseconds for a step of a small model.
  const folder = exportModel(['--window', '3', '--horizon', '1', '--units', '4', '--batch', '4', '--epochs', '1']);
  const runtime = await bundled(`${import.meta.dirname}/../../../../packages/tabgrad/src/runtime/index.ts`);
  browser = await launchChromium({
    gpu: 'software',
    args: ['--js-flags=--expose-gc', '--enable-precise-memory-info'],
  });
  server = await serve({
    '/': `${import.meta.dirname}/..`,
    '/model/': `${folder}/page/model`,
    '/runtime/': runtime.folder,
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('10,000 steps keep nothing, on the GPU or in JavaScript', { timeout: 900_000 }, async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}page.html`);
  const [before, after] = await page.evaluate(async () => {
    let buffers = 0; // that live
    const { createBuffer } = GPUDevice.prototype;
    const { destroy } = GPUBuffer.prototype;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      ++buffers;
      return createBuffer.call(this, descriptor);
    };
    GPUBuffer.prototype.destroy = function () {
      --buffers;
      return destroy.call(this);
    };
    const bytes = async (name: string) => new Uint8Array(await (await fetch(`/model/${name}`)).arrayBuffer());
    const device = await tg.openDevice();
    const runner = await tg.loadWebGpu(tg.readProgram(await bytes('program.tgp'), 'program'), device);
    const training = new tg.Training(runner, tg.readSafetensors(await bytes('training.safetensors'), 'data'));
    training.plan.epochs = Infinity;
    const seen: { buffers: number; bytes: number; heap: number }[] = [];
    for await (const event of training.train()) {
      if (event.kind !== 'step' || (event.step !== 1000 && event.step !== 10_000)) continue;
      globalThis.gc!();
      const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
      seen.push({ buffers, bytes: runner.bytes, heap: memory.usedJSHeapSize });
      if (event.step === 10_000) break;
    }
    device.destroy();
    return seen;
  });
  console.log(`10,000 steps: ${JSON.stringify(before)} after the first 1000, ${JSON.stringify(after)} at the end`);
  expect(before!.buffers).toBeGreaterThan(0);
  expect([after!.buffers, after!.bytes]).toEqual([before!.buffers, before!.bytes]);
  expect(after!.heap - before!.heap).toBeLessThan(100_000); // 11 bytes a step
  await page.close();
});
