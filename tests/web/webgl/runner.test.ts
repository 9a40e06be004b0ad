// packages/tabgrad's runner of Programs on WebGL2 in Chromium, on a software GPU: a Program of three shaders whose results are
// known, errors, a lost context, and a steady state that keeps nothing.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smallGlParts, write } from '../../../packages/tabgrad/test/small_program.ts';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { serve, type Server } from '../lib/server.ts';
import { bundled } from '../webgpu/bundled.ts';

type Runner = import('../../../packages/tabgrad/src/runtime/runner.ts').Runner;
type Program = import('../../../packages/tabgrad/src/program/program.ts').Program;
declare global {
  var smallGl: (change?: (program: Program) => void) => Promise<Runner>;
  var context: import('../../../packages/tabgrad/src/runtime/webgl_device.ts').WebGlDevice;
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
  const bytes = [...write(smallGlParts())];
  await page.evaluate(async (program) => {
    globalThis.context = await tg.openWebGl();
    globalThis.smallGl = async (change = () => {}) => {
      const read = tg.readProgram(new Uint8Array(program), 'small.tgp');
      change(read);
      return tg.loadWebGl(read, context);
    };
  }, bytes);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

test('runs entries in order, with uniforms and weights that change from run to run', async () => {
  const results = await page.evaluate(async () => {
    const runner = await smallGl();
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

describe('errors', () => {
  const error = (what: () => Promise<unknown>) => page.evaluate(what).then(String, (e: Error) => e.message);

  test('unknown names and wrong sizes', async () => {
    expect(await error(async () => (await smallGl()).write('v', new Float32Array(4)))).toContain("no buffer 'v'");
    expect(await error(async () => (await smallGl()).write('x', new Float32Array(5)))).toContain(
      "'x' has 4 elements, not 5",
    );
    expect(await error(async () => (await smallGl()).run('stop'))).toContain("no entry point 'stop'");
    expect(await error(async () => (await smallGl()).read('step/t'))).toContain("no buffer 'step/t'");
  });

  test('a shader that the device refuses is named, with the reason', async () => {
    const refused = await error(() =>
      smallGl((program) => {
        program.kernels[0]!.text = program.kernels[0]!.text.replace('u[1].x', 'u[1].m');
      }),
    );
    expect(refused).toContain("refuses the shader 'small'");
    expect(refused).toMatch(/swizzle|field|component/);
  });

  test('a Program for something else', async () => {
    const other = error(() => smallGl((program) => (program.target = 'webgpu')));
    expect(await other).toContain("for 'webgpu', not for WebGL2");
  });

  test('a browser without float textures, or whose textures lose bits, is refused with the reason', async () => {
    const without = await error(async () => {
      const real = WebGL2RenderingContext.prototype.getExtension;
      WebGL2RenderingContext.prototype.getExtension = function (this: WebGL2RenderingContext, name: string) {
        return name === 'EXT_color_buffer_float' ? null : (real as (name: string) => unknown).call(this, name);
      } as typeof real;
      try {
        await tg.openWebGl();
      } finally {
        WebGL2RenderingContext.prototype.getExtension = real;
      }
    });
    expect(without).toContain('EXT_color_buffer_float');
    const half = await error(async () => {
      const real = WebGL2RenderingContext.prototype.texStorage2D;
      WebGL2RenderingContext.prototype.texStorage2D = function (target, levels, _, width, height) {
        real.call(this, target, levels, this.RGBA16F, width, height);
      };
      try {
        await tg.openWebGl();
      } finally {
        WebGL2RenderingContext.prototype.texStorage2D = real;
      }
    });
    expect(half).toContain('loses precision');
  });
});

test('a lost context is told apart, and a new one goes on where the last checkpoint was', async () => {
  const outcome = await page.evaluate(async () => {
    const steps = 40;
    const train = async (lose: number) => {
      const losses: number[] = [];
      let saved = { step: 0, w: new Float32Array([0, 1, 2, 3]) };
      let lost = 0;
      for (;;) {
        try {
          const runner = await smallGl();
          runner.write('x', new Float32Array([1, 2, 3, 4]));
          runner.write('w', saved.w);
          for (let step = saved.step; step < steps; ++step) {
            if (step % 8 === 0) saved = { step, w: await runner.read('w') };
            runner.setUniform('scale', 1 / (1 + step));
            runner.run('step');
            if (step === lose && lost === 0) context.gl.getExtension('WEBGL_lose_context')!.loseContext();
            losses[step] = (await runner.read('y'))[1]!;
          }
          return { losses, lost };
        } catch (e) {
          if (!(e instanceof tg.DeviceLost)) throw e;
          ++lost;
          globalThis.context = await tg.openWebGl();
        }
      }
    };
    const want = await train(-1);
    const before = context;
    const got = await train(21);
    return { want, got, event: (await before.lost) instanceof tg.DeviceLost };
  });
  expect(outcome.want.lost).toBe(0);
  expect(outcome.got.lost).toBe(1);
  expect(outcome.event).toBe(true);
  expect(outcome.got.losses).toEqual(outcome.want.losses);
  expect(outcome.got.losses).toHaveLength(40);
});

test('5000 runs keep nothing, on the GPU or in JavaScript', { timeout: 180_000 }, async () => {
  const { bytes, made, heap } = await page.evaluate(async () => {
    const runner = await smallGl();
    const gl = WebGL2RenderingContext.prototype;
    let made = 0;
    for (const maker of ['createTexture', 'createFramebuffer', 'createBuffer', 'createProgram'] as const) {
      const real = gl[maker];
      gl[maker] = function (this: WebGL2RenderingContext) {
        ++made;
        return real.call(this);
      } as never;
    }
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
    const before = { bytes: runner.bytes, heap: used(), made };
    await run(5000);
    const after = { bytes: runner.bytes, heap: used(), made };
    return { bytes: [before.bytes, after.bytes], made: after.made - before.made, heap: after.heap - before.heap };
  });
  expect(bytes[1]).toBe(bytes[0]);
  expect(made).toBe(0);
  expect(heap).toBeLessThan(100_000);
});
