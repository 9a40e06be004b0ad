// Losses while training and after: each step's (thin), the mean of each epoch, and the validation part's.

import { useMemo } from 'preact/hooks';
import { align, wantsLog } from './loss_data';
import type { ChartSpec } from './options';
import { Plot } from './plot';

interface Props {
  steps: number[];
  losses: number[];
  stepsPerEpoch: number;
  trainLoss: number[];
  validationLoss: number[];
  summary: string;
}

export function LossChart({ steps, losses, stepsPerEpoch, trainLoss, validationLoss, summary }: Props) {
  const data = useMemo(
    () =>
      align([
        { x: steps, y: losses },
        // The mean of an epoch belongs to its middle, the validation to its end.
        { x: trainLoss.map((_, epoch) => (epoch + 0.5) * stepsPerEpoch), y: trainLoss },
        { x: validationLoss.map((_, epoch) => epoch * stepsPerEpoch), y: validationLoss },
      ]),
    [steps, trainLoss, validationLoss],
  );
  const spec: ChartSpec = {
    x: 'number',
    logY: wantsLog([...trainLoss, ...validationLoss]) && losses.every((loss) => loss > 0),
    lines: [
      { label: 'each step', ink: 'muted', width: 1, opacity: 0.55, spanGaps: true, noisy: true },
      { label: 'training', ink: 'model', width: 2, spanGaps: true, points: trainLoss.length === 1 },
      { label: 'validation', ink: 'second', width: 2, spanGaps: true, points: validationLoss.length < 60 },
    ],
  };
  const nameX = (step: number) => `step ${Math.round(step).toLocaleString('en-US')}`;
  return <Plot spec={spec} data={data} height={240} nameX={nameX} summary={summary} />;
}
