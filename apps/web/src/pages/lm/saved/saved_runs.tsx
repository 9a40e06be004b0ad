// Language models kept in this browser.

import { KeptRuns } from '../../../components/kept_runs';
import { reopen } from '../controller';
import { natsPerByte } from '../run/meaning';
import { starting } from '../run/run';
import type { SavedLmRun } from '../../../engine/types';
import { shortNumber } from '../../../lib/format';
import { forget, savedError, savedRuns } from './saved';

export function SavedRuns() {
  const runs = savedRuns.value.map((run) => ({
    ...run,
    name: `${run.settings.model.name} on ${run.texts.join(', ')}`,
    about: lossOf(run),
  }));
  return <KeptRuns runs={runs} error={savedError.value} busy={starting.value} onOpen={reopen} onForget={forget} />;
}

function lossOf({ validationLoss, corpus }: SavedLmRun): string {
  if (validationLoss.length === 0) return '';
  return `${shortNumber(natsPerByte(Math.min(...validationLoss), corpus))} nats a byte`;
}
