import { expect, test } from 'vitest';
import { smoothed } from '../src/pages/lm/run/history';
import { bitsPerByte, meaning, natsPerByte } from '../src/pages/lm/run/meaning';
import { secondsFor } from '../src/pages/lm/run/speed';
import type { CorpusInfo, LmPlan } from '../src/engine/types';

const kCorpus: CorpusInfo = {
  tokenizer: 'byte',
  vocabulary: 256,
  bytes: 1000,
  tokens: 1000,
  trainingTokens: 900,
  validationTokens: 100,
  bytesPerToken: 1,
  baselines: { uniform: Math.log(256), unigram: 3, bigram: 2.4 },
};

test('a smoothed line keeps a constant, begins at its first value and follows a step', () => {
  expect(smoothed([])).toEqual([]);
  expect(smoothed([2, 2, 2]).every((value) => Math.abs(value - 2) < 1e-12)).toBe(true);
  const step = smoothed([...Array<number>(500).fill(1), ...Array<number>(500).fill(3)]);
  expect(step[0]).toBeCloseTo(1);
  expect(step[510]).toBeGreaterThan(1.2);
  expect(step[510]).toBeLessThan(2.5);
  expect(step[999]).toBeCloseTo(3, 2);
});

test('losses a byte compare tokens of any length', () => {
  expect(natsPerByte(4, { bytesPerToken: 2 })).toBe(2);
  expect(bitsPerByte(2 * Math.LN2, { bytesPerToken: 2 })).toBeCloseTo(1);
});

test('a loss is told beside the best guesser that it beats', () => {
  expect(meaning(2, kCorpus)).toContain('a probability of 13.5 %');
  expect(meaning(2, kCorpus)).toContain('as between 7.39 equally likely ones');
  expect(meaning(2, kCorpus)).toContain('That beats counting which byte follows which (loss 2.4).');
  expect(meaning(2.7, kCorpus)).toContain(
    'That beats guessing by how often each byte occurs (loss 3), not yet counting which byte follows which (2.4).',
  );
  expect(meaning(6, kCorpus)).toContain('no better than guessing blindly');
  expect(meaning(2, { ...kCorpus, tokenizer: 'bpe:512', vocabulary: 512 })).toContain(
    'gives the token that comes next',
  );
  expect(meaning(2, { ...kCorpus, validationTokens: 0 })).toContain('On its training text');
});

test('a run’s time from the speed of the last one', () => {
  const plan = { steps: 100, flopsPerStep: 1e9 } as LmPlan;
  expect(secondsFor(plan, 'wasm', { wasm: 1e10 })).toBe(10);
  expect(secondsFor(plan, 'webgpu', { wasm: 1e10 })).toBeNull();
});
