// The page with data: what was found, the settings beside it, then the run.

import { PageError } from '../../components/alert';
import { PageDrop } from '../../components/file_drop';
import { takeFiles } from './controller';
import { DataPanel } from './data/data_panel';
import { openError, type OpenTable } from './data/table';
import { RunPanel } from './run/run_panel';
import { run, runError, starting } from './run/run';
import { SettingsPanel } from './settings/settings_panel';

export function Workbench({ open }: { open: OpenTable }) {
  return (
    <div class="workbench">
      <PageDrop onFiles={takeFiles} onOver={() => {}} />
      <h1 class="unseen">Forecast from {open.info.file}</h1>
      <DataPanel open={open} />
      <SettingsPanel open={open} />
      <div class="run">
        <PageError errors={[openError, runError]} />
        {run.value ? (
          <RunPanel run={run.value} />
        ) : (
          <p class="placeholder">
            {starting.value
              ? 'Setting up the run …'
              : 'Press Train: the loss appears here while the model learns, then its forecast.'}
          </p>
        )}
      </div>
    </div>
  );
}
