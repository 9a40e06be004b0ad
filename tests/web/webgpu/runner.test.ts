// packages/tabgrad's runner of Programs on WebGPU in Chromium, on a software GPU: a Program of two shaders whose results are
// known, errors, a lost device, and a steady state that keeps nothing.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smallParts } from '../../../packages/tabgrad/test/small_program.ts';
import {
  errorOf,
  goesOnAfterLoss,
  hasKnownResults,
  keepsNothing,
  openPage,
  refusesUnknownNamesAndWrongSizes,
} from '../lib/small_runner.ts';

type WebGpuDevice = import('../../../packages/tabgrad/src/runtime/webgpu_device.ts').WebGpuDevice;

let page: Page;
let close: (() => Promise<void>) | undefined;
beforeAll(async () => {
  ({ page, close } = await openPage(import.meta.dirname, smallParts(), () => {
    globalThis.openGpu = async () => void (globalThis.gpu = await tg.openDevice());
    globalThis.load = (program) => tg.loadWebGpu(program, gpu as WebGpuDevice);
    globalThis.loseGpu = () => (gpu as WebGpuDevice).gpu.destroy();
  }));
});
afterAll(() => close?.());

test('runs entries in order, with uniforms and weights that change from run to run', () => hasKnownResults(page));

test('a caller’s device serves, and stays the caller’s', async () => {
  const alive = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const mine = await adapter!.requestDevice();
    const used = tg.useDevice(mine);
    const { program } = await small();
    const runner = await tg.loadWebGpu(program, used);
    runner.run('peek');
    await runner.read('z');
    runner.destroy();
    used.destroy();
    const lost = await Promise.race([mine.lost, new Promise((later) => setTimeout(() => later(null), 200))]);
    return { lost: lost !== null, named: runner.description };
  });
  expect(alive.lost).toBe(false);
  expect(alive.named).toMatch(/software adapter, no GPU/);
});

test('what a device has of subgroups is known; a Program that relies on more is refused', async () => {
  const [own, mine, refused, half] = await page.evaluate(async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const without = tg.useDevice(await adapter!.requestDevice());
    const { program } = await small();
    const load = (device: WebGpuDevice) =>
      tg.loadWebGpu({ ...program, subgroups: 4 }, device).then(String, (e: Error) => e.message);
    const f16 = await tg.loadWebGpu({ ...program, f16: true }, without).then(String, (e: Error) => e.message);
    await load(gpu as WebGpuDevice); // of subgroups of 4
    return [(gpu as WebGpuDevice).facts.subgroups, without.facts.subgroups, await load(without), f16] as const;
  });
  expect([own, mine]).toEqual([4, 0]); // SwiftShader's, and those of a device that was not asked for them
  expect(refused).toMatch(
    /relies on subgroups of 4, and .* has none: compile it for this device, or without subgroups/,
  );
  expect(half).toMatch(/stores activations as f16, and .* has no shader-f16/);
});

describe('errors', () => {
  const error = (what: () => Promise<unknown>) => errorOf(page, what);

  test('unknown names and wrong sizes', () => refusesUnknownNamesAndWrongSizes(page));

  test('a shader that the device refuses is named, with the reason', async () => {
    const refused = await error(() =>
      small((program) => {
        for (const kernel of program.kernels) kernel.text = kernel.text.replace('u[1].x', 'u[1].q');
      }),
    );
    expect(refused).toContain("refuses the shader 'small'");
    expect(refused).toMatch(/swizzle|member/);
  });

  test('bindings that do not fit the text', async () => {
    expect(
      await error(async () => {
        const runner = await small((program) => {
          for (const kernel of program.kernels) kernel.text = kernel.text.replace('@binding(3)', '@binding(4)');
        });
        runner.run('step');
        await runner.read('y');
        await runner.read('y');
      }),
    ).toMatch(/\[webgpu\].*binding/i);
  });
});

test('a lost device is told apart, and a new one goes on where the last checkpoint was', () => goesOnAfterLoss(page));

test('5000 runs keep nothing, on the GPU or in JavaScript', () => keepsNothing(page, 'GPUDevice', ['createBuffer']));
