// The settings in force (defaults and choices), the text put into tokens for them, and what the engine makes of both before
// training: the plan, or what is wrong.

import { computed, effect, signal } from '@preact/signals';
import { deviceChoice } from '../../../engine/device';
import { call, engineState, onEvent, textOf } from '../../../engine/engine';
import type {
  CorpusInfo,
  DeepPartial,
  LmPlan,
  LmPreset,
  LmKind,
  LmSettings,
  OptimizerKind,
} from '../../../engine/types';
import { model, type OpenText, text } from '../text/text';
import { foretell } from '../run/foretell';
import { type Choices, choicesFor, settingsOf, shownValue, withChoice } from './choices';
import { explain, fieldOf, kPresets } from './fields';

export type Planned =
  { state: 'none' } | { state: 'planned'; plan: LmPlan } | { state: 'impossible'; text: string; field: string | null };

export interface Preparing {
  stage: 'reading' | 'learning' | 'encoding';
  part: number;
}

/** A pause in typing. */
const kSettleMs = 250;
interface Basis {
  kind: LmKind;
  preset: string;
  optimizer: OptimizerKind;
}
const kFirst: Basis = { kind: 'gpt', preset: 'small', optimizer: 'adamw' };
const kBasisKeys = ['model', 'preset', 'optimizer'];

export const presets = signal<LmPreset[]>([]);
export const choices = signal<Choices>({});
export const planned = signal<Planned>({ state: 'none' });
/** The text in tokens, as the choices want it; null until it is. */
export const corpus = signal<CorpusInfo | null>(null);
export const preparing = signal<Preparing | null>(null);
/** Why the text could not be put into tokens. */
export const prepareError = signal<string | null>(null);
/** A run goes on from the opened model's weights. */
export const fromModel = signal(true);
export const goesOn = computed(() => model.value !== null && fromModel.value);

/** By what the defaults depend on. */
const known = signal<Record<string, LmSettings>>({});
const keyOf = ({ kind, preset, optimizer }: Basis): string => `${kind} ${preset} ${optimizer}`;
export const wanted = computed((): Basis => ({
  kind: (choices.value.model ?? kFirst.kind) as LmKind,
  preset: kPresets.find((name) => name === choices.value.preset) ?? kFirst.preset,
  optimizer: (choices.value.optimizer ?? kFirst.optimizer) as OptimizerKind,
}));

/** The defaults for the chosen kind, size and optimizer; null until they are there. */
export const defaults = computed<LmSettings | null>(() => {
  const base = known.value[keyOf(wanted.value)];
  if (!base || !goesOn.value) return base ?? null;
  const { batch, dropout, label_smoothing } = base.model;
  return { ...base, tokenizer: 'model', model: { ...model.value!.model, batch, dropout, label_smoothing } };
});

export const tokenizerChoice = computed(() =>
  goesOn.value ? 'model' : (choices.value.tokenizer ?? defaults.value?.tokenizer ?? 'byte'),
);
const validationPart = computed(() => {
  const base = defaults.value;
  return Number(choices.value.validation ?? (base ? shownValue(fieldOf('validation')!, base) : '10')) / 100;
});

export function choose(key: string, value: string): void {
  const base = defaults.value;
  if (!base) return;
  // Kind, size and optimizer have defaults of their own, whichever are chosen now.
  const first = known.value[keyOf(kFirst)];
  choices.value = withChoice(choices.value, key, value, kBasisKeys.includes(key) ? (first ?? base) : base);
}

/** Shows the settings of a run that was brought back. */
export async function adopt(settings: LmSettings): Promise<void> {
  const { kind, name: preset } = settings.model;
  const { kind: optimizer } = settings.training.optimizer;
  fromModel.value = false;
  await loadDefaults({ kind, preset, optimizer });
  const base = known.value[keyOf({ kind, preset, optimizer })];
  if (!base) return;
  const named: Choices = {
    ...(kind === kFirst.kind ? {} : { model: kind }),
    ...(preset === kFirst.preset ? {} : { preset }),
    ...(optimizer === kFirst.optimizer ? {} : { optimizer }),
  };
  choices.value = { ...named, ...choicesFor(settings, base) };
}

/** What goes to the engine. Throws Error naming a setting that is no number. */
export function chosenSettings(): DeepPartial<LmSettings> {
  const base = defaults.peek();
  if (!base) return {};
  const settings = settingsOf(choices.peek(), base);
  if (!goesOn.peek()) return settings;
  const { batch = base.model.batch, dropout, label_smoothing } = settings.model ?? {};
  return { ...settings, model: { batch, dropout, label_smoothing }, tokenizer: 'model' } as DeepPartial<LmSettings>;
}

async function loadDefaults(basis: Basis): Promise<void> {
  const key = keyOf(basis);
  if (known.peek()[key]) return;
  const settings = await call('lm.defaults', basis);
  known.value = { ...known.peek(), [key]: settings };
}

/** What the text is in tokens for, or is being put into. */
let preparedFor: { text: OpenText | null; how: string } | null = null;
const howOf = (tokenizer: string, validation: number): string => `${tokenizer} ${validation}`;

/** A restored run's text is in tokens already. */
export function takePrepared(info: CorpusInfo): void {
  preparedFor = { text: text.peek(), how: howOf(info.tokenizer, validationPart.peek()) };
  corpus.value = info;
}

/** Keeps defaults, tokens and plan up to date with text and choices while no run has the engine. */
export function keepPlanned(busy: () => boolean): void {
  effect(() => {
    if (engineState.value.state !== 'ready') return;
    if (presets.peek().length === 0) void call('lm.presets', {}).then((list) => (presets.value = list));
    void loadDefaults(kFirst);
    void loadDefaults(wanted.value);
  });
  keepPrepared(busy);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  effect(() => {
    clearTimeout(timer);
    const mine = ++latest;
    void choices.value;
    void deviceChoice.value; // what is foretold depends on it
    if (!defaults.value || !corpus.value || engineState.value.state !== 'ready') {
      planned.value = { state: 'none' };
      return;
    }
    const from = goesOn.value;
    if (busy()) return;
    timer = setTimeout(
      async () => {
        try {
          const args = { settings: chosenSettings(), from };
          const plan = await call('lm.plan', args);
          if (mine !== latest) return;
          planned.value = { state: 'planned', plan };
          void foretell(plan, args);
        } catch (error) {
          if (mine === latest) planned.value = { state: 'impossible', ...explain(textOf(error)) };
        }
      },
      planned.peek().state === 'planned' ? kSettleMs : 0,
    );
  });
}

function keepPrepared(busy: () => boolean): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = 0;
  effect(() => {
    clearTimeout(timer);
    const open = text.value;
    const tokenizer = tokenizerChoice.value;
    const validation = validationPart.value;
    const ready = engineState.value.state === 'ready' && defaults.value !== null;
    const occupied = busy();
    if (!open) {
      ++latest;
      preparedFor = null;
      corpus.value = null;
      preparing.value = null;
      return;
    }
    const how = howOf(tokenizer, validation);
    if (!ready || occupied || (preparedFor?.text === open && preparedFor.how === how)) return;
    const mine = ++latest;
    timer = setTimeout(
      async () => {
        preparedFor = { text: open, how };
        corpus.value = null;
        prepareError.value = null;
        preparing.value = { stage: 'encoding', part: 0 };
        try {
          const info = await call('lm.prepare', { tokenizer, validation });
          if (mine === latest) corpus.value = info;
        } catch (error) {
          if (mine === latest) prepareError.value = explain(textOf(error)).text;
        } finally {
          if (mine === latest) preparing.value = null;
        }
      },
      corpus.peek() ? kSettleMs : 0,
    );
  });
}

onEvent((event) => {
  if (event.event !== 'lm.preparing' || !preparing.peek()) return;
  preparing.value = { stage: event.stage, part: event.done / Math.max(1, event.all) };
});
