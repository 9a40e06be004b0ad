// What `tabgrad export --to program` writes, trained by the runtime alone in Chromium (a software GPU): the losses of the
// native program, and the example's page. Needs build/native/tabgrad.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../../lib/browsers.ts';
import { serve, type Server } from '../../lib/server.ts';
import { bundled } from '../bundled.ts';
import { exportModel } from './export_model.ts';

const kRoot = join(import.meta.dirname, '../../../..');
// Small, since a program that imitates a GPU takes a second for a step of the default model.
const kEpochs = 7;
const kSteps = 224;

let browser: Chromium;
let server: Server;
let native: { loss: number[]; val_loss: number[] };
beforeAll(async () => {
  const sizes = ['--window', '6', '--horizon', '3', '--units', '8', '--batch', '32', '--epochs', String(kEpochs)];
  const folder = exportModel(['--calendar', 'yearday', ...sizes]);
  native = JSON.parse(readFileSync(`${folder}/run.json`, 'utf8'));
  for (const name of ['index.html', 'train.js']) {
    copyFileSync(join(kRoot, 'examples/exported-program', name), join(folder, 'page', name));
  }
  const runtime = await bundled(join(kRoot, 'packages/tabgrad/src/runtime/index.ts'));
  copyFileSync(runtime.file, join(folder, 'page/runtime.js'));
  browser = await launchChromium({ gpu: 'software' });
  server = await serve(
    { '/': `${folder}/page`, '/test/': join(import.meta.dirname, '..'), '/runtime/': runtime.folder },
    { isolated: false, headers: { 'Content-Security-Policy': "default-src 'self'; style-src 'unsafe-inline'" } },
  );
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('its losses are the native program’s', { timeout: 200_000 }, async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}test/page.html`);
  const epochs = await page.evaluate(async () => {
    const bytes = async (name: string) => new Uint8Array(await (await fetch(`/model/${name}`)).arrayBuffer());
    const device = await tg.openDevice();
    const runner = await tg.loadWebGpu(tg.readProgram(await bytes('program.tgp'), 'program'), device);
    const training = new tg.Training(runner, tg.readSafetensors(await bytes('training.safetensors'), 'data'));
    const found: { train: number | null; validation: number | null }[] = [];
    for await (const event of training.train()) if (event.kind === 'epoch') found.push(event);
    device.destroy();
    return found;
  });
  const largest = (a: (number | null)[], b: number[]) =>
    Math.max(...b.map((want, i) => Math.abs(a[i]! - want) / Math.abs(want)));
  expect(epochs).toHaveLength(kEpochs + 1);
  expect(
    largest(
      epochs.slice(1).map((e) => e.train),
      native.loss,
    ),
  ).toBeLessThan(1e-4);
  expect(
    largest(
      epochs.map((e) => e.validation),
      native.val_loss,
    ),
  ).toBeLessThan(1e-4);
  await page.close();
});

test('the example trains, without WebAssembly', { timeout: 200_000 }, async () => {
  const page = await browser.newPage();
  await page.goto(`${server.url}index.html`);
  await page.getByRole('button', { name: 'Train' }).click();
  const status = page.getByRole('status');
  await expect.poll(() => status.innerText(), { timeout: 150_000 }).toMatch(/^Trained/);
  expect(await status.innerText()).toContain(`Trained ${kSteps} steps on webgpu: `);
  expect(await page.locator('polyline').getAttribute('points')).toMatch(/^0,\S+( \S+){223}$/);
  expect(server.requests.filter((path) => path.endsWith('.wasm'))).toEqual([]);
  expect(browser.outside).toEqual([]);
  await page.close();
});
