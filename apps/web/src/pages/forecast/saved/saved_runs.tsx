// Forecasts kept in this browser.

import { KeptRuns } from '../../../components/kept_runs';
import { reopen } from '../controller';
import { starting } from '../run/run';
import { forget, savedError, savedRuns } from './saved';

export function SavedRuns() {
  const runs = savedRuns.value.map((run) => ({ ...run, name: `${run.title} on ${run.target}`, about: run.file }));
  return <KeptRuns runs={runs} error={savedError.value} busy={starting.value} onOpen={reopen} onForget={forget} />;
}
