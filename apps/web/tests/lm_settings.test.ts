import { expect, test } from 'vitest';
import type { LmSettings } from '../src/engine/types';
import { choicesFor, choicesFrom, differences, settingsOf, withChoice } from '../src/pages/lm/settings/choices';
import { explain, fieldOf, kFields } from '../src/pages/lm/settings/fields';

const kDefaults: LmSettings = {
  model: {
    kind: 'gpt',
    name: 'small',
    layers: 3,
    width: 96,
    heads: 3,
    kv_heads: 0,
    context: 64,
    batch: 16,
    vocabulary: 256,
    mlp_width: 0,
    positions: 'learned',
    norm: 'layer_norm',
    mlp: 'gelu',
    norm_eps: 1e-5,
    tied: true,
    qk_norm: false,
    dropout: 0,
    label_smoothing: 0,
  },
  tokenizer: 'byte',
  validation: 0.1,
  training: {
    steps: 1500,
    accumulate: 1,
    eval_every: 100,
    eval_batches: 20,
    schedule: 'cosine',
    learning_rate: 3e-3,
    warmup: 0.05,
    lr_floor: 0,
    seed: '1',
    optimizer: {
      kind: 'adamw',
      beta1: 0.9,
      beta2: 0.95,
      eps: 1e-8,
      weight_decay: 0.1,
      momentum: 0,
      nesterov: false,
    },
  },
  clip: 1,
  recompute: false,
};

test('choices make settings of the right kinds', () => {
  const chosen = { 'kv-heads': '1', tied: 'false', warmup: '10', seed: '18446744073709551615', tokenizer: 'bpe:4096' };
  expect(settingsOf(chosen, kDefaults)).toEqual({
    model: { kind: 'gpt', name: 'small', kv_heads: 1, tied: false },
    tokenizer: 'bpe:4096',
    training: {
      learning_rate: 3e-3,
      optimizer: kDefaults.training.optimizer,
      warmup: 0.1,
      seed: '18446744073709551615',
    },
  });
  expect(() => settingsOf({ steps: '1.5' }, kDefaults)).toThrow('--steps: 1.5 is not a whole number.');
  expect(() => settingsOf({ lr: '' }, kDefaults)).toThrow('--lr');
});

test('a choice that is the default is none, and settings give their choices back', () => {
  expect(withChoice({ steps: '200' }, 'steps', '1500', kDefaults)).toEqual({});
  const settings = { ...kDefaults, model: { ...kDefaults.model, tied: false }, validation: 0.2 };
  expect(choicesFor(settings, kDefaults)).toEqual({ tied: 'false', validation: '20' });
});

test('a kind of model is a choice like others, and is always said to the engine', () => {
  expect(settingsOf({ model: 'lstm', width: '64' }, kDefaults).model).toEqual({
    kind: 'lstm',
    name: 'small',
    width: 64,
  });
  expect(choicesFrom({ model: 'mamba' })).toEqual({});
  expect(choicesFrom({ model: 'gru' })).toEqual({ model: 'gru' });
  for (const key of ['heads', 'positions', 'mlp']) expect(fieldOf(key)).toMatchObject({ ofGpt: true });
  expect(fieldOf('width')).not.toHaveProperty('ofGpt');
});

test('an address brings only what is known', () => {
  expect(choicesFrom({ steps: '5', nonsense: '1', norm: 'batch', tied: 'false', tokenizer: 'file' })).toEqual({
    steps: '5',
    tied: 'false',
  });
});

test('differences are told by label and value', () => {
  const other = { ...kDefaults, model: { ...kDefaults.model, norm: 'rms_norm' as const, width: 128 } };
  expect(differences(other, kDefaults)).toEqual(['Width: 128', 'Norm: RMS norm']);
});

test('keys and paths are each used once, and every path leads to a value', () => {
  expect(new Set(kFields.map(({ key }) => key)).size).toBe(kFields.length);
  expect(new Set(kFields.map(({ path }) => path)).size).toBe(kFields.length);
  expect(Object.keys(choicesFor(kDefaults, kDefaults))).toEqual([]);
  for (const { key } of kFields) expect(fieldOf(key)).toBeDefined();
});

test('what the engine says stands at its field', () => {
  expect(explain('heads 5 is not possible: it must divide the width, 96.').field).toBe('heads');
  expect(explain('kv-heads 2 is not possible: it must divide the number of heads, 3.').field).toBe('kv-heads');
  expect(explain('learning rate 0 is not possible: give a rate above 0.').field).toBe('lr');
  expect(explain("Setting 'model.layers' is not possible: from 1 to 1024.")).toEqual({
    text: '“Layers” is not possible: from 1 to 1024.',
    field: 'layers',
  });
  expect(explain('Give more text or a smaller --context.')).toEqual({
    text: 'Give more text or a smaller “Context, tokens”.',
    field: null,
  });
});
