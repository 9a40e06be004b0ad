// packages/tabgrad's runner of Programs on WebGPU in Chromium, on a software GPU: a Program of two shaders whose results are
// known, errors, a lost device, and a steady state that keeps nothing.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smallParts, write } from '../../../packages/tabgrad/test/small_program.ts';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { serve, type Server } from '../lib/server.ts';
import { bundled } from './bundled.ts';

type Runtime = typeof import('../../../packages/tabgrad/src/runtime/index.ts');
declare global {
  var tg: Runtime;
  var small: (
    change?: (text: string) => string,
  ) => Promise<import('../../../packages/tabgrad/src/runtime/runner.ts').Runner>;
  var device: import('../../../packages/tabgrad/src/runtime/webgpu_device.ts').WebGpuDevice;
}

let browser: Chromium;
let server: Server;
let page: Page;
beforeAll(async () => {
  browser = await launchChromium({ gpu: 'software', args: ['--js-flags=--expose-gc', '--enable-precise-memory-info'] });
  const runtime = await bundled(`${import.meta.dirname}/../../../packages/tabgrad/src/runtime/index.ts`);
  server = await serve({ '/': import.meta.dirname, '/runtime/': runtime.folder });
  page = await browser.newPage();
  await page.goto(`${server.url}page.html`);
  const bytes = [...write(smallParts())];
  await page.evaluate(async (program) => {
    globalThis.device = await tg.openDevice();
    globalThis.small = async (change = (text) => text) => {
      const read = tg.readProgram(new Uint8Array(program), 'small.tgp');
      for (const kernel of read.kernels) kernel.text = change(kernel.text);
      return tg.loadWebGpu(read, device);
    };
  }, bytes);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('runs entries in order, with uniforms and weights that change from run to run', async () => {
  const results = await page.evaluate(async () => {
    const runner = await small();
    runner.write('x', new Float32Array([1, 2, 3, 4]));
    runner.write('w', new Float32Array([10, 0, 0, 0]));
    runner.setUniform('scale', 2);
    runner.run('step');
    const first = await runner.read('y');
    runner.setUniform('scale', -1);
    runner.run('step');
    const pending = runner.read('y'); // of this run, whatever is run before it is there
    runner.run('step');
    runner.run('peek');
    const all = [first, await pending, await runner.read('y'), await runner.read('w'), await runner.read('z')];
    runner.destroy();
    return all.map((values) => [...values]);
  });
  expect(results).toEqual([
    [12, 14, 16, 18],
    [21, 20, 19, 18],
    [42, 41, 40, 39],
    [85, 75, 75, 75],
    [1, 4, 9, 16],
  ]);
});

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

describe('errors', () => {
  const error = (what: () => Promise<unknown>) => page.evaluate(what).then(String, (e: Error) => e.message);

  test('unknown names and wrong sizes', async () => {
    expect(await error(async () => (await small()).write('v', new Float32Array(4)))).toContain("no buffer 'v'");
    expect(await error(async () => (await small()).write('x', new Float32Array(5)))).toContain(
      "'x' has 4 elements, not 5",
    );
    expect(await error(async () => (await small()).run('stop'))).toContain("no entry point 'stop'");
    expect(await error(async () => (await small()).read('step/t'))).toContain("no buffer 'step/t'");
  });

  test('a shader that the device refuses is named, with the reason', async () => {
    const refused = await error(() => small((text) => text.replace('u[1].x', 'u[1].q')));
    expect(refused).toContain("refuses the shader 'small'");
    expect(refused).toMatch(/swizzle|member/);
  });

  test('bindings that do not fit the text', async () => {
    expect(
      await error(async () => {
        const runner = await small((text) => text.replace('@binding(3)', '@binding(4)'));
        runner.run('step');
        await runner.read('y');
        await runner.read('y');
      }),
    ).toMatch(/\[webgpu\].*binding/i);
  });
});

test('a lost device is told apart, and a new one goes on where the last checkpoint was', async () => {
  const outcome = await page.evaluate(async () => {
    const steps = 40;
    const train = async (lose: number) => {
      const losses: number[] = [];
      let saved = { step: 0, w: new Float32Array([0, 1, 2, 3]) };
      let lost = 0;
      for (;;) {
        const runner = await small();
        try {
          runner.write('x', new Float32Array([1, 2, 3, 4]));
          runner.write('w', saved.w);
          for (let step = saved.step; step < steps; ++step) {
            if (step % 8 === 0) saved = { step, w: await runner.read('w') };
            runner.setUniform('scale', 1 / (1 + step));
            runner.run('step');
            if (step === lose && lost === 0) device.gpu.destroy();
            losses[step] = (await runner.read('y'))[1]!;
          }
          return { losses, lost };
        } catch (e) {
          if (!(e instanceof tg.DeviceLost)) throw e;
          ++lost;
          globalThis.device = await tg.openDevice();
        }
      }
    };
    const want = await train(-1);
    const got = await train(21);
    return { want, got };
  });
  expect(outcome.want.lost).toBe(0);
  expect(outcome.got.lost).toBe(1);
  expect(outcome.got.losses).toEqual(outcome.want.losses);
  expect(outcome.got.losses).toHaveLength(40);
});

test('5000 runs keep nothing, on the GPU or in JavaScript', async () => {
  const { bytes, heap } = await page.evaluate(async () => {
    const runner = await small();
    const made = GPUDevice.prototype.createBuffer;
    let buffers = 0;
    GPUDevice.prototype.createBuffer = function (descriptor) {
      ++buffers;
      return made.call(this, descriptor);
    };
    const used = () => (
      globalThis.gc!(),
      (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize
    );
    const x = new Float32Array([1, 2, 3, 4]);
    const run = async (count: number) => {
      for (let i = 0; i < count; ++i) {
        runner.write('x', x);
        runner.setUniform('scale', i);
        await runner.room();
        runner.run('step');
        if (i % 4 === 0) await runner.read('y');
        if (i % 100 === 0) await runner.read('w');
      }
    };
    await run(500);
    const before = { bytes: runner.bytes, heap: used(), buffers };
    await run(5000);
    const after = { bytes: runner.bytes, heap: used(), buffers };
    GPUDevice.prototype.createBuffer = made;
    return { bytes: [before.bytes, after.bytes, after.buffers - before.buffers], heap: after.heap - before.heap };
  });
  expect(bytes[1]).toBe(bytes[0]);
  expect(bytes[2]).toBe(0);
  expect(heap).toBeLessThan(100_000);
});
