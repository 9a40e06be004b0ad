// The run under way or last looked at: its state by the engine's events, and the commands of the person.

import { computed, signal } from '@preact/signals';
import { deviceChoice } from '../../../engine/device';
import { call, onCrash, onEvent, textOf } from '../../../engine/engine';
import type {
  DeepPartial,
  DeviceUse,
  LmPlan,
  LmProgress,
  LmResult,
  LmRunFacts,
  LmSettings,
  TextInfo,
} from '../../../engine/types';
import { explain } from '../settings/fields';
import { RunHistory } from './history';
import { keepSpeed } from './speed';

export interface Sample {
  step: number;
  text: string;
  goesOn: boolean;
}

export interface Run {
  facts: LmRunFacts;
  plan: LmPlan;
  device: DeviceUse;
  state: 'training' | 'paused' | 'ended' | 'failed';
  progress: LmProgress | null;
  history: RunHistory;
  result: LmResult | null;
  error: string | null;
  /** Step of the last checkpoint in the browser's storage; null when there was none. */
  savedStep: number | null;
  notices: string[];
  /** What it wrote on the way, the newest first. */
  samples: Sample[];
}

const kSampleSeconds = 20;
const kMostSamples = 30;

export const run = signal<Run | null>(null);
/** A run is being set up; the engine answers when it stands. */
export const starting = signal(false);
/** Why it could not be set up, or a command failed. */
export const runError = signal<string | null>(null);

export const training = computed(() => starting.value || ['training', 'paused'].includes(run.value?.state ?? ''));

function begun(facts: LmRunFacts, plan: LmPlan, device: DeviceUse): Run {
  return {
    facts,
    plan,
    device,
    state: 'training',
    progress: null,
    history: new RunHistory(),
    result: null,
    error: null,
    savedStep: null,
    notices: [],
    samples: [],
  };
}

function change(id: string, patch: Partial<Run>): void {
  const current = run.peek();
  if (current && current.facts.run === id) run.value = { ...current, ...patch };
}

/** Events can come before the reply that names their run: they wait for it. */
let early: (() => void)[] = [];

async function setUp(begin: () => Promise<Run>): Promise<Run | null> {
  starting.value = true;
  runError.value = null;
  try {
    return (run.value = await begin());
  } catch (error) {
    runError.value = explain(textOf(error)).text;
    early = [];
    return null;
  } finally {
    starting.value = false;
    for (const action of early.splice(0)) action();
  }
}

export function train(settings: DeepPartial<LmSettings>, from: boolean): Promise<Run | null> {
  return setUp(async () => {
    const device = deviceChoice.peek();
    const reply = await call('lm.train', { settings, from, device, sampleSeconds: kSampleSeconds });
    return begun(reply.facts, reply.plan, reply.device);
  });
}

export function restore(id: string, opened: (text: TextInfo, facts: LmRunFacts) => Promise<void>): Promise<Run | null> {
  return setUp(async () => {
    const device = deviceChoice.peek();
    const reply = await call('lm.restore', { run: id, device, sampleSeconds: kSampleSeconds });
    await opened(reply.text, reply.facts);
    const base = begun(reply.facts, reply.plan, reply.device);
    base.history.add(reply.numbers);
    return reply.result ? { ...base, state: 'ended', result: reply.result } : base;
  });
}

export async function command(name: 'pause' | 'resume' | 'stop'): Promise<void> {
  runError.value = null;
  const current = run.peek();
  if (!current) return;
  try {
    await call(`lm.${name}`, {});
    if (name === 'pause') change(current.facts.run, { state: 'paused' });
    if (name === 'resume') change(current.facts.run, { state: 'training' });
  } catch (error) {
    runError.value = textOf(error);
  }
}

export async function closeRun(): Promise<void> {
  const open = run.peek();
  run.value = null;
  runError.value = null;
  if (open) await call('lm.close', {});
}

function addSample(current: Run, step: number, text: string, goesOn: boolean): void {
  const [newest, ...older] = current.samples;
  const samples =
    newest?.goesOn && newest.step === step
      ? [{ step, text: newest.text + text, goesOn }, ...older]
      : [{ step, text, goesOn }, ...current.samples].slice(0, kMostSamples);
  change(current.facts.run, { samples });
}

onEvent((event) => {
  const handle = (): void => {
    const current = run.peek();
    if (!current) return;
    switch (event.event) {
      case 'lm.progress': {
        const { progress } = event;
        if (progress.run !== current.facts.run) return;
        current.history.add(progress);
        if (progress.state === 'paused') keepSpeed(current.facts, progress.stepsPerSecond);
        change(progress.run, { progress, state: progress.state });
        return;
      }
      case 'lm.sample':
        if (event.sample.run === current.facts.run)
          addSample(current, event.sample.step, event.sample.text, event.sample.goesOn);
        return;
      case 'lm.ended':
        change(event.result.run, { state: 'ended', result: event.result });
        if (event.result.msPerStep > 0) keepSpeed(current.facts, 1000 / event.result.msPerStep);
        return;
      case 'lm.failed':
        change(event.run, { state: 'failed', error: explain(event.error).text });
        return;
      case 'lm.saved':
        change(event.run, { savedStep: event.step });
        return;
      case 'lm.notice':
        if (!current.notices.includes(event.text))
          change(current.facts.run, { notices: [...current.notices, event.text] });
        return;
      default: // of other pages, or of other parts of this one
    }
  };
  if (starting.peek()) early.push(handle);
  else handle();
});

onCrash((error) => {
  const current = run.peek();
  if (current && training.peek()) {
    const kept =
      current.savedStep === null ? 'Nothing of this run was saved.' : `It was saved at step ${current.savedStep}.`;
    change(current.facts.run, { state: 'failed', error: `${error} ${kept}` });
  }
});
