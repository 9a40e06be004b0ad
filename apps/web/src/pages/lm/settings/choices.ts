// What the person chose, as the texts that stand in the address; and the engine's settings made of them.
//
// Pure functions on plain data. A choice is kept only where it differs from the default, so addresses stay short and another size
// brings that size's defaults for all that was not chosen.

import type { DeepPartial, LmSettings } from '../../../engine/types';
import { type Choices, put, shownSetting, typedNumber } from '../../../lib/settings';
import { type Field, fieldOf, kFields } from './fields';

export type { Choices };

/** A settings' value as the control shows it. */
export const shownValue: (field: Field, settings: LmSettings) => string = shownSetting;

function valueOf(field: Field, text: string): unknown {
  if (field.input === 'number') return typedNumber(field, text);
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

/** Of the defaults only the optimizer's numbers are sent, which the engine does not take from its kind. */
export function settingsOf(choices: Choices, defaults: LmSettings): DeepPartial<LmSettings> {
  const { kind, name } = defaults.model;
  const { optimizer, learning_rate } = defaults.training;
  const settings: Record<string, unknown> = {
    model: { kind, name },
    training: { learning_rate, optimizer: { ...optimizer } },
  };
  for (const field of kFields) {
    const text = choices[field.key];
    if (text !== undefined) put(settings, field.path, valueOf(field, text));
  }
  return settings as DeepPartial<LmSettings>;
}

/** Sets or, where it is the default, takes back a choice. */
export function withChoice(choices: Choices, key: string, text: string, defaults: LmSettings): Choices {
  const { [key]: _, ...rest } = choices;
  const field = fieldOf(key);
  if (!field || shownValue(field, defaults) === text) return rest;
  return { ...rest, [key]: text };
}

/** The choices that make these settings of the defaults. */
export function choicesFor(settings: LmSettings, defaults: LmSettings): Choices {
  const differing = kFields.filter((field) => shownValue(field, settings) !== shownValue(field, defaults));
  return Object.fromEntries(differing.map((field) => [field.key, shownValue(field, settings)]));
}

/** Those choices of an address that are known here; a link from anywhere can hold anything. */
export function choicesFrom(query: Record<string, string>): Choices {
  const known = Object.entries(query).filter(([key, text]) => {
    const field = fieldOf(key);
    if (!field || (key === 'tokenizer' && (text === 'file' || text === 'model'))) return false; // a link brings no file
    return field.input === 'number' || field.options.some(([value]) => value === text);
  });
  return Object.fromEntries(known);
}

/** Labels and values in which settings differ from others; the seed is one of them. */
export function differences(settings: LmSettings, from: LmSettings): string[] {
  return kFields
    .filter((field) => shownValue(field, settings) !== shownValue(field, from))
    .map((field) => {
      const value = shownValue(field, settings);
      const label = field.input === 'choice' ? field.options.find(([option]) => option === value)?.[1] : undefined;
      return `${field.label}: ${label ?? value}`;
    });
}
