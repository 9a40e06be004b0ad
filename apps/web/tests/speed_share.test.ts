// Results from files and links: what is no result is refused, what is one comes back, and a link keeps its numbers.
import { expect, test } from 'vitest';
import { curveFrom, packed, unpacked } from '../src/pages/speed/share';

const about = {
  library: 'tabgrad',
  version: '0',
  backend: 'wasm',
  threads: 2,
  device: 'two threads',
  software: false,
  notes: [],
};
const row = {
  preset: 'tiny',
  target: 'wasm',
  parameters: 70464,
  flops: 217350144,
  tokens: 512,
  launches: [[65, 1, 2]],
  setup_ms: 1,
  first_ms: 2,
  ms: { median: 4.123456, p10: 4, p90: 5, n: 30 },
  samples_ms: [4, 4.123456, 5],
  tokens_per_s: 1,
  gflops: 52.7,
  of_peak: 0.5,
  speedup: null,
  parity: { gradient_error: null, gradient_reference: '', loss_steps: 0, loss_largest: 0, loss_mean: 0 },
  parity_failed: false,
  parameters_hash: 'a',
  batches_hash: 'b',
  losses: [5.5],
  error: '',
};
const target = { id: 'wasm', about, error: '', peak_gflops: 100, peak_gbytes_per_s: 10, cost: null };
const curve = {
  schema: 'tabgrad-curve/2',
  date: '2026-12-01T00:00:00Z',
  runtime: 'Test 1',
  cpu: 'cpu',
  cores: 2,
  isolated: true,
  timer_resolution_ms: 0.005,
  gpu: 'none',
  power: '',
  load: null,
  outside: null,
  step: 'a step',
  baseline: 'wasm',
  targets: [target],
  rows: [row],
};
const read = (value: unknown) => curveFrom(JSON.stringify(value), 'x.json');

test('a result is read whole', () => {
  expect(read(curve)).toEqual({ ...curve, rows: [{ ...row, launches: [] }] });
});

test('a link keeps the numbers to six digits', async () => {
  const words = await packed(read(curve));
  expect(words).toMatch(/^[\w-]+$/);
  const got = await unpacked(words);
  expect(got.rows[0]!.ms).toEqual({ median: 4.12346, p10: 4, p90: 5, n: 30 });
  expect(got.rows[0]!.samples_ms).toEqual([]);
  expect(got.targets).toEqual(read(curve).targets);
  await expect(unpacked(words.slice(0, -9))).rejects.toThrow('damaged or cut short');
  await expect(unpacked('§')).rejects.toThrow('damaged or cut short');
});

test.each([
  ['no JSON', '{', 'not JSON'],
  ['another schema', JSON.stringify({ ...curve, schema: 'tabgrad-curve/1' }), 'but tabgrad-curve/1'],
  ['no rows', JSON.stringify({ ...curve, rows: [7, null] }), 'no rows'],
  ['rows of no target', JSON.stringify({ ...curve, targets: [] }), 'no rows'],
])('%s is refused', (_, text, says) => {
  expect(() => curveFrom(text, 'x.json')).toThrow(says);
});

test('what does not say that it is a GPU is shown as software, and odd numbers as none', () => {
  const odd = read({
    ...curve,
    gpu: 'fast',
    targets: [{ ...target, about: { ...about, software: 'no' }, peak_gflops: -1 }],
    rows: [{ ...row, ms: { median: 'NaN' }, of_peak: 1e999, parity_failed: 'no' }],
  });
  expect(odd.gpu).toBe('software');
  expect(odd.targets[0]!.about!.software).toBe(true);
  expect(odd.targets[0]!.peak_gflops).toBeNull();
  expect(odd.rows[0]).toMatchObject({ ms: null, of_peak: null, parity_failed: true });
});
