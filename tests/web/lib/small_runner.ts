// What packages/tabgrad's runners of Programs do alike on any GPU, with the small Program of its tests: known results, errors about
// names and sizes, a lost device, and a steady state that keeps nothing.
//
// A test file opens the page, saying there how its kind of GPU is opened, used and lost, and gives each scenario a test.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { type Parts, write } from '../../../packages/tabgrad/test/small_program.ts';
import { bundled } from '../webgpu/bundled.ts';
import { launchChromium } from './browsers.ts';
import { serve, type Server } from './server.ts';

type Runtime = typeof import('../../../packages/tabgrad/src/runtime/index.ts');
type Runner = import('../../../packages/tabgrad/src/runtime/runner.ts').Runner;
type Program = import('../../../packages/tabgrad/src/program/program.ts').Program;

/** In the page. */
declare global {
  var tg: Runtime;
  var gpu: { lost: Promise<unknown> };
  /** These three are the kind's: a new `gpu`, a Program on it, and its loss. */
  var openGpu: () => Promise<void>;
  var load: (program: Program) => Promise<Runner>;
  var loseGpu: () => void;
  /** The small Program on `gpu`, changed before it is loaded. */
  var small: (change?: (program: Program) => void) => Promise<Runner>;
}

/** On a software GPU. `folder` has page.html; `kind` runs in the page. */
export async function openPage(
  folder: string,
  parts: Parts,
  kind: () => void,
): Promise<{ page: Page; close: () => Promise<void> }> {
  const browser = await launchChromium({
    gpu: 'software',
    args: ['--js-flags=--expose-gc', '--enable-precise-memory-info'],
  });
  let server: Server | undefined;
  const close = async () => {
    await browser.close();
    await server?.close();
  };
  try {
    const runtime = await bundled(`${import.meta.dirname}/../../../packages/tabgrad/src/runtime/index.ts`);
    server = await serve({ '/': folder, '/runtime/': runtime.folder });
    const page = await browser.newPage();
    await page.goto(`${server.url}page.html`);
    await page.evaluate(kind);
    const bytes = [...write(parts)];
    await page.evaluate(async (program) => {
      await openGpu();
      globalThis.small = async (change = () => {}) => {
        const read = tg.readProgram(new Uint8Array(program), 'small.tgp');
        change(read);
        return load(read);
      };
    }, bytes);
    return { page, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The message of what it throws in the page. */
export function errorOf(page: Page, what: () => Promise<unknown>): Promise<string> {
  return page.evaluate(what).then(String, (e: Error) => e.message);
}

export async function hasKnownResults(page: Page): Promise<void> {
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
    const earlier = await runner.read('y', 2);
    const all = [first, await pending, earlier, await runner.read('y'), await runner.read('w'), await runner.read('z')];
    runner.destroy();
    return all.map((values) => [...values]);
  });
  expect(results).toEqual([
    [12, 14, 16, 18],
    [21, 20, 19, 18],
    [21, 20, 19, 18],
    [42, 41, 40, 39],
    [85, 75, 75, 75],
    [1, 4, 9, 16],
  ]);
}

export async function refusesUnknownNamesAndWrongSizes(page: Page): Promise<void> {
  const error = (what: () => Promise<unknown>) => errorOf(page, what);
  expect(await error(async () => (await small()).write('v', new Float32Array(4)))).toContain("no buffer 'v'");
  expect(await error(async () => (await small()).write('x', new Float32Array(5)))).toContain(
    "'x' has 4 elements, not 5",
  );
  expect(await error(async () => (await small()).run('stop'))).toContain("no entry point 'stop'");
  expect(await error(async () => (await small()).read('step/t'))).toContain("no buffer 'step/t'");
}

export async function goesOnAfterLoss(page: Page): Promise<void> {
  const outcome = await page.evaluate(async () => {
    const steps = 40;
    const train = async (lose: number) => {
      const losses: number[] = [];
      let saved = { step: 0, w: new Float32Array([0, 1, 2, 3]) };
      let lost = 0;
      for (;;) {
        try {
          const runner = await small();
          runner.write('x', new Float32Array([1, 2, 3, 4]));
          runner.write('w', saved.w);
          for (let step = saved.step; step < steps; ++step) {
            if (step % 8 === 0) saved = { step, w: await runner.read('w') };
            runner.setUniform('scale', 1 / (1 + step));
            runner.run('step');
            if (step === lose && lost === 0) loseGpu();
            losses[step] = (await runner.read('y'))[1]!;
          }
          return { losses, lost };
        } catch (e) {
          if (!(e instanceof tg.DeviceLost)) throw e;
          ++lost;
          await openGpu();
        }
      }
    };
    const want = await train(-1);
    const before = gpu;
    const got = await train(21);
    const event = got.lost > 0 && (await before.lost) instanceof tg.DeviceLost;
    return { want, got, event };
  });
  expect(outcome.want.lost).toBe(0);
  expect(outcome.got.lost).toBe(1);
  expect(outcome.event).toBe(true);
  expect(outcome.got.losses).toEqual(outcome.want.losses);
  expect(outcome.got.losses).toHaveLength(40);
}

/** `makers`: methods of the page's class `owner` that make something on the GPU. */
export async function keepsNothing(page: Page, owner: string, makers: string[]): Promise<void> {
  const { bytes, made, heap } = await page.evaluate(
    async ({ owner, makers }) => {
      const runner = await small();
      type Methods = Record<string, (this: unknown, ...args: unknown[]) => unknown>;
      const methods = (globalThis as unknown as Record<string, { prototype: Methods }>)[owner]!.prototype;
      let made = 0;
      for (const maker of makers) {
        const real = methods[maker]!;
        methods[maker] = function (...args) {
          ++made;
          return real.apply(this, args);
        };
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
    },
    { owner, makers },
  );
  expect(bytes[1]).toBe(bytes[0]);
  expect(made).toBe(0);
  expect(heap).toBeLessThan(100_000);
}
