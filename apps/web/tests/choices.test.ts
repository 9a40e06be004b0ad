import { expect, test } from 'vitest';
import type { ForecastSettings, TableInfo } from '../src/engine/types';
import {
  choicesFor,
  choicesFrom,
  fitToTable,
  joinNames,
  settingsOf,
  shownValue,
  splitNames,
  withChoice,
} from '../src/pages/forecast/settings/choices';
import { explain, kFields } from '../src/pages/forecast/settings/fields';
import { formatAddress, parseAddress } from '../src/shell/address';

const kDefaults: ForecastSettings = {
  target: 'births',
  time: '',
  features: [],
  missing: 'auto',
  split: { train: 0.7, validation: 0.1, test: 0.2 },
  season: 0,
  normalise: 'window',
  predict: 'difference',
  calendar: '',
  model: {
    kind: 'lstm',
    window: 48,
    horizon: 12,
    units: 64,
    layers: 1,
    heads: 4,
    dropout: 0.1,
    loss: 'mse',
    quantiles: [],
  },
  training: { epochs: 40, batch: 64, patience: 10, schedule: 'cosine', learning_rate: 0.005, seed: '0' },
  clip: 1,
};

test('every field has a place in the settings and a key of its own', () => {
  for (const field of kFields) expect(shownValue(field, kDefaults), field.key).toBeTypeOf('string');
  for (const field of kFields) if (field.input === 'number') expect(shownValue(field, kDefaults)).toMatch(/^[\d.]+$/);
  expect(new Set(kFields.map((field) => field.key)).size).toBe(kFields.length);
});

test('choices become settings of the right types', () => {
  const choices = {
    features: 'a,b',
    model: 'gru',
    horizon: '7',
    lr: '0.001',
    seed: '18446744073709551615',
    calendar: 'auto',
  };
  expect(settingsOf(choices, kDefaults)).toEqual({
    features: ['a', 'b'],
    model: { kind: 'gru', horizon: 7 },
    training: { learning_rate: 0.001, seed: '18446744073709551615' },
    calendar: 'auto',
  });
});

test('parts of the split add up to 1', () => {
  expect(settingsOf({ test: '30' }, kDefaults).split).toEqual({ train: 0.6, validation: 0.1, test: 0.3 });
  expect(() => settingsOf({ test: '95' }, kDefaults)).toThrow('nothing to train on');
});

test('quantile loss asks for the quantiles of the band', () => {
  expect(settingsOf({ loss: 'quantile' }, kDefaults).model).toEqual({
    kind: 'lstm',
    loss: 'quantile',
    quantiles: [0.1, 0.5, 0.9],
  });
});

test('what is no number is refused by name', () => {
  expect(() => settingsOf({ horizon: '' }, kDefaults)).toThrow('--horizon');
  expect(() => settingsOf({ horizon: '1.5' }, kDefaults)).toThrow('not a whole number');
  expect(() => settingsOf({ lr: 'fast' }, kDefaults)).toThrow('“fast” is not a number');
});

test('a choice of the default is no choice', () => {
  expect(withChoice({ horizon: '7' }, 'horizon', '12', kDefaults)).toEqual({});
  expect(withChoice({}, 'horizon', '7', kDefaults)).toEqual({ horizon: '7' });
  expect(withChoice({}, 'test', '20', kDefaults)).toEqual({});
});

test('settings of a saved run become the choices that made them', () => {
  const settings = { ...kDefaults, features: ['a, b'], model: { ...kDefaults.model, horizon: 7 } };
  const choices = choicesFor(settings, kDefaults);
  expect(choices).toEqual({ features: 'a\\, b', horizon: '7' });
  expect(settingsOf(choices, kDefaults)).toEqual({ features: ['a, b'], model: { kind: 'lstm', horizon: 7 } });
});

test('names with commas and backslashes survive', () => {
  const names = ['a,b', 'c\\', 'd e', 'é&=?#'];
  expect(splitNames(joinNames(names))).toEqual(names);
  expect(splitNames('')).toEqual([]);
});

test('an address gives back its page and choices', () => {
  const query = { data: 'co2', target: 'a b&c=d?#é', features: joinNames(['a,b', 'c']), horizon: '7' };
  const text = formatAddress({ page: 'forecast', query });
  expect(parseAddress(text)).toEqual({ page: 'forecast', query });
  expect(parseAddress('')).toEqual({ page: 'forecast', query: {} });
  expect(parseAddress('#/speed')).toEqual({ page: 'speed', query: {} });
});

test('of a link only known settings with possible words are taken', () => {
  expect(
    choicesFrom({ horizon: '7', nonsense: '1', model: 'resnet', schedule: 'step', calendar: 'yearday,month' }),
  ).toEqual({
    horizon: '7',
    schedule: 'step',
    calendar: 'yearday,month',
  });
});

test('columns that a file lacks are dropped and told', () => {
  const column = (name: string) => ({ name, kind: 'number' as const, missing: 0, problem: '', min: 0, max: 1 });
  const table = { columns: [column('a'), column('b')] } as unknown as TableInfo;
  expect(fitToTable({ target: 'a', features: 'b,c', time: 'none', horizon: '3' }, table)).toEqual({
    choices: { target: 'a', features: 'b', time: 'none', horizon: '3' },
    dropped: ['c'],
  });
  expect(fitToTable({ target: 'x', features: 'y' }, table)).toEqual({ choices: {}, dropped: ['x', 'y'] });
});

test("settings in the engine's sentences get the page's labels, and lead to the field", () => {
  expect(explain('--horizon 900 is too long. Lower --horizon or --window.')).toEqual({
    text: '“Horizon” 900 is too long. Lower “Horizon” or “Window”.',
    field: 'horizon',
  });
  expect(explain('season 49 is longer than the window.')).toEqual({
    text: 'season 49 is longer than the window.',
    field: 'season',
  });
  expect(explain('settings: units must be from 1 to 4096, got 60000')).toEqual({
    text: 'units must be from 1 to 4096, got 60000',
    field: 'units',
  });
  expect(explain("Setting 'training.batch' is not possible: from 1 to 1000000.")).toEqual({
    text: '“Batch size” is not possible: from 1 to 1000000.',
    field: 'batch',
  });
  expect(explain('Lower --lr, or clip gradients with --clip 1. --unknown stays.').text).toBe(
    'Lower “Learning rate”, or clip gradients with “Clip gradients at” 1. --unknown stays.',
  );
  expect(explain('test windows are too few.').field).toBe(null);
  expect(explain('sales.csv row 3: 4 cells instead of 5.')).toEqual({
    text: 'sales.csv row 3: 4 cells instead of 5.',
    field: null,
  });
});
