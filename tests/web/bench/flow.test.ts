// The whole curve at a size for tests: two WASM builds of the engine in Chromium, parity with each other and the oracle.
// Needs tools/build wasm bench_engine and tools/build wasm-single bench_engine (make engine-web).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { curveOf } from '../../../bench/web/curve/rows.ts';
import { kPresets } from '../../../bench/web/jobs.ts';
import { runBench } from '../../../bench/web/run.ts';

const kRoot = join(import.meta.dirname, '../../..');
const built = ['wasm', 'wasm-single'].every((preset) =>
  existsSync(join(kRoot, 'build', preset, 'bin/bench_engine.wasm')),
);
if (!built) console.warn('bench/flow: skipped, since the engine for benchmarks is not built (make engine-web)');

test.skipIf(!built)(
  'threads and single thread agree, with the oracle too, and nothing leaves the machine',
  async () => {
    const measured = await runBench({
      name: 'bench-flow',
      config: {
        sides: ['wasm-threads', 'wasm-single'].map((backend) => ({ id: backend, worker: 'own.js', backend })),
        jobs: [{ bench: 'gpt', preset: kPresets[0]! }],
        seconds: 0.1,
        mostSeconds: 2,
        steps: 3,
        pause: 0,
        lossSteps: 20,
        lossSeconds: 20,
        gradients: ['tiny'],
      },
      gpu: 'none',
      isolated: true,
      workers: { own: join(kRoot, 'bench/web/own.ts') },
      minutes: 3,
    });
    const curve = curveOf(measured!);
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
