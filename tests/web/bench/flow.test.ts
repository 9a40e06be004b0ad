// The whole curve at a size for tests: two WASM builds of the engine in Chromium, parity with each other and the oracle.
// Needs the npm package with the engine's builds (make engine-web, or make site).
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { curveFrom } from '../../../bench/web/curve/from_page.ts';
import { kOwnWorker } from '../../../bench/web/config.ts';
import { dispatchOf, dispatchTable } from '../../../bench/web/dispatch/result.ts';
import { kOwnSource, runBench } from '../../../bench/web/run.ts';
import { kPresets, type Preset } from '../../../packages/tabgrad/src/bench/jobs.ts';

/** A software GPU takes minutes for the presets' many variants. */
const kMicro: Preset = { name: 'micro', layers: 1, width: 16, heads: 1, context: 16, batch: 1 };

const built = existsSync(kOwnSource);
if (!built) console.warn('bench/flow: skipped, since the package is not built (make engine-web)');

test.skipIf(!built)(
  'threads and single thread agree, with the oracle too, and nothing leaves the machine',
  async () => {
    const measured = await runBench({
      name: 'bench-flow',
      config: {
        sides: ['wasm-threads', 'wasm-single'].map((backend) => ({ id: backend, worker: kOwnWorker, backend })),
        jobs: [{ bench: 'gpt', preset: kPresets[0]! }],
        seconds: 0.1,
        mostSeconds: 2,
        steps: 3,
        pause: 0,
        lossSteps: 20,
        lossSeconds: 20,
        oracle: ['tiny'],
        gradients: [],
        peakSeconds: 0.05,
      },
      gpu: 'none',
      isolated: true,
      workers: { own: kOwnSource },
      minutes: 3,
    });
    const curve = curveFrom(measured!);
    expect(curve.rows.map((row) => row.error)).toEqual(['', '']);
    expect(curve.rows.map((row) => row.parity_failed)).toEqual([false, false]);
    expect(curve.rows[1]!.parity.loss_steps).toBeGreaterThanOrEqual(20);
    for (const row of curve.rows) {
      expect(row.parity.gradient_error).toBeGreaterThan(0);
      expect(row.flops).toBe(217350144);
      expect(row.parameters).toBe(70464);
      expect(row.losses.at(-1)).toBeLessThan(row.losses[0]!);
    }
    expect(curve.outside).toEqual([]);
  },
  200_000,
);

test.skipIf(!built)(
  'launches are timed on a software GPU, and the table says that it is one',
  async () => {
    const measured = await runBench({
      name: 'bench-flow-dispatch',
      config: {
        sides: [{ id: 'webgpu', worker: kOwnWorker, backend: 'webgpu' }],
        jobs: [],
        seconds: 0,
        mostSeconds: 0,
        steps: 0,
        pause: 0,
        lossSteps: 0,
        lossSeconds: 0,
        oracle: [],
        gradients: [],
        peakSeconds: 0,
        dispatch: { repeats: 10, rounds: 5, preset: kMicro, seconds: 0.01 },
      },
      gpu: 'software',
      isolated: true,
      workers: { own: kOwnSource },
      minutes: 3,
    });
    const result = dispatchOf(measured!)!;
    expect(result.gpu).toBe('software');
    expect(dispatchTable(result)).toContain('SOFTWARE GPU');
    expect(result.rows).toHaveLength(5);
    for (const row of result.rows) expect(row.us_median).toBeGreaterThan(0);
    expect(result.replay.launches).toBeGreaterThan(100);
    const launches = (entry: string, variant: string) =>
      result.ablation.rows.find((row) => row.entry === entry && row.variant === variant)!.launches;
    for (const entry of ['train_step', 'decode']) {
      expect(launches(entry, 'everything')).toBeLessThan(launches(entry, 'merging alone'));
      expect(launches(entry, 'merging alone')).toBeLessThan(launches(entry, 'nothing'));
    }
    expect(measured!.outside).toEqual([]);
  },
  200_000,
);
