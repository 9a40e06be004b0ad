// Between settings of the engine and the texts by which a page shows, asks for and shares them. Pure; what the fields are, each
// page says.

/** By key. Only what differs from the defaults is kept, so addresses stay short. */
export type Choices = Record<string, string>;

/** Where a setting stands, and how a control asks for it. */
export interface SettingBase {
  /** In the address, and the engine's option of that name ("--horizon"). */
  key: string;
  label: string;
  path: string;
  help?: string;
}
export interface NumberSetting extends SettingBase {
  input: 'number';
  whole: boolean;
  /** These guide the control; the engine checks. */
  min: number;
  max?: number;
  /** Of the arrows; any number may be typed. */
  step?: number;
  /** Written in per cent, kept as a part of 1. */
  percent?: boolean;
}
export interface ChoiceSetting extends SettingBase {
  input: 'choice';
  options: [value: string, label: string][];
}

export function at(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], settings);
}

export function put(settings: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop()!;
  let group = settings;
  for (const key of keys) group = (group[key] ??= {}) as Record<string, unknown>;
  group[last] = value;
}

/** A settings' value as the control shows it. */
export function shownSetting(field: NumberSetting | ChoiceSetting, settings: unknown): string {
  const value = at(settings, field.path);
  if (field.input === 'number' && field.percent) return String(Number(((value as number) * 100).toFixed(4)));
  return String(value ?? '');
}

/** What was typed, for the engine. Throws Error naming the setting. */
export function typedNumber(field: NumberSetting, text: string): number | string {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new Error(`--${field.key}: “${text}” is not a number.`);
  if (field.whole && !Number.isInteger(number)) throw new Error(`--${field.key}: ${text} is not a whole number.`);
  if (field.key === 'seed') return text.trim(); // 64 bits do not fit a JavaScript number
  return field.percent ? number / 100 : number;
}
