// What the person chose, as the texts that stand in the address; and the engine's settings made of them.
//
// Pure functions on plain data. A choice is kept only where it differs from the default, so addresses stay short and a change of
// model brings that model's defaults for all that was not chosen.

import type { DeepPartial, ForecastSettings, TableInfo } from '../../../engine/types';
import { at, type Choices, put, shownSetting, typedNumber } from '../../../lib/settings';
import { fieldOf, kFields, type Field } from './fields';

export type { Choices };

/** With quantile loss; the page always asks for the band of the other losses. */
const kQuantiles = [0.1, 0.5, 0.9];

/** Column names may hold commas. */
export function joinNames(names: string[]): string {
  return names.map((name) => name.replace(/[\\,]/g, '\\$&')).join(',');
}
export function splitNames(text: string): string[] {
  return (text.match(/(?:\\.|[^\\,])+/gs) ?? []).map((name) => name.replace(/\\(.)/gs, '$1'));
}

/** A settings' value as the control shows it. */
export function shownValue(field: Field, settings: ForecastSettings): string {
  if (field.input === 'number' || field.input === 'choice') return shownSetting(field, settings);
  const value = at(settings, field.path);
  return field.input === 'columns' ? joinNames((value as string[] | undefined) ?? []) : String(value ?? '');
}

/** The value of a control for the engine. Throws Error naming the setting. */
function valueOf(field: Field, text: string): unknown {
  if (field.input === 'columns') return splitNames(text);
  return field.input === 'number' ? typedNumber(field, text) : text;
}

export function settingsOf(choices: Choices, defaults: ForecastSettings): DeepPartial<ForecastSettings> {
  const settings: Record<string, unknown> = { model: { kind: defaults.model.kind } };
  for (const field of kFields) {
    const text = choices[field.key];
    if (text !== undefined) put(settings, field.path, valueOf(field, text));
  }
  const result = settings as DeepPartial<ForecastSettings>;
  if (result.model?.loss === 'quantile') result.model.quantiles = kQuantiles;
  if (result.split) {
    const { validation = defaults.split.validation, test = defaults.split.test } = result.split;
    if (validation + test >= 1) throw new Error('--test: validation and test together leave nothing to train on.');
    result.split = { train: Number((1 - validation - test).toFixed(9)), validation, test };
  }
  return result;
}

/** Sets or, where it is the default, takes back a choice. */
export function withChoice(choices: Choices, key: string, text: string, defaults: ForecastSettings): Choices {
  const { [key]: _, ...rest } = choices;
  const field = fieldOf(key);
  if (!field || shownValue(field, defaults) === text) return rest;
  return { ...rest, [key]: text };
}

/** The choices that make these settings of the defaults. */
export function choicesFor(settings: ForecastSettings, defaults: ForecastSettings): Choices {
  const differing = kFields.filter((field) => shownValue(field, settings) !== shownValue(field, defaults));
  return Object.fromEntries(differing.map((field) => [field.key, shownValue(field, settings)]));
}

/** Those choices of an address that are known here; a link from anywhere can hold anything. */
export function choicesFrom(query: Record<string, string>): Choices {
  const known = Object.entries(query).filter(([key, text]) => {
    const field = fieldOf(key);
    if (!field) return false;
    // The calendar takes any list of words; the engine checks it.
    return field.input !== 'choice' || key === 'calendar' || field.options.some(([value]) => value === text);
  });
  return Object.fromEntries(known);
}

/** Choices of columns that the table lacks are dropped; the names of the dropped are told. */
export function fitToTable(choices: Choices, table: TableInfo): { choices: Choices; dropped: string[] } {
  const names = new Set(table.columns.map((column) => column.name));
  const dropped: string[] = [];
  const result = { ...choices };
  for (const key of ['target', 'time'] as const) {
    const name = result[key];
    if (name === undefined || names.has(name) || (key === 'time' && (name === '' || name === 'none'))) continue;
    dropped.push(name);
    delete result[key];
  }
  if (result.features !== undefined) {
    const features = splitNames(result.features);
    const kept = features.filter((name) => names.has(name));
    dropped.push(...features.filter((name) => !names.has(name)));
    if (kept.length > 0) result.features = joinNames(kept);
    else delete result.features;
  }
  return { choices: result, dropped };
}
