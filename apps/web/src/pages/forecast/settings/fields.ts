// The settings that a person may choose, one row each: where it stands in the engine's ForecastSettings, how it is asked for, and
// its name, which is both the key in the address and the engine's option of that name ("--horizon").
//
// Does: rows and lookups. Does not: hold values (choices.ts), check ranges (the engine does; min and max only guide the controls).

import type { ForecastSettings } from '../../../engine/types';
import type { ChoiceSetting, NumberSetting, SettingBase } from '../../../lib/settings';

export type Group = 'main' | 'data' | 'model' | 'training';

interface Of {
  group: Group;
  shown?: (settings: ForecastSettings) => boolean;
}
type NumberField = NumberSetting & Of;
type ChoiceField = ChoiceSetting & Of;
/** Chosen from the table's columns, by controls of their own. */
type ColumnField = SettingBase & Of & { input: 'column' | 'columns' };
export type Field = NumberField | ChoiceField | ColumnField;

const isTransformer = (s: ForecastSettings) => s.model.kind === 'transformer';

export const kFields: Field[] = [
  { key: 'target', label: 'Target', path: 'target', group: 'main', input: 'column' },
  { key: 'features', label: 'Features', path: 'features', group: 'main', input: 'columns' },
  {
    key: 'model',
    label: 'Model',
    path: 'model.kind',
    group: 'main',
    input: 'choice',
    options: [
      ['lstm', 'LSTM'],
      ['gru', 'GRU'],
      ['transformer', 'Transformer'],
    ],
  },
  {
    key: 'horizon',
    label: 'Horizon',
    path: 'model.horizon',
    group: 'main',
    input: 'number',
    whole: true,
    min: 1,
    max: 100_000,
  },
  {
    key: 'window',
    label: 'Window',
    path: 'model.window',
    group: 'main',
    input: 'number',
    whole: true,
    min: 1,
    max: 100_000,
  },
  {
    key: 'calendar',
    label: 'Calendar features',
    path: 'calendar',
    group: 'main',
    input: 'choice',
    help: 'Helps where weekdays or seasons matter.',
    options: [
      ['', 'None'],
      ['auto', 'What suits the step'],
      ['yearday', 'Day of the year'],
      ['weekday_onehot', 'Weekday'],
      ['weekday_onehot,yearday', 'Weekday and day of the year'],
      ['hour', 'Hour of the day'],
      ['hour,weekday_onehot', 'Hour and weekday'],
      ['month', 'Month'],
    ],
  },

  { key: 'time', label: 'Time column', path: 'time', group: 'data', input: 'column' },
  {
    key: 'missing',
    label: 'Missing values',
    path: 'missing',
    group: 'data',
    input: 'choice',
    options: [
      ['auto', 'Straight line over short gaps'],
      ['linear', 'Straight line over any gap'],
      ['previous', 'Repeat the value before'],
      ['drop', 'Leave these rows out'],
      ['error', 'Stop with a message'],
    ],
  },
  {
    key: 'season',
    label: 'Season, in steps',
    path: 'season',
    group: 'data',
    input: 'number',
    whole: true,
    min: 0,
    help: '0: found in the data. 1: none.',
  },
  {
    key: 'predict',
    label: 'Predict',
    path: 'predict',
    group: 'data',
    input: 'choice',
    options: [
      ['difference', 'The change from the seasonal or last value'],
      ['value', 'The value itself'],
    ],
  },
  {
    key: 'normalise',
    label: 'Normalisation',
    path: 'normalise',
    group: 'data',
    input: 'choice',
    options: [
      ['window', 'Each window by its own mean and spread'],
      ['standard', 'Mean 0, deviation 1 over the training part'],
      ['minmax', '0 to 1 over the training part'],
      ['none', 'None'],
    ],
  },
  {
    key: 'validation',
    label: 'Validation, %',
    path: 'split.validation',
    group: 'data',
    input: 'number',
    whole: false,
    percent: true,
    min: 0,
    max: 90,
    help: 'Chooses the epoch.',
  },
  {
    key: 'test',
    label: 'Test, %',
    path: 'split.test',
    group: 'data',
    input: 'number',
    whole: false,
    percent: true,
    min: 1,
    max: 90,
    help: 'Judges, never trains.',
  },

  {
    key: 'units',
    label: 'Units',
    path: 'model.units',
    group: 'model',
    input: 'number',
    whole: true,
    min: 1,
    max: 65_536,
  },
  {
    key: 'layers',
    label: 'Layers',
    path: 'model.layers',
    group: 'model',
    input: 'number',
    whole: true,
    min: 1,
    max: 1024,
  },
  {
    key: 'heads',
    label: 'Attention heads',
    path: 'model.heads',
    group: 'model',
    input: 'number',
    whole: true,
    min: 1,
    max: 65_536,
    shown: isTransformer,
  },
  {
    key: 'dropout',
    label: 'Dropout',
    path: 'model.dropout',
    group: 'model',
    input: 'number',
    whole: false,
    min: 0,
    max: 0.999,
    step: 0.05,
  },
  {
    key: 'loss',
    label: 'Loss',
    path: 'model.loss',
    group: 'model',
    input: 'choice',
    options: [
      ['mse', 'Mean squared error'],
      ['mae', 'Mean absolute error'],
      ['huber', 'Huber'],
      ['quantile', 'Quantiles 10, 50, 90 %'],
    ],
  },

  {
    key: 'epochs',
    label: 'Epochs at most',
    path: 'training.epochs',
    group: 'training',
    input: 'number',
    whole: true,
    min: 1,
  },
  {
    key: 'patience',
    label: 'Patience, epochs',
    path: 'training.patience',
    group: 'training',
    input: 'number',
    whole: true,
    min: 0,
    help: 'Stops after so many without a better loss. 0: never.',
  },
  {
    key: 'batch',
    label: 'Batch size',
    path: 'training.batch',
    group: 'training',
    input: 'number',
    whole: true,
    min: 1,
  },
  {
    key: 'lr',
    label: 'Learning rate',
    path: 'training.learning_rate',
    group: 'training',
    input: 'number',
    whole: false,
    min: 0,
    step: 0.001,
  },
  {
    key: 'schedule',
    label: 'Schedule',
    path: 'training.schedule',
    group: 'training',
    input: 'choice',
    options: [
      ['cosine', 'Cosine'],
      ['linear', 'Linear'],
      ['constant', 'Constant'],
      ['step', 'Three steps down'],
    ],
  },
  {
    key: 'clip',
    label: 'Clip gradients at',
    path: 'clip',
    group: 'training',
    input: 'number',
    whole: false,
    min: 0,
    step: 0.5,
    help: 'Largest norm. 0: never.',
  },
  { key: 'seed', label: 'Seed', path: 'training.seed', group: 'training', input: 'number', whole: true, min: 0 },
];

const kByKey = new Map(kFields.map((field) => [field.key, field]));

export function fieldOf(key: string): Field | undefined {
  return kByKey.get(key);
}

/** How the engine begins a sentence about a setting: by the shell's option, by the option's name before a value, or by its place. */
const kBeginnings = [
  /^(?:settings: )?--([a-z]+)\b/,
  /^settings: ([a-z]+)\b/,
  /^([a-z]+) (?=[-\d])/,
  /^Setting '([a-z_.]+)'/,
];

/** The engine's text with settings by their labels on this page; and the field that it is about, when it begins with one. */
export function explain(error: string): { text: string; field: string | null } {
  const name = kBeginnings.map((beginning) => beginning.exec(error)?.[1]).find((found) => found !== undefined);
  const field = kFields.find((known) => known.key === name || known.path === name);
  const label = (key: string, otherwise: string) => {
    const known = kFields.find((candidate) => candidate.key === key || candidate.path === key);
    return known ? `“${known.label}”` : otherwise;
  };
  const text = error
    .replace(/^settings: /, '')
    .replace(/^Setting '([a-z_.]+)'/, (all, path: string) => label(path, all))
    .replace(/--([a-z][a-z-]*)/g, (all, key: string) => label(key, all));
  return { text, field: field?.key ?? null };
}
