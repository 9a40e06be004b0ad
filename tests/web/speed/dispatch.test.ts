// npm run bench:dispatch at a size for tests, on a software GPU. Needs the npm package with the engine's builds (make engine-web).
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dispatchConfig, dispatchTable } from '../../../bench/web/dispatch/result.ts';
import { dispatchFrom } from '../../../bench/web/from_page.ts';
import { kOwnSource, runBench } from '../../../bench/web/run.ts';
import type { Preset } from '../../../packages/tabgrad/src/bench/jobs.ts';

/** A software GPU takes minutes for the presets' many variants. */
const kMicro: Preset = { name: 'micro', layers: 1, width: 16, heads: 1, context: 16, batch: 1 };

const built = existsSync(kOwnSource);

test.skipIf(!built)(
  'launches are timed on a software GPU, and the table says that it is one',
  async () => {
    const measured = await runBench({
      name: 'bench-flow-dispatch',
      config: dispatchConfig({ repeats: 10, rounds: 5, preset: kMicro, seconds: 0.01 }),
      gpu: 'software',
      isolated: true,
      workers: { own: kOwnSource },
      minutes: 3,
    });
    const result = dispatchFrom(measured!)!;
    expect(result.gpu).toBe('software');
    expect(dispatchTable(result)).toContain('SOFTWARE GPU');
    expect(result.rows).toHaveLength(5);
    for (const row of result.rows) expect(row.us_median).toBeGreaterThan(0);
    expect(result.replay.launches).toBeGreaterThan(100);
    const launches = (entry: string, variant: string) =>
      result.ablation.rows.find((row) => row.entry === entry && row.variant === variant)!.launches;
    for (const entry of ['train_step', 'decode'])
      expect(launches(entry, 'everything')).toBeLessThan(launches(entry, 'merging alone'));
    expect(measured!.outside).toEqual([]);
  },
  200_000,
);
