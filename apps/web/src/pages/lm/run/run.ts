// The run under way or last looked at: its state by the engine's events, and the commands of the person.

import { deviceChoice } from '../../../engine/device';
import { call } from '../../../engine/engine';
import type {
  DeepPartial,
  DeviceUse,
  Event,
  LmPlan,
  LmProgress,
  LmResult,
  LmRunFacts,
  LmSettings,
  TextInfo,
} from '../../../engine/types';
import { type AnyRun, begun as anyBegun, pageRun } from '../../../runs/page_run';
import { explain } from '../settings/fields';
import { RunHistory } from './history';
import { keepSpeed } from './speed';

export interface Sample {
  step: number;
  text: string;
  goesOn: boolean;
}

export interface Run extends AnyRun {
  facts: LmRunFacts;
  plan: LmPlan;
  progress: LmProgress | null;
  history: RunHistory;
  result: LmResult | null;
  /** What it wrote on the way, the newest first. */
  samples: Sample[];
}

const kSampleSeconds = 20;
const kMostSamples = 30;

const page = pageRun<Run>({
  send: (name) => call(`lm.${name}`, {}),
  explain: (error) => explain(error).text,
  onEvent: handle,
});
export const { run, starting, runError, training, command } = page;

function begun(facts: LmRunFacts, plan: LmPlan, device: DeviceUse): Run {
  return {
    ...anyBegun(facts.run, device),
    facts,
    plan,
    progress: null,
    history: new RunHistory(),
    result: null,
    samples: [],
  };
}

export function train(settings: DeepPartial<LmSettings>, from: boolean): Promise<Run | null> {
  return page.setUp(async () => {
    const device = deviceChoice.peek();
    const reply = await call('lm.train', { settings, from, device, sampleSeconds: kSampleSeconds });
    return begun(reply.facts, reply.plan, reply.device);
  });
}

export function restore(id: string, opened: (text: TextInfo, facts: LmRunFacts) => Promise<void>): Promise<Run | null> {
  return page.setUp(async () => {
    const device = deviceChoice.peek();
    const reply = await call('lm.restore', { run: id, device, sampleSeconds: kSampleSeconds });
    await opened(reply.text, reply.facts);
    const base = begun(reply.facts, reply.plan, reply.device);
    base.history.add(reply.numbers);
    return reply.result ? { ...base, state: 'ended', result: reply.result } : base;
  });
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
  page.change(current.id, { samples });
}

function handle(event: Event, current: Run): void {
  switch (event.event) {
    case 'lm.progress': {
      const { progress } = event;
      if (progress.run !== current.id) return;
      current.history.add(progress);
      if (progress.state === 'paused') keepSpeed(current.facts, progress.stepsPerSecond);
      page.change(progress.run, { progress, state: progress.state });
      return;
    }
    case 'lm.sample':
      if (event.sample.run === current.id)
        addSample(current, event.sample.step, event.sample.text, event.sample.goesOn);
      return;
    case 'lm.ended':
      page.change(event.result.run, { state: 'ended', result: event.result });
      if (event.result.msPerStep > 0) keepSpeed(current.facts, 1000 / event.result.msPerStep);
      return;
    case 'lm.failed':
      page.change(event.run, { state: 'failed', error: explain(event.error).text });
      return;
    case 'lm.saved':
      page.change(event.run, { savedStep: event.step });
      return;
    case 'lm.notice':
      page.notice(event.text);
      return;
    default: // of other pages, or of other parts of this one
  }
}
