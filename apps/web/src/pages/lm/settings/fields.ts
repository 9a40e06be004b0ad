// The settings that a person may choose, one row each: where it stands in the engine's LmSettings, how it is asked for, and its
// name, which is both the key in the address and the engine's option of that name ("--context").
//
// Does: rows and lookups. Does not: hold values (choices.ts), check ranges (the engine does; min and max only guide the controls).

import type { ChoiceSetting, NumberSetting } from '../../../lib/settings';

export type Group = 'main' | 'model' | 'training' | 'text';

interface Of {
  group: Group;
  /** Of the opened model, where a run goes on from one. */
  ofModel?: boolean;
  /** Of a GPT only. */
  ofGpt?: boolean;
}
type NumberField = NumberSetting & Of;
type ChoiceField = ChoiceSetting & Of;
export type Field = NumberField | ChoiceField;

export const kPresets = ['tiny', 'small', 'medium', 'large', 'xl', 'huge', 'massive', 'mega'];
const kVocabularies = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
const kYesNo: [string, string][] = [
  ['true', 'Yes'],
  ['false', 'No'],
];

function whole(
  key: string,
  label: string,
  path: string,
  group: Group,
  min: number,
  more: Partial<NumberField> = {},
): Field {
  return { key, label, path, group, input: 'number', whole: true, min, ...more };
}
function part(key: string, label: string, path: string, group: Group, more: Partial<NumberField> = {}): Field {
  return { key, label, path, group, input: 'number', whole: false, min: 0, ...more };
}
function oneOf(
  key: string,
  label: string,
  path: string,
  group: Group,
  options: [string, string][],
  more: Partial<ChoiceField> = {},
): Field {
  return { key, label, path, group, input: 'choice', options, ...more };
}

const ofModel = true;
const ofGpt = true;

export const kFields: Field[] = [
  oneOf(
    'model',
    'Kind',
    'model.kind',
    'main',
    [
      ['gpt', 'GPT: a Transformer'],
      ['lstm', 'LSTM'],
      ['gru', 'GRU'],
    ],
    { ofModel },
  ),
  oneOf(
    'preset',
    'Size',
    'model.name',
    'main',
    kPresets.map((name) => [name, name]),
    { ofModel },
  ),
  oneOf('tokenizer', 'Tokens', 'tokenizer', 'main', [
    ['byte', 'Bytes: 256 tokens'],
    ...kVocabularies.map((n): [string, string] => [`bpe:${n}`, `Learned pieces: ${n.toLocaleString('en-US')} tokens`]),
    ['file', 'A tokenizer.json …'],
    ['model', 'Those of the opened model'],
  ]),
  whole('steps', 'Steps', 'training.steps', 'main', 1),
  whole('batch', 'Texts a batch', 'model.batch', 'main', 1),

  whole('layers', 'Layers', 'model.layers', 'model', 1, { max: 1024, ofModel }),
  whole('width', 'Width', 'model.width', 'model', 1, {
    max: 65_536,
    step: 16,
    help: 'Of an LSTM or a GRU: units of a layer.',
    ofModel,
  }),
  whole('heads', 'Attention heads', 'model.heads', 'model', 1, { ofModel, ofGpt }),
  whole('kv-heads', 'Key/value heads', 'model.kv_heads', 'model', 0, { help: '0: as many as heads.', ofModel, ofGpt }),
  whole('context', 'Context, tokens', 'model.context', 'model', 1, { step: 16, ofModel }),
  whole('mlp-width', 'MLP width', 'model.mlp_width', 'model', 0, { help: '0: four times the width.', ofModel, ofGpt }),
  oneOf(
    'positions',
    'Positions',
    'model.positions',
    'model',
    [
      ['learned', 'Learned'],
      ['sinusoidal', 'Sinusoidal'],
      ['rope', 'Rotary (RoPE)'],
      ['alibi', 'ALiBi'],
      ['none', 'None'],
    ],
    { ofModel, ofGpt },
  ),
  oneOf(
    'norm',
    'Norm',
    'model.norm',
    'model',
    [
      ['layer_norm', 'Layer norm'],
      ['rms_norm', 'RMS norm'],
    ],
    { ofModel, ofGpt },
  ),
  oneOf(
    'mlp',
    'MLP',
    'model.mlp',
    'model',
    [
      ['gelu', 'GELU'],
      ['gelu_tanh', 'GELU, tanh form'],
      ['swiglu', 'SwiGLU'],
      ['relu2', 'Squared ReLU'],
    ],
    { ofModel, ofGpt },
  ),
  oneOf('tied', 'Head shares the embedding', 'model.tied', 'model', kYesNo, { ofModel }),
  oneOf('qk-norm', 'Norm of queries and keys', 'model.qk_norm', 'model', kYesNo, { ofModel, ofGpt }),
  part('dropout', 'Dropout', 'model.dropout', 'model', { max: 0.999, step: 0.05 }),
  part('label-smoothing', 'Label smoothing', 'model.label_smoothing', 'model', { max: 0.999, step: 0.05 }),

  oneOf('optimizer', 'Optimizer', 'training.optimizer.kind', 'training', [
    ['adamw', 'AdamW'],
    ['muon', 'Muon, AdamW for the rest'],
    ['lion', 'Lion'],
    ['adam', 'Adam'],
    ['sgd', 'SGD with momentum'],
  ]),
  part('lr', 'Learning rate', 'training.learning_rate', 'training', { step: 0.001 }),
  oneOf('schedule', 'Schedule', 'training.schedule', 'training', [
    ['cosine', 'Cosine'],
    ['linear', 'Linear'],
    ['constant', 'Constant'],
    ['step', 'Three steps down'],
  ]),
  part('warmup', 'Warm-up, %', 'training.warmup', 'training', { percent: true, max: 100, help: 'Of all steps.' }),
  part('lr-floor', 'Ends at, %', 'training.lr_floor', 'training', {
    percent: true,
    max: 100,
    help: 'Of the learning rate, where the schedule is cosine or linear.',
  }),
  part('weight-decay', 'Weight decay', 'training.optimizer.weight_decay', 'training', { step: 0.05 }),
  part('clip', 'Clip gradients at', 'clip', 'training', { step: 0.5, help: 'Largest norm. 0: never.' }),
  whole('accumulate', 'Batches a step', 'training.accumulate', 'training', 1),
  oneOf('recompute', 'Compute activations again', 'recompute', 'training', kYesNo, {
    help: 'Less memory, more work; the same losses.',
  }),
  whole('eval-every', 'Validate every', 'training.eval_every', 'training', 1, { help: 'So many steps.' }),
  whole('eval-batches', 'Validation batches', 'training.eval_batches', 'training', 1),
  whole('seed', 'Seed', 'training.seed', 'training', 0),

  part('validation', 'Validation, %', 'validation', 'text', {
    percent: true,
    max: 50,
    help: 'The end of the text: judges, never trains.',
  }),
];

const kByKey = new Map(kFields.map((field) => [field.key, field]));
const kByPath = new Map(kFields.map((field) => [field.path, field]));

export function fieldOf(key: string): Field | undefined {
  return kByKey.get(key);
}

/**
 * The engine's text, with options as the shell names them ("--context") by their labels on this page; and the field that it is
 * about when it begins with one and its value.
 */
export function explain(error: string): { text: string; field: string | null } {
  const [whole, path] = /^Setting '(.+?)' is not possible: /.exec(error) ?? [];
  const named = path === undefined ? undefined : kByPath.get(path);
  if (named && whole)
    return { text: `“${named.label}” is not possible: ${error.slice(whole.length)}`, field: named.key };
  const [, first = ''] = /^(?:--)?([a-z-]+):? (?=[-\d“]|is not)/.exec(error) ?? [];
  const field = kByKey.get(first) ?? (error.startsWith('learning rate ') ? kByKey.get('lr') : undefined);
  const text = error.replace(/--([a-z][a-z-]*)/g, (option, name: string) => {
    const known = kByKey.get(name);
    return known ? `“${known.label}”` : option;
  });
  return { text, field: field?.key ?? null };
}
