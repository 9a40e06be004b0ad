// packages/tabgrad in Chromium: which build runs and why, a run from file to model, saves and their restoring, two tabs,
// full storage, a hidden tab, and memory that stays flat. The page's own stories are elsewhere.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest';
import { type Chromium, launchChromium } from '../lib/browsers.ts';
import { serve, type Server } from '../lib/server.ts';

const kRoot = `${import.meta.dirname}/../../..`;
const kFolders = {
  '/': import.meta.dirname,
  '/tabgrad/': `${kRoot}/packages/tabgrad/dist`,
  '/data/': `${kRoot}/examples/data`,
};
// The policy of our own pages.
const kPolicy = {
  'Content-Security-Policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'",
};

/** What page.js puts into the page. */
declare global {
  var engine: { call(name: string, args: object): Promise<any>; terminate(): void };
  var events: any[];
  var ready: boolean;
  function waitFor(kind: string, seconds?: number): Promise<any>;
  function losses(): number[];
  function csv(name: string): Promise<File>;
}

/** 208 steps: 13 epochs of 16. */
const kSettings = { target: 'temp_max', model: { units: 16 }, training: { epochs: 13, patience: 0, seed: '7' } };

let browser: Chromium;
let isolated: Server;
let plain: Server;
beforeAll(async () => {
  browser = await launchChromium();
  isolated = await serve(kFolders, { isolated: true, headers: kPolicy });
  plain = await serve(kFolders, { isolated: false, headers: kPolicy });
});
afterAll(async () => {
  await browser?.close();
  await isolated?.close();
  await plain?.close();
});

async function openPage(server: Server, threads = 2, autosaveSeconds = 1): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(`${server.url}page.html`);
  await page.waitForFunction(() => globalThis.ready);
  await page.evaluate((args) => engine.call('init', args), { threads, autosaveSeconds });
  return page;
}

/** Opens Seattle's weather and trains until the end. */
async function train(page: Page, settings: object = kSettings): Promise<{ result: any; losses: number[] }> {
  return page.evaluate(async (chosen) => {
    await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
    await engine.call('train', { settings: chosen });
    const { result } = await waitFor('ended');
    return { result, losses: losses() };
  }, settings);
}

describe('builds', () => {
  test('an isolated page runs threads, another one a single thread, and both say so', async () => {
    for (const [server, threads] of [
      [isolated, 2],
      [plain, 1],
    ] as const) {
      const page = await openPage(server);
      const info = await page.evaluate(() => engine.call('init', { threads: 2, autosaveSeconds: 1 }));
      expect(info).toMatchObject({ backend: 'wasm', threads, storage: true });
      if (threads === 1) expect(info.reason).toContain('not cross-origin isolated');
      else expect(info.reason).toBe('');
      await page.close();
    }
    expect(browser.outside).toEqual([]);
  });

  test('a run gives a judged model, and its files', async () => {
    const page = await openPage(plain);
    const { result, losses } = await train(page);
    expect(losses).toHaveLength(208);
    expect(result.trainLoss).toHaveLength(13);
    expect(result.trainLoss.at(-1)).toBeLessThan(result.trainLoss[0]);
    expect(result.metrics.map((row: any) => row.name)).toEqual(['LSTM', 'last value', 'seasonal naive', 'linear AR']);
    expect(result.next.labels[0]).toBe('2016-01-01');
    const files = await page.evaluate(async (run) => {
      const list = [];
      for (const kind of ['model', 'forecast', 'report']) {
        const { name, type, bytes } = await engine.call('download', { run, kind });
        list.push({ name, type, head: String.fromCharCode(...bytes.slice(0, 15)), size: bytes.length });
      }
      return list;
    }, result.run);
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ['seattle-weather-model.zip', 'application/zip'],
      ['seattle-weather-forecast.csv', 'text/csv'],
      ['seattle-weather-report.html', 'text/html'],
    ]);
    expect(files[0]!.head).toMatch(/^PK/);
    expect(files[2]!.head).toMatch(/^<!doctype html>/i);
    await page.close();
  });

  test('the bits are the same on 1, 2 and 4 threads', async () => {
    const runs: number[][] = [];
    for (const threads of [1, 2, 4]) {
      const page = await openPage(isolated, threads);
      runs.push((await train(page)).losses);
      await page.close();
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).toEqual(runs[0]);
  });
});

describe('bad files and settings', () => {
  test('each gets its reason, and the engine goes on', async () => {
    const page = await openPage(isolated);
    const reasons = await page.evaluate(async () => {
      const refused: string[] = [];
      const ask = (name: string, args: object) =>
        engine.call(name, args).then(
          () => refused.push('accepted'),
          (error: Error) => refused.push(error.message),
        );
      await ask('train', { settings: {} });
      await ask('open', { name: 'empty.csv', file: new File([], 'empty.csv') });
      await ask('open', { name: 'ragged.csv', file: new File(['a,b\n1,2\n3\n'], 'ragged.csv') });
      await ask('open', {
        name: 'picture.png',
        file: new File([new Uint8Array([137, 80, 78, 71, 0, 1, 2, 0])], 'picture.png'),
      });
      await ask('pause', {});
      await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
      await ask('plan', { settings: { target: 'weather' } });
      await ask('plan', { settings: { target: 'temp_max', model: { window: 0 } } });
      await ask('plan', { settings: { target: 'temp_max', training: { seed: 'x' } } });
      await ask('restore', { run: 'never-was' });
      return refused;
    });
    expect(reasons[0]).toContain('open a CSV file first');
    expect(reasons[1]).toContain('empty.csv');
    expect(reasons[2]).toMatch(/ragged\.csv: row 3/);
    expect(reasons[3]).toContain('picture.png');
    expect(reasons[4]).toContain('not open');
    expect(reasons[5]).toMatch(/row 2, column 'weather'/);
    expect(reasons[6]).toContain("'model.window'");
    expect(reasons[7]).toContain("seed 'x'");
    expect(reasons[8]).toContain('no longer');
    expect((await train(page)).losses).toHaveLength(208);
    await page.close();
  });

  test('a broken file leaves the run under way as it was', async () => {
    const page = await openPage(isolated);
    const steps = await page.evaluate(async (settings) => {
      await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
      await engine.call('train', { settings });
      const bad = new File(['a,b\n1,2\n3\n'], 'ragged.csv');
      await engine.call('open', { name: 'ragged.csv', file: bad }).catch(() => {});
      return (await waitFor('ended')).result.steps;
    }, kSettings);
    expect(steps).toBe(208);
    await page.close();
  });
});

describe('saved runs', () => {
  let page: Page;
  beforeEach(async () => {
    page = await openPage(isolated, 2, 0.2);
    await page.evaluate(async () => {
      for (const { run } of await engine.call('runs', {})) await engine.call('forget', { run });
    });
  });
  afterEach(() => page.close());

  test('a reload in mid-run goes on with the losses of an uninterrupted run', async () => {
    const whole = (await train(page)).losses;
    const run = await page.evaluate(async (settings) => {
      events.length = 0;
      const started = await engine.call('train', { settings });
      while (!events.some(({ event, run, step }) => event === 'saved' && run === started.run && step > 0))
        await new Promise((r) => setTimeout(r, 5));
      engine.terminate(); // as a crash would
      return started.run;
    }, kSettings);
    await page.reload();
    await page.waitForFunction(() => globalThis.ready);
    const restored = await page.evaluate(async (id) => {
      await engine.call('init', { threads: 2, autosaveSeconds: 1 });
      const saved = (await engine.call('runs', {})).find((entry: any) => entry.run === id);
      const { plan, result } = await engine.call('restore', { run: id });
      await waitFor('ended');
      const first = events.find(({ event }) => event === 'progress').progress.firstStep;
      return { saved, plan, result, first, losses: losses() };
    }, run);
    expect(restored.saved).toMatchObject({
      state: 'unfinished',
      file: 'seattle-weather.csv',
      target: 'temp_max',
      steps: 208,
    });
    expect(restored.first).toBe(restored.saved.step);
    expect(restored.first).toBeGreaterThan(0);
    expect(restored.losses).toEqual(whole.slice(restored.first));
  });

  test('pause holds, continue goes on, stop ends and keeps the run as finished', async () => {
    const seen = await page.evaluate(async (settings) => {
      await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
      const { run } = await engine.call('train', {
        settings: { ...settings, training: { epochs: 100000, patience: 0 } },
      });
      await waitFor('progress');
      await engine.call('pause', {});
      const paused = events.findLast(({ event }) => event === 'progress').progress;
      const count = events.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      const quiet = events.slice(count).every(({ event }) => event === 'saved');
      await engine.call('resume', {});
      await new Promise((resolve) => setTimeout(resolve, 300));
      await engine.call('stop', {});
      const { result } = await waitFor('ended');
      await waitFor('saved');
      await new Promise((resolve) => setTimeout(resolve, 200));
      return { run, paused, quiet, result, runs: await engine.call('runs', {}) };
    }, kSettings);
    expect(seen.paused.state).toBe('paused');
    expect(seen.quiet).toBe(true);
    expect(seen.result.steps).toBeGreaterThan(seen.paused.step);
    expect(seen.result.ended).toBe('stopped');
    expect(seen.runs).toMatchObject([{ run: seen.run, state: 'finished', step: seen.result.steps }]);
    await page.reload();
    await page.waitForFunction(() => globalThis.ready);
    const again = await page.evaluate(async (run) => {
      await engine.call('init', { threads: 2, autosaveSeconds: 1 });
      const { result } = await engine.call('restore', { run });
      await engine.call('download', { run, kind: 'model' });
      return result;
    }, seen.run);
    expect(again.metrics).toEqual(seen.result.metrics);
    expect(again.next).toEqual(seen.result.next);
    expect(again.msPerStep).toBe(seen.result.msPerStep);
  });

  test('a second tab on the same run is told so', async () => {
    const { result } = await train(page);
    const other = await openPage(isolated);
    const ask = (call: string) =>
      other.evaluate(
        ([name, run]) => engine.call(name!, { run }).then(String, (error: Error) => error.message),
        [call, result.run],
      );
    expect(await ask('restore')).toContain('another tab');
    expect(await ask('forget')).toContain('another tab');
    await other.close();
  });

  test('full storage: a notice, the last save kept, the run goes on to its end', async () => {
    const session = await browser.context.newCDPSession(page);
    const seen = await page.evaluate(async (settings) => {
      await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
      const { run } = await engine.call('train', {
        settings: { ...settings, training: { epochs: 100000, patience: 0 } },
      });
      await waitFor('saved');
      return run;
    }, kSettings);
    await session.send('Storage.overrideQuotaForOrigin', { origin: isolated.origin, quotaSize: 1000 });
    try {
      const notice = await page.evaluate(() => waitFor('notice'));
      expect(notice.text).toContain('storage is full');
      const kept = await page.evaluate(async () => {
        await engine.call('stop', {});
        await waitFor('ended');
        return engine.call('runs', {});
      });
      expect(kept).toMatchObject([{ run: seen, state: 'unfinished' }]);
      expect(kept[0].step).toBeGreaterThan(0);
    } finally {
      await session.send('Storage.overrideQuotaForOrigin', { origin: isolated.origin });
    }
  });
});

describe('long runs', () => {
  test('2000 steps leave WASM memory and the JS heap as they were', async () => {
    const page = await openPage(isolated, 2, 3600);
    const used = await page.evaluate(async () => {
      await engine.call('open', { name: 'seattle-weather.csv', file: await csv('seattle-weather.csv') });
      const small = { units: 8, window: 16, horizon: 4, head_units: 8 };
      const training = { epochs: 100000, batch: 16, patience: 0 };
      await engine.call('train', { settings: { target: 'temp_max', model: small, training } });
      const until = async (step: number) => {
        while (!events.some(({ progress }) => progress?.step >= step)) {
          events.length = 0;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        await engine.call('pause', {});
        const memory = await engine.call('memory', {});
        await engine.call('resume', {});
        return memory;
      };
      return [await until(500), await until(2500)];
    });
    expect(used[1].wasmBytes).toBe(used[0].wasmBytes);
    // The list of epochs' losses grows by 16 bytes an epoch of 62 steps; JSON replies reuse their memory.
    expect(used[1].used - used[0].used).toBeLessThan(16 << 10);
    await page.close();
  });
});
