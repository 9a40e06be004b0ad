// The compiled engine's language models in Node: a restored run goes on with the same losses, written text repeats, models come
// back from their files, attention looks only back. Needs `npm run build`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { AttentionInfo, CorpusInfo, LmPlan, ModelInfo, WrittenToken } from '../../src/lm/protocol.ts';
import type { LmAdvance } from '../../src/lm/run.ts';
import { Engine, UserError } from '../../src/wasm/engine.ts';

const kDist = join(import.meta.dirname, '../../dist/engine');
const kText = readFileSync(join(import.meta.dirname, '../../../../examples/data/moby-dick.txt')).subarray(0, 60_000);
const kSteps = 12;
const kSettings = {
  model: { name: 'tiny' },
  training: { steps: kSteps, eval_every: 5, eval_batches: 2, seed: '18446744073709551615' },
};
const kSampling = { temperature: 0.8, topK: 0, topP: 1, repetitionPenalty: 1, seed: '7' };

let progress: [number, number][] = [];

function load(): Promise<Engine> {
  const file = (suffix: string) => join(kDist, `threads.${suffix}`);
  return Engine.load({
    glue: file('mjs'),
    code: file('wasm'),
    threads: 2,
    shared: true,
    progress: (done, all) => progress.push([done, all]),
  });
}

function read(engine: Engine, validation = 0.1): CorpusInfo {
  engine.call('lm.read');
  engine.call('lm.read.feed', {}, kText);
  engine.call('lm.read.next');
  return engine.call('lm.read.end', { validation }) as CorpusInfo;
}

/** All numbers of the run from here to its end. */
function finish(engine: Engine): LmAdvance {
  for (;;) {
    const state = engine.call('lm.advance', { milliseconds: 1 }) as LmAdvance;
    if (state.ended) return engine.call('lm.history') as LmAdvance;
  }
}

function write(engine: Engine, source: 'run' | 'model', most: number): WrittenToken[] {
  engine.call('lm.write', { source, prompt: 'The ', sampling: kSampling });
  const tokens: WrittenToken[] = [];
  while (tokens.length < most) {
    const more = engine.call('lm.write.more', { milliseconds: 2, most: most - tokens.length });
    tokens.push(...(more as { tokens: WrittenToken[] }).tokens);
  }
  return tokens;
}

let engine: Engine;
let whole: LmAdvance;
beforeAll(async () => {
  engine = await load();
  engine.call('lm.tokenizer', { kind: 'byte' });
  read(engine);
  engine.call('lm.train', { settings: kSettings, from: false });
  whole = finish(engine);
});

test('a text of bytes: its sizes, and what guessers lose on it', () => {
  const corpus = read(engine);
  expect(corpus).toMatchObject({ bytes: 60_000, tokens: 60_000, validationTokens: 6000, vocabulary: 256 });
  const { uniform, unigram, bigram } = corpus.baselines;
  expect(uniform).toBeCloseTo(Math.log(256), 9);
  expect(unigram).toBeLessThan(3.3); // English letters
  expect(bigram).toBeLessThan(unigram - 0.4);
});

test('the plan says what a run will be', () => {
  const plan = engine.call('lm.plan', { settings: kSettings, from: false }) as LmPlan;
  expect(plan.parameters).toBe(70_464);
  expect(plan).toMatchObject({ steps: kSteps, stepTokens: 16 * 32 });
  expect(plan.flopsPerStep).toBeGreaterThan(6 * 512 * 60_000);
  expect(plan.settings.training.seed).toBe('18446744073709551615');
  expect(plan.notices[0]).toContain('passes over the training part');
  expect(() => engine.call('lm.plan', { settings: { model: { name: 'tiny', heads: 5 } }, from: false })).toThrow(
    /heads 5 is not possible: it must divide the width, 48/,
  );
});

test('activations computed again need less memory, and more work', () => {
  const kept = engine.call('lm.plan', { settings: kSettings, from: false }) as LmPlan;
  const again = engine.call('lm.plan', { settings: { ...kSettings, recompute: true }, from: false }) as LmPlan;
  expect(again.peakBytes).toBeLessThan(kept.peakBytes);
  expect(again.flopsPerStep).toBeGreaterThan(kept.flopsPerStep);
});

test('it learns, and every number of every step is there', () => {
  expect(whole.losses).toHaveLength(kSteps);
  expect(whole.gradNorms).toHaveLength(kSteps);
  expect(whole.learningRates).toHaveLength(kSteps);
  expect(whole.validationStep).toEqual([0, 5, 10, 12]);
  expect(whole.validationLoss[0]).toBeCloseTo(Math.log(256), 0);
  expect(whole.validationLoss.at(-1)).toBeLessThan(whole.validationLoss[0]! - 0.5);
  expect(whole.end).toBe('epochs');
});

test('a restored run goes on with the bits of an uninterrupted one', async () => {
  const first = await load();
  first.call('lm.tokenizer', { kind: 'byte' });
  read(first);
  first.call('lm.train', { settings: kSettings, from: false });
  let step = 0;
  while (step < 6) ({ step } = first.call('lm.advance', { milliseconds: 0 }) as LmAdvance);
  const { bytes } = first.call('lm.save') as { bytes: Uint8Array };
  const json = (first.call('lm.tokenizer.json') as { bytes: Uint8Array }).bytes;
  const other = await load();
  other.call('lm.tokenizer', { kind: 'json', file: 'tokenizer.json' }, json);
  read(other);
  other.call('lm.restore', { ended: false }, bytes);
  const end = finish(other);
  expect(end.losses).toEqual(whole.losses);
  expect(end.gradNorms).toEqual(whole.gradNorms);
  expect(end.validationLoss).toEqual(whole.validationLoss);
});

test('a checkpoint of another text is refused', async () => {
  const { bytes } = engine.call('lm.save') as { bytes: Uint8Array };
  const other = await load();
  other.call('lm.read');
  other.call('lm.read.feed', {}, kText.subarray(1));
  other.call('lm.read.end', { validation: 0.1 });
  expect(() => other.call('lm.restore', { ended: true }, bytes)).toThrow(/the text has changed/);
});

test('it writes the same for the same seed, with probabilities that are some', () => {
  const tokens = write(engine, 'run', 40);
  expect(tokens).toHaveLength(40);
  expect(write(engine, 'run', 40)).toEqual(tokens);
  for (const { probability, candidates } of tokens) {
    expect(probability).toBeGreaterThan(0);
    expect(probability).toBeLessThanOrEqual(1);
    expect(candidates[0]!.drawn).toBeGreaterThanOrEqual(candidates.at(-1)!.drawn);
  }
  expect(() => engine.call('lm.write', { source: 'run', prompt: '', sampling: kSampling })).toThrow(UserError);
});

test('a model comes back from its files, writes alike, and goes on learning', () => {
  const tokens = write(engine, 'run', 20);
  const { files } = engine.call('lm.download', { source: 'run' }) as { files: { name: string; bytes: Uint8Array }[] };
  expect(files.map(({ name }) => name).sort()).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
  for (const { name, bytes } of files) engine.call('lm.model.file', { name }, bytes);
  const info = engine.call('lm.model.open', { where: 'moby-gpt.zip' }) as ModelInfo;
  expect(info).toMatchObject({ parameters: 70_464, vocabulary: 256 });
  expect(write(engine, 'model', 20)).toEqual(tokens);
  engine.call('lm.tokenizer', { kind: 'model' });
  read(engine);
  engine.call('lm.train', { settings: { model: { name: 'tiny' }, training: { steps: 2 } }, from: true });
  expect(finish(engine).validationLoss[0]).toBeLessThan(whole.validationLoss[0]! - 0.5); // not from random weights
  engine.call('lm.model.file', { name: 'config.json' }, files.find(({ name }) => name === 'config.json')!.bytes);
  expect(() => engine.call('lm.model.open', { where: 'half.zip' })).toThrow(/half.zip holds no language model/);
});

test('attention looks only back, and its rows are distributions', () => {
  const { tokens, layers, heads, weights } = engine.call('lm.attention', {
    source: 'run',
    text: 'whale ship',
    layer: 1,
  }) as AttentionInfo;
  expect(tokens.join('')).toBe('whale ship');
  expect([layers, heads]).toEqual([2, 3]);
  const n = tokens.length;
  expect(weights).toHaveLength(heads * n * n);
  for (let row = 0; row < heads * n; ++row) {
    const values = [...weights.subarray(row * n, (row + 1) * n)];
    expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 5);
    expect(values.slice((row % n) + 1).every((value) => value === 0)).toBe(true);
  }
});

test('tokens are kept for another time, and taken for the same text only', async () => {
  const learn = (on: Engine): void => {
    on.call('lm.learn');
    on.call('lm.learn.feed', {}, kText);
    on.call('lm.learn.end', { vocabulary: 400 });
  };
  const other = await load();
  learn(other);
  const corpus = read(other);
  const { bytes } = other.call('lm.tokens') as { bytes: Uint8Array };
  const again = (text: Uint8Array, kept: Uint8Array): unknown => {
    other.call('lm.read', { onlyCheck: true });
    other.call('lm.read.feed', {}, text);
    other.call('lm.read.next');
    return other.call('lm.read.kept', { validation: 0.1 }, kept);
  };
  expect(again(kText, bytes)).toEqual(corpus);
  expect(again(kText.subarray(1), bytes)).toBeNull();
  expect(again(kText, bytes.subarray(0, bytes.length - 8))).toBeNull();
  expect(
    again(
      kText,
      bytes.map((byte, i) => (i === bytes.length - 4 ? byte ^ 1 : byte)),
    ),
  ).toBeNull();
});

test.each(['lstm', 'gru'])(
  'an %s learns, writes on beyond its context, and comes back from its files',
  async (kind) => {
    const other = await load();
    other.call('lm.tokenizer', { kind: 'byte' });
    read(other);
    const training = { ...kSettings.training, steps: 40, learning_rate: 0.01 };
    const settings = { model: { kind, name: 'tiny', width: 20 }, training };
    other.call('lm.train', { settings, from: false });
    const { validationLoss } = finish(other);
    expect(validationLoss.at(-1)).toBeLessThan(validationLoss[0]! - 0.5);
    const tokens = write(other, 'run', 50);
    const download = other.call('lm.download', { source: 'run' });
    const { kind: named, files } = download as { kind: string; files: { name: string; bytes: Uint8Array }[] };
    expect(named).toBe(kind);
    for (const { name, bytes } of files) other.call('lm.model.file', { name }, bytes);
    expect(other.call('lm.model.open', { where: 'recurrent.zip' })).toMatchObject({ model: { kind, width: 20 } });
    expect(write(other, 'model', 50)).toEqual(tokens);
    expect(() => other.call('lm.attention', { source: 'run', text: 'whale', layer: 0 })).toThrow(/Only a GPT/);
  },
);

test('a linear schedule ends at its floor', async () => {
  const other = await load();
  other.call('lm.tokenizer', { kind: 'byte' });
  read(other);
  const training = { ...kSettings.training, schedule: 'linear', warmup: 0, learning_rate: 0.01, lr_floor: 0.25 };
  other.call('lm.train', { settings: { ...kSettings, training }, from: false });
  const { learningRates } = finish(other);
  expect(learningRates.at(-1)).toBeCloseTo(0.0025, 7);
  expect(learningRates[kSteps / 2 - 1]).toBeCloseTo(0.01 * (0.25 + 0.75 / 2), 7);
});

test('a tokenizer is learned, with progress', () => {
  progress = [];
  engine.call('lm.learn');
  engine.call('lm.learn.feed', {}, kText);
  expect(engine.call('lm.learn.end', { vocabulary: 600 })).toEqual({ vocabulary: 600, endOfText: true });
  expect(progress.at(-1)).toEqual([600, 600]);
  const corpus = read(engine);
  expect(corpus.bytesPerToken).toBeGreaterThan(1.8);
  engine.call('lm.learn');
  expect(() => engine.call('lm.learn.end', { vocabulary: 100 })).toThrow(/vocabulary 100 is not possible/);
});
