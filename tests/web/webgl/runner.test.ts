// packages/tabgrad's runner of Programs on WebGL2 in Chromium, on a software GPU: a Program of three shaders whose results are
// known, errors, a lost context, and a steady state that keeps nothing.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smallGlParts } from '../../../packages/tabgrad/test/small_program.ts';
import {
  errorOf,
  goesOnAfterLoss,
  hasKnownResults,
  keepsNothing,
  openPage,
  refusesUnknownNamesAndWrongSizes,
} from '../lib/small_runner.ts';

type WebGlDevice = import('../../../packages/tabgrad/src/runtime/webgl_device.ts').WebGlDevice;

let page: Page;
let close: (() => Promise<void>) | undefined;
beforeAll(async () => {
  ({ page, close } = await openPage(import.meta.dirname, smallGlParts(), () => {
    globalThis.openGpu = async () => void (globalThis.gpu = await tg.openWebGl());
    globalThis.load = (program) => tg.loadWebGl(program, gpu as WebGlDevice);
    globalThis.loseGpu = () => (gpu as WebGlDevice).gl.getExtension('WEBGL_lose_context')!.loseContext();
  }));
});
afterAll(() => close?.());

test('runs entries in order, with uniforms and weights that change from run to run', () => hasKnownResults(page));

describe('errors', () => {
  const error = (what: () => Promise<unknown>) => errorOf(page, what);

  test('unknown names and wrong sizes', () => refusesUnknownNamesAndWrongSizes(page));

  test('a shader that the device refuses is named, with the reason', async () => {
    const refused = await error(() =>
      small((program) => {
        program.kernels[0]!.text = program.kernels[0]!.text.replace('u[1].x', 'u[1].m');
      }),
    );
    expect(refused).toContain("refuses the shader 'small'");
    expect(refused).toMatch(/swizzle|field|component/);
  });

  test('a Program for something else', async () => {
    const other = error(() => small((program) => (program.target = 'webgpu')));
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

test('a lost context is told apart, and a new one goes on where the last checkpoint was', () => goesOnAfterLoss(page));

test('5000 runs keep nothing, on the GPU or in JavaScript', { timeout: 180_000 }, () =>
  keepsNothing(page, 'WebGL2RenderingContext', ['createTexture', 'createFramebuffer', 'createBuffer', 'createProgram']),
);
