// A curve's rows and picture, from what a page would measure.
import { expect, test } from 'vitest';
import { curveFrom as curveOf } from '../../../bench/web/from_page.ts';
import { curveSvg } from '../../../bench/web/curve/svg.ts';
import { curveTable } from '../../../bench/web/curve/table.ts';
import type { Measured } from '../../../bench/web/run.ts';
import { type Job, kPresets } from '../../../packages/tabgrad/src/bench/jobs.ts';
import type { RowResult, SideResult } from '../../../packages/tabgrad/src/bench/turns.ts';

const losses = [5.5, 5.4, 5.3];
const prepared = {
  setup: 10,
  first: 20,
  parameters: 0,
  flops: null,
  launches: null,
  hashes: { parameters: 'p', batches: 'b' },
  loss: 5.5,
  error: null,
};

function row(preset: number, side: string, ms: number, more: Partial<RowResult> = {}): RowResult {
  const job: Job = { bench: 'gpt', preset: kPresets[preset]! };
  const times = [ms, 1.1 * ms, 0.9 * ms];
  const parameters = 70000 * 5 ** preset;
  return {
    job,
    side,
    error: '',
    prepared: { ...prepared, parameters },
    ms: times,
    losses,
    gradientError: null,
    gradientReference: '',
    ...more,
  };
}
const side = (id: string, software = false): SideResult => ({
  id,
  about: { library: 'tabgrad', version: '0', backend: id, threads: 1, device: id, software, notes: [] },
  load_ms: 1,
  peak: null,
  error: '',
});

function measured(rows: RowResult[], sides: SideResult[]): Measured {
  const config = {
    sides: sides.map(({ id }) => ({ id, worker: '', backend: id })),
    jobs: [],
    seconds: 1,
    mostSeconds: 1,
  };
  return {
    sides,
    rows: rows.map((r) => structuredClone(r)), // as they come from a page: no object is shared
    config: { ...config, steps: 1, pause: 0, lossSteps: 0, lossSeconds: 0, oracle: [], gradients: [], peakSeconds: 0 },
    costs: {},
    dispatch: null,
    browser: 'Test 1',
    cores: 2,
    isolated: true,
    timerResolution: 0.005,
    date: '2026-01-01T00:00:00Z',
    cpu: 'cpu',
    gpu: 'none',
    load: null,
    outside: null,
  };
}

test('speedup is the baseline over the target, parity within the limits passes', () => {
  const close = losses.map((loss) => loss * (1 + 2e-6));
  const curve = curveOf(
    measured([row(0, 'wasm', 10), row(0, 'gpu', 5, { losses: close })], [side('wasm'), side('gpu')]),
  );
  expect(curve.rows[0]!.speedup).toBeNull();
  expect(curve.rows[1]!.speedup!.ratio).toBeCloseTo(2);
  expect(curve.rows[1]!.parity.loss_largest).toBeCloseTo(2e-6);
  expect(curve.rows.some((r) => r.parity_failed)).toBe(false);
});

test.each([
  ['a loss far off', { losses: [5.5, 5.4, 5.302] }],
  ['a loss that is no number', { losses: [5.5, NaN, 5.3] }],
  ['gradients far off', { gradientError: 2e-5, gradientReference: 'oracle' }],
  ['gradients that are no numbers', { gradientError: NaN, gradientReference: 'wasm' }],
  ['other weights', { prepared: { ...prepared, hashes: { parameters: 'q', batches: 'b' } } }],
])('%s fails the parity', (_, more) => {
  const curve = curveOf(measured([row(0, 'wasm', 10), row(0, 'gpu', 5, more)], [side('wasm'), side('gpu')]));
  expect(curve.rows[1]!.parity_failed).toBe(true);
  expect(curveTable(curve)).toContain('**FAILED**');
});

test('a software GPU is named and never drawn', () => {
  const rows = [0, 1].flatMap((p) => [row(p, 'wasm', 10), row(p, 'fast', 5), row(p, 'soft', 2)]);
  const curve = curveOf(measured(rows, [side('wasm'), side('fast'), side('soft', true)]));
  expect(curveTable(curve)).toContain('SOFTWARE GPU');
  const svg = curveSvg(curve);
  expect(svg.match(/<polyline/g)).toHaveLength(1);
  expect(svg).toContain('Not drawn, a software adapter and no GPU: soft');
  expect(svg).not.toContain('NaN');
});
