// The whole curve at a size for tests: two WASM builds of the engine in Chromium, parity with each other and the oracle.
// Needs the npm package with the engine's builds (make engine-web, or make site).
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { curveFrom } from '../../../bench/web/from_page.ts';
import { kOwnWorker } from '../../../bench/web/config.ts';
import { kOwnSource, runBench } from '../../../bench/web/run.ts';
import { kPresets } from '../../../packages/tabgrad/src/bench/jobs.ts';

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
