// The settings in force (defaults and choices) and what the engine makes of them before training: the plan, or what is wrong.

import { computed, effect, signal } from '@preact/signals';
import { call, engineState, textOf } from '../../../engine/engine';
import type { DeepPartial, ForecastSettings, ModelKind, RunPlan } from '../../../engine/types';
import { table } from '../data/table';
import { type Choices, choicesFor, settingsOf, withChoice } from './choices';
import { explain } from './fields';

export type Planned =
  | { state: 'none' }
  | { state: 'planning' }
  | { state: 'planned'; plan: RunPlan }
  | { state: 'impossible'; text: string; field: string | null };

/** A pause in typing. */
const kSettleMs = 250;
const kKinds: ModelKind[] = ['lstm', 'gru', 'transformer'];

const kindDefaults = signal<Record<ModelKind, ForecastSettings> | null>(null);
export const choices = signal<Choices>({});
export const planned = signal<Planned>({ state: 'none' });

export async function loadDefaults(): Promise<void> {
  const list = await Promise.all(kKinds.map((kind) => call('defaults', { kind })));
  kindDefaults.value = Object.fromEntries(kKinds.map((kind, i) => [kind, list[i]!])) as Record<
    ModelKind,
    ForecastSettings
  >;
}

/** The defaults for the chosen model and the open table; null until both are there. */
export const defaults = computed<ForecastSettings | null>(() => {
  const all = kindDefaults.value;
  const open = table.value;
  if (!all || !open) return null;
  const kind = kKinds.find((known) => known === choices.value.model) ?? kKinds[0]!;
  return { ...all[kind], target: open.info.suggestedTarget };
});

export function choose(key: string, text: string): void {
  const base = defaults.value;
  if (!base) return;
  // The model's own default is the first kind, whichever is chosen now.
  const against = key === 'model' && kindDefaults.value ? kindDefaults.value[kKinds[0]!] : base;
  choices.value = withChoice(choices.value, key, text, against);
}

/** Shows the settings of a run that was brought back. */
export function adopt(settings: ForecastSettings): void {
  const kind = settings.model.kind;
  const model: Choices = kind === kKinds[0] ? {} : { model: kind };
  choices.value = model; // the defaults follow the kind
  const base = defaults.peek();
  if (base) choices.value = { ...model, ...choicesFor(settings, base) };
}

/** What goes to the engine. Throws Error naming a setting that is no number. */
export function chosenSettings(): DeepPartial<ForecastSettings> {
  const base = defaults.peek();
  if (!base) return {};
  return { target: base.target, ...settingsOf(choices.peek(), base) };
}

/** Keeps the plan up to date with table and choices while no run has the engine. */
export function keepPlanned(busy: () => boolean): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  effect(() => {
    clearTimeout(timer);
    const mine = ++latest;
    void choices.value;
    if (!defaults.value || engineState.value.state !== 'ready') {
      planned.value = { state: 'none' };
      return;
    }
    if (busy()) return;
    timer = setTimeout(
      async () => {
        try {
          const plan = await call('plan', { settings: chosenSettings() });
          if (mine === latest) planned.value = { state: 'planned', plan };
        } catch (error) {
          if (mine === latest) planned.value = { state: 'impossible', ...explain(textOf(error)) };
        }
      },
      planned.peek().state === 'planned' ? kSettleMs : 0,
    );
    if (planned.peek().state === 'none') planned.value = { state: 'planning' };
  });
}
