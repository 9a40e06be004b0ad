// The run: how it goes, its commands, and after the end its result. What is newest stands on top.

import { Alert, Notices } from '../../../components/alert';
import { LossChart } from '../../../charts/loss_chart';
import { LiveText } from '../../../components/live_text';
import { computedBy, RunCommands, savedAt, useIntoView } from '../../../components/run_parts';
import { Stats, type Stat } from '../../../components/stats';
import { clock, percent, roughDuration, shortNumber } from '../../../lib/format';
import { Result } from '../result/result';
import { command, type Run } from './run';

export function RunPanel({ run }: { run: Run }) {
  const { result } = run;
  return (
    <>
      <LiveText text={spoken(run)} />
      {run.state === 'failed' && (
        <Alert tone="error" title="The run ended early">
          {run.error ?? ''}
        </Alert>
      )}
      {result && <Result result={result} />}
      <Training run={run} />
    </>
  );
}

function Training({ run }: { run: Run }) {
  const heading = useIntoView(run.id, run.state !== 'ended');
  const step = run.progress?.step ?? run.result?.steps ?? 0;
  const steps = run.progress?.steps ?? run.plan.steps;
  const saved = savedAt(run.savedStep, run.state);
  const { losses, steps: at } = run.losses.lines();
  const trainLoss = run.result?.trainLoss ?? run.progress?.trainLoss ?? [];
  const validationLoss = run.result?.validationLoss ?? run.progress?.validationLoss ?? [];
  return (
    <section class="training" aria-labelledby="training-title">
      <div class="panel-head">
        <h2 id="training-title" ref={heading} tabIndex={-1}>
          {{ training: 'Training', paused: 'Paused', ended: 'Training', failed: 'Training' }[run.state]}
        </h2>
        <RunCommands state={run.state} stop="Stop and judge" onCommand={command} />
      </div>
      {run.state !== 'ended' && <progress value={step} max={Math.max(1, steps)} aria-label="Training progress" />}
      <Stats stats={figures(run)} />
      {(at.length > 0 || trainLoss.length > 0) && (
        <LossChart
          steps={at}
          losses={losses}
          stepsPerEpoch={run.plan.stepsPerEpoch}
          trainLoss={trainLoss}
          validationLoss={validationLoss}
          summary={`Loss by step. ${lossText(run)}`}
        />
      )}
      <p class="note">{lossText(run)}</p>
      {run.state !== 'ended' && <p class="note">{computedBy(run.device)}</p>}
      {saved && <p class="note">{saved}</p>}
      <Notices notices={run.notices} />
    </section>
  );
}

function figures(run: Run): Stat[] {
  const { progress: p, result: r } = run;
  if (r) {
    return [
      { name: 'steps', value: r.steps.toLocaleString('en-US') },
      { name: 'time', value: clock(r.trainSeconds) },
      { name: 'a step', value: `${shortNumber(r.msPerStep)} ms` },
      { name: 'best epoch', value: String(r.bestEpoch) },
    ];
  }
  if (!p) return [{ name: 'epoch', value: `0 of ${run.plan.settings.training.epochs}` }];
  return [
    { name: 'epoch', value: `${Math.min(p.epoch + 1, p.epochs)} of ${p.epochs}` },
    { name: 'step', value: `${p.step.toLocaleString('en-US')} of ${p.steps.toLocaleString('en-US')}` },
    { name: 'steps a second', value: p.state === 'paused' ? '–' : shortNumber(p.stepsPerSecond) },
    { name: 'time left at most', value: p.state === 'paused' ? '–' : clock(p.secondsLeft) },
  ];
}

function lossText(run: Run): string {
  const trainLoss = run.result?.trainLoss ?? run.progress?.trainLoss ?? [];
  const validationLoss = run.result?.validationLoss ?? run.progress?.validationLoss ?? [];
  const best = run.result?.bestEpoch ?? run.progress?.bestEpoch ?? -1;
  const parts: string[] = [];
  if (run.result?.message) parts.push(run.result.message);
  if (trainLoss.length > 0) {
    const latest = trainLoss.length > 1 ? `, ${shortNumber(trainLoss.at(-1))} in the latest` : '';
    parts.push(`Training loss ${shortNumber(trainLoss[0])} in the first epoch${latest}.`);
  }
  if (validationLoss.length > 0) {
    parts.push(
      `Validation loss ${shortNumber(validationLoss[0])} untrained` +
        (validationLoss.length > 1 ? `, ${shortNumber(validationLoss.at(-1))} now` : '') +
        (best >= 0 && validationLoss[best] !== undefined
          ? `; best ${shortNumber(validationLoss[best])} at epoch ${best}, whose weights are kept.`
          : '.'),
    );
  }
  return parts.join(' ');
}

function spoken(run: Run): string {
  switch (run.state) {
    case 'ended':
      return `Training ended. ${run.result?.verdict ?? ''}`;
    case 'failed':
      return '';
    case 'paused':
      return 'Training is paused.';
    case 'training': {
      const p = run.progress;
      if (!p) return 'Training has begun.';
      return `Training, ${percent(Math.floor((100 * p.step) / Math.max(1, p.steps)) / 100)} done, ${roughDuration(p.secondsLeft)} left at most. Loss ${shortNumber(p.loss)}.`;
    }
  }
}
