// The compiled engine in Node: the same curve as the native program, the same bits on any number of threads, and a steady
// state that keeps nothing. Needs `npm run build` and, for the native side, `tools/build native tabgrad`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunPlan } from '../src/protocol.ts';
import { Engine, UserError } from '../src/wasm/engine.ts';
import type { BuildName } from '../src/wasm/features.ts';

const kRoot = join(import.meta.dirname, '../../..');
const kDist = join(import.meta.dirname, '../dist/engine');
const kCsv = 'examples/data/seattle-weather.csv';
const kNative = join(kRoot, 'build/native/bin/tabgrad');

// All training windows in one batch, so that an epoch is a step and the losses of the epochs are those of the steps. At a rate
// of 2e-3: from 5e-3 on full batches make Adam oscillate, and what differs in the last bit grows a thousandfold.
const kSteps = 200;
const kSettings = {
  target: 'temp_max',
  features: ['wind'],
  model: { kind: 'lstm', window: 12, horizon: 4, units: 8 },
  training: { epochs: kSteps, batch: 4096, patience: 0, learning_rate: 2e-3, seed: '11' },
};

interface Curve {
  trainLoss: number[];
  validationLoss: number[];
}
interface Advance extends Curve {
  ended: boolean;
  step: number;
}

function load(build: BuildName, threads: number): Promise<Engine> {
  const file = (suffix: string) => join(kDist, `${build}.${suffix}`);
  return Engine.load({ glue: file('mjs'), code: file('wasm'), threads, shared: build !== 'single' });
}

function open(engine: Engine): void {
  engine.call('open', { name: 'seattle-weather.csv' });
  engine.call('feed', {}, readFileSync(join(kRoot, kCsv)));
  engine.call('close');
}

function train(engine: Engine, settings: object): Curve {
  open(engine);
  engine.call('train', { settings });
  return finish(engine);
}

/** Trains to the end of the run. */
function finish(engine: Engine): Curve {
  for (;;) {
    const state = engine.call('advance', { milliseconds: 100 }) as Advance;
    if (state.ended) return state;
  }
}

function largestDifference(a: number[], b: number[]): number {
  expect(a).toHaveLength(b.length);
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!) / Math.abs(b[i]!)));
}

describe('against the native program', () => {
  const json = join(mkdtempSync(join(tmpdir(), 'tabgrad-curve-')), 'run.json');
  let native: Curve | null = null;
  const nativeCurve = (): Curve => {
    if (native) return native;
    if (!existsSync(kNative)) throw new Error(`${kNative} is missing: run tools/build native tabgrad`);
    const { model, training } = kSettings;
    const { learning_rate: lr, ...rest } = training;
    const options = { window: model.window, horizon: model.horizon, units: model.units, lr, ...rest };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const run = ['train', 'forecast', '--csv', kCsv, '--target', 'temp_max', '--features', 'wind', '--model', 'lstm'];
    execFileSync(kNative, [...run, ...flags, '--json', json], { cwd: kRoot, stdio: 'ignore' });
    const { loss, val_loss } = JSON.parse(readFileSync(json, 'utf8'));
    return (native = { trainLoss: loss, validationLoss: val_loss });
  };

  test.each(['threads', 'relaxed', 'single'] as const)('%s: 200 steps within 1e-5', async (build) => {
    const curve = train(await load(build, 2), kSettings);
    const want = nativeCurve();
    expect(curve.trainLoss).toHaveLength(kSteps);
    expect(curve.trainLoss.at(-1)).toBeLessThan(0.8 * curve.trainLoss[0]!);
    expect(largestDifference(curve.trainLoss, want.trainLoss)).toBeLessThan(1e-5);
    expect(largestDifference(curve.validationLoss, want.validationLoss)).toBeLessThan(1e-5);
  });
});

const kSmall = { ...kSettings, training: { ...kSettings.training, epochs: 3, batch: 64 } };

test.each(['threads', 'relaxed'] as const)('%s: the same bits on 1, 2 and 4 threads', async (build) => {
  const [one, two, four] = [
    train(await load(build, 1), kSmall),
    train(await load(build, 2), kSmall),
    train(await load(build, 4), kSmall),
  ];
  expect(two).toMatchObject({ trainLoss: one.trainLoss, validationLoss: one.validationLoss });
  expect(four).toMatchObject({ trainLoss: one.trainLoss, validationLoss: one.validationLoss });
});

test('single and threads are one arithmetic', async () => {
  const [single, threads] = [train(await load('single', 1), kSmall), train(await load('threads', 2), kSmall)];
  expect(single.trainLoss).toEqual(threads.trainLoss);
});

test('a restored run goes on with the bits of an uninterrupted one', async () => {
  const engine = await load('single', 1);
  const whole = train(engine, kSmall);
  engine.call('train', { settings: kSmall });
  for (let i = 0; i < 5; ++i) engine.call('advance', { milliseconds: 1 });
  const { bytes } = engine.call('save') as { bytes: Uint8Array };
  const other = await load('single', 1);
  open(other);
  const plan = other.call('restore', { ended: false }, bytes) as RunPlan;
  expect(plan.settings.training.seed).toBe('11');
  expect(finish(other).trainLoss).toEqual(whole.trainLoss);
});

test('a damaged checkpoint, and one of other data, are refused', async () => {
  const engine = await load('single', 1);
  train(engine, { ...kSmall, training: { ...kSmall.training, epochs: 1 } });
  const { bytes } = engine.call('save') as { bytes: Uint8Array };
  expect(() => engine.call('restore', { ended: true }, bytes.slice(0, 1000))).toThrow(UserError);
  engine.call('open', { name: 'other.csv' });
  engine.call('feed', {}, new TextEncoder().encode(`temp_max,wind\n${'1,2\n3,5\n'.repeat(200)}`));
  engine.call('close');
  expect(() => engine.call('restore', { ended: true }, bytes)).toThrow('not the file of the saved run');
});

test('2000 steps keep nothing, in WebAssembly or in JavaScript', async () => {
  const collect = globalThis.gc!;
  const engine = await load('threads', 2);
  open(engine);
  const small = { target: 'temp_max', model: { window: 8, horizon: 2, units: 4, head_units: 4 } };
  engine.call('train', { settings: { ...small, training: { epochs: 100_000, batch: 32, patience: 0 } } });
  const until = (step: number) => {
    while ((engine.call('advance', { milliseconds: 5 }) as Advance).step < step);
    collect();
    const { used } = engine.call('memory') as { used: number };
    return { heap: process.memoryUsage().heapUsed, used, bytes: engine.memoryBytes };
  };
  until(100);
  const before = until(500);
  const after = until(2500);
  expect(after.bytes).toBe(before.bytes);
  expect(after.used - before.used).toBeLessThan(16 << 10); // two losses of 8 bytes, and their text, an epoch of 32 steps
  expect(after.heap - before.heap).toBeLessThan(256 << 10);
});
