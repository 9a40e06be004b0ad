// The run's curves: loss with those of other runs on the same text, learning rate, gradient norm. Losses are in nats a byte,
// which compares runs with different tokens.

import { useMemo } from 'preact/hooks';
import { align } from '../../../charts/loss_data';
import type { ChartSpec, Line } from '../../../charts/options';
import { Plot } from '../../../charts/plot';
import { type Ink, kRunInks } from '../../../charts/theme';
import { shortNumber } from '../../../lib/format';
import type { Comparison } from './compare';
import { smoothed } from './history';
import { natsPerByte } from './meaning';
import type { Run } from './run';

const kLossHeight = 260;
const kSmallHeight = 130;
const nameStep = (step: number) => `step ${Math.round(step).toLocaleString('en-US')}`;

export function Curves({ run, others }: { run: Run; others: Comparison[] }) {
  const { history, facts } = run;
  const seen = run.progress?.step ?? run.result?.step ?? 0;
  const losses = history.losses.lines();
  const perByte = (values: readonly number[]) => values.map((value) => natsPerByte(value, facts.corpus));
  const spec: ChartSpec = {
    x: 'number',
    lines: [
      { label: 'each step', ink: 'muted', width: 1, opacity: 0.45, spanGaps: true, noisy: true },
      { label: 'training', ink: 'model', width: 2, spanGaps: true },
      validationLine('validation', 'second', history.validationLoss.length),
      ...others.map((other, i) =>
        validationLine(other.title, kRunInks[i % kRunInks.length]!, other.validationLoss.length),
      ),
    ],
  };
  const data = useMemo(() => {
    const each = perByte(losses.losses);
    return align([
      { x: losses.steps, y: each },
      { x: losses.steps, y: smoothed(each) },
      { x: history.validationStep, y: perByte(history.validationLoss) },
      ...others.map((other) => ({
        x: other.validationStep,
        y: other.validationLoss.map((value) => natsPerByte(value, other.corpus)),
      })),
    ]);
  }, [history, seen, history.validationLoss.length, others]);
  const best = history.best;
  const summary =
    `Loss by step, nats a byte. ${best === null ? '' : `Best validation loss ${shortNumber(natsPerByte(best, facts.corpus))}.`}` +
    (others.length > 0 ? ` Beside it the validation losses of ${others.length} other runs.` : '');
  return (
    <>
      <h3>Loss, nats a byte</h3>
      <Plot spec={spec} data={data} height={kLossHeight} nameX={nameStep} summary={summary} />
      <div class="small-charts">
        <Small title="Learning rate" lines={history.rates.lines()} label="rate" seen={seen} />
        <Small title="Gradient norm" lines={history.gradNorms.lines()} label="before clipping" seen={seen} noisy />
      </div>
    </>
  );
}

function validationLine(label: string, ink: Ink, points: number): Line {
  return { label, ink, width: 2, spanGaps: true, points: points < 60 };
}

interface SmallProps {
  title: string;
  label: string;
  lines: { steps: number[]; losses: number[] };
  seen: number;
  noisy?: boolean;
}

function Small({ title, label, lines, seen, noisy = false }: SmallProps) {
  const data = useMemo(() => [lines.steps, lines.losses] as [number[], number[]], [seen, lines.steps.length]);
  const spec: ChartSpec = { x: 'number', lines: [{ label, ink: 'truth', width: 1.25, noisy }] };
  return (
    <div>
      <h3>{title}</h3>
      <Plot
        spec={spec}
        data={data}
        height={kSmallHeight}
        nameX={nameStep}
        summary={`${title} by step, ${shortNumber(lines.losses.at(-1))} now.`}
      />
    </div>
  );
}
