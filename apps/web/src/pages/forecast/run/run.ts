// The run under way or last looked at: its state by the engine's events, and the commands of the person.

import { computed, signal } from '@preact/signals';
import { LossHistory } from '../../../charts/loss_data';
import { deviceChoice } from '../../../engine/device';
import { call, onCrash, onEvent, textOf } from '../../../engine/engine';
import type {
  DeepPartial,
  DeviceUse,
  ForecastSettings,
  Progress,
  RunPlan,
  RunResult,
  TableInfo,
} from '../../../engine/types';
import { explain } from '../settings/fields';

export interface Run {
  id: string;
  plan: RunPlan;
  device: DeviceUse;
  state: 'training' | 'paused' | 'ended' | 'failed';
  progress: Progress | null;
  losses: LossHistory;
  result: RunResult | null;
  error: string | null;
  /** Step of the last checkpoint in the browser's storage; null when there was none. */
  savedStep: number | null;
  notices: string[];
}

export const run = signal<Run | null>(null);
/** A run is being set up; the engine answers when it stands. */
export const starting = signal(false);
/** Why it could not be set up, or a command failed. */
export const runError = signal<string | null>(null);

export const training = computed(() => starting.value || ['training', 'paused'].includes(run.value?.state ?? ''));

function begun(id: string, plan: RunPlan, device: DeviceUse): Run {
  return {
    id,
    plan,
    device,
    state: 'training',
    progress: null,
    losses: new LossHistory(),
    result: null,
    error: null,
    savedStep: null,
    notices: [],
  };
}

function change(id: string, patch: Partial<Run>): void {
  const current = run.peek();
  if (current && current.id === id) run.value = { ...current, ...patch };
}

/** The engine's words about settings as the page has them. */
function readable(result: RunResult): RunResult {
  return { ...result, message: explain(result.message).text };
}

/** Events can come before the reply that names their run: they wait for it. */
let early: (() => void)[] = [];

function whenSetUp(action: () => void): void {
  if (starting.peek()) early.push(action);
  else action();
}

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

export function train(settings: DeepPartial<ForecastSettings>): Promise<Run | null> {
  return setUp(async () => {
    const reply = await call('train', { settings, device: deviceChoice.peek() });
    return begun(reply.run, reply.plan, reply.device);
  });
}

export function restore(id: string, opened: (table: TableInfo, plan: RunPlan) => void): Promise<Run | null> {
  return setUp(async () => {
    const reply = await call('restore', { run: id, device: deviceChoice.peek() });
    opened(reply.table, reply.plan);
    const base = begun(reply.run, reply.plan, reply.device);
    return reply.result ? { ...base, state: 'ended', result: readable(reply.result) } : base;
  });
}

export async function command(name: 'pause' | 'resume' | 'stop'): Promise<void> {
  runError.value = null;
  const current = run.peek();
  if (!current) return;
  try {
    await call(name, {});
    if (name === 'pause') change(current.id, { state: 'paused' });
    if (name === 'resume') change(current.id, { state: 'training' });
  } catch (error) {
    runError.value = textOf(error);
  }
}

export function closeRun(): void {
  run.value = null;
  runError.value = null;
}

onEvent((event) =>
  whenSetUp(() => {
    const current = run.peek();
    if (!current) return;
    switch (event.event) {
      case 'progress': {
        const { progress } = event;
        if (progress.run !== current.id) return;
        current.losses.add(progress.firstStep, progress.losses);
        change(current.id, { progress, state: progress.state });
        return;
      }
      case 'ended':
        change(event.result.run, { state: 'ended', result: readable(event.result) });
        return;
      case 'failed':
        change(event.run, { state: 'failed', error: explain(event.error).text });
        return;
      case 'saved':
        change(event.run, { savedStep: event.step });
        return;
      case 'notice':
        if (!current.notices.includes(event.text)) change(current.id, { notices: [...current.notices, event.text] });
    }
  }),
);

onCrash((error) => {
  const current = run.peek();
  if (current && training.peek()) {
    const kept =
      current.savedStep === null ? 'Nothing of this run was saved.' : `It was saved at step ${current.savedStep}.`;
    change(current.id, { state: 'failed', error: `${error} ${kept}` });
  }
});
