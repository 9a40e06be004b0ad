// The run under way or last looked at: its state by the engine's events, and the commands of the person.

import { LossHistory } from '../../../charts/loss_data';
import { deviceChoice } from '../../../engine/device';
import { call } from '../../../engine/engine';
import type {
  DeepPartial,
  DeviceUse,
  Event,
  ForecastSettings,
  Progress,
  RunPlan,
  RunResult,
  TableInfo,
} from '../../../engine/types';
import { type AnyRun, begun as anyBegun, pageRun } from '../../../runs/page_run';
import { explain } from '../settings/fields';

export interface Run extends AnyRun {
  plan: RunPlan;
  progress: Progress | null;
  losses: LossHistory;
  result: RunResult | null;
}

const page = pageRun<Run>({ send: (name) => call(name, {}), explain: (error) => explain(error).text, onEvent: handle });
export const { run, starting, runError, training, command } = page;

function begun(id: string, plan: RunPlan, device: DeviceUse): Run {
  return { ...anyBegun(id, device), plan, progress: null, losses: new LossHistory(), result: null };
}

/** The engine's words about settings as the page has them. */
function readable(result: RunResult): RunResult {
  return { ...result, message: explain(result.message).text };
}

export function train(settings: DeepPartial<ForecastSettings>): Promise<Run | null> {
  return page.setUp(async () => {
    const reply = await call('train', { settings, device: deviceChoice.peek() });
    return begun(reply.run, reply.plan, reply.device);
  });
}

export function restore(id: string, opened: (table: TableInfo, plan: RunPlan) => void): Promise<Run | null> {
  return page.setUp(async () => {
    const reply = await call('restore', { run: id, device: deviceChoice.peek() });
    opened(reply.table, reply.plan);
    const base = begun(reply.run, reply.plan, reply.device);
    return reply.result ? { ...base, state: 'ended', result: readable(reply.result) } : base;
  });
}

export function closeRun(): void {
  run.value = null;
  runError.value = null;
}

function handle(event: Event, current: Run): void {
  switch (event.event) {
    case 'progress': {
      const { progress } = event;
      if (progress.run !== current.id) return;
      current.losses.add(progress.firstStep, progress.losses);
      page.change(current.id, { progress, state: progress.state });
      return;
    }
    case 'ended':
      page.change(event.result.run, { state: 'ended', result: readable(event.result) });
      return;
    case 'failed':
      page.change(event.run, { state: 'failed', error: explain(event.error).text });
      return;
    case 'saved':
      page.change(event.run, { savedStep: event.step });
      return;
    case 'notice':
      page.notice(event.text);
  }
}
