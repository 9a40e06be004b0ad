// The run: how it goes, its commands, its curves, what its loss means, and what it writes on the way.

import { Alert, Notices } from '../../../components/alert';
import { LiveText } from '../../../components/live_text';
import { computedBy, RunCommands, savedAt, useIntoView } from '../../../components/run_parts';
import { Stats, type Stat } from '../../../components/stats';
import { bytes, clock, percent, roughDuration, roundNumber, shortNumber } from '../../../lib/format';
import { CompareTable, othersOf } from './compare';
import { Curves } from './curves';
import { bitsPerByte, meaning, natsPerByte } from './meaning';
import { command, type Run } from './run';
import { Samples } from './samples';

export function RunPanel({ run }: { run: Run }) {
  const heading = useIntoView(run.id);
  const step = run.progress?.step ?? run.result?.step ?? 0;
  const others = othersOf(run);
  const { best } = run.history;
  // A finished run that was opened again was computed in another session.
  const here = run.state !== 'ended' || run.progress !== null;
  const notes = [run.result?.message, here && computedBy(run.device), savedAt(run.savedStep, run.state)];
  return (
    <section class="training" aria-labelledby="training-title">
      <LiveText text={spoken(run)} />
      <div class="panel-head">
        <h2 id="training-title" ref={heading} tabIndex={-1}>
          {{ training: 'Training', paused: 'Paused', ended: 'Trained', failed: 'Training' }[run.state]}
        </h2>
        <RunCommands state={run.state} stop="Stop" onCommand={command} />
      </div>
      {run.state === 'failed' && (
        <Alert tone="error" title="The run ended early">
          {run.error ?? ''}
        </Alert>
      )}
      {run.state !== 'ended' && (
        <progress value={step} max={Math.max(1, run.plan.steps)} aria-label="Training progress" />
      )}
      <Stats stats={figures(run)} />
      {best !== null && <p class="meaning">{meaning(best, run.facts.corpus)}</p>}
      {step > 0 && <Curves run={run} others={others} />}
      <p class="note">{notes.filter(Boolean).join(' ')}</p>
      <Notices notices={run.notices} />
      <CompareTable run={run} others={others} />
      <Samples samples={run.samples} />
    </section>
  );
}

function figures(run: Run): Stat[] {
  const { progress: p, result: r, facts, history, plan } = run;
  const { best } = history;
  const loss: Stat[] =
    best === null
      ? []
      : [
          { name: 'validation loss', value: shortNumber(natsPerByte(best, facts.corpus)) },
          { name: 'bits a byte', value: shortNumber(bitsPerByte(best, facts.corpus)) },
        ];
  const rate = p?.stepsPerSecond ?? (r && r.msPerStep > 0 ? 1000 / r.msPerStep : 0);
  const speed: Stat[] = [
    { name: 'tokens a second', value: rate > 0 ? shortNumber(Math.round(rate * facts.stepTokens)) : '–' },
    { name: 'GFLOP/s', value: rate > 0 ? roundNumber(rate * facts.flopsPerStep * 1e-9) : '–' },
  ];
  const memory = { name: 'memory', value: bytes(plan.peakBytes) };
  if (r) {
    const steps = { name: 'steps', value: r.step.toLocaleString('en-US') };
    return [...loss, steps, { name: 'time', value: clock(r.seconds) }, ...speed, memory];
  }
  const step = p?.step ?? 0;
  const waits = p?.state === 'paused';
  const doing = p?.validating && !waits ? 'validating' : clock(p?.secondsLeft ?? Number.NaN);
  return [
    ...loss,
    { name: 'step', value: `${step.toLocaleString('en-US')} of ${plan.steps.toLocaleString('en-US')}` },
    { name: 'time left', value: waits ? '–' : doing },
    ...speed,
    memory,
  ];
}

function spoken(run: Run): string {
  const { best } = run.history;
  const loss = best === null ? '' : ` Best validation loss ${shortNumber(natsPerByte(best, run.facts.corpus))}.`;
  switch (run.state) {
    case 'ended':
      return `Training ended.${loss}`;
    case 'failed':
      return '';
    case 'paused':
      return 'Training is paused.';
    case 'training': {
      const p = run.progress;
      if (!p) return 'Training has begun.';
      return `Training, ${percent(Math.floor((100 * p.step) / Math.max(1, p.steps)) / 100)} done, ${roughDuration(p.secondsLeft)} left.${loss}`;
    }
  }
}
