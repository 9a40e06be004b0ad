// The page before there is data: what this is, a place for a file, the bundled series, runs kept from before.

import { Alert } from '../../components/alert';
import { FileDrop } from '../../components/file_drop';
import { takeExample, takeFiles } from './controller';
import { kExamples } from './data/examples';
import { openError, opening } from './data/table';
import { runError, starting } from './run/run';
import { SavedRuns } from './saved/saved_runs';

export function Start() {
  const reading = opening.value;
  const error = openError.value ?? runError.value;
  return (
    <div class="start">
      <section class="intro">
        <h1>Forecast your own time series</h1>
        <p class="lead">
          A small neural network learns from your CSV file, here in this tab, and is then judged on data that it never
          saw, beside simple methods. Nothing leaves your device.
        </p>
      </section>

      <section class="open" aria-label="Data">
        <FileDrop
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          busy={reading !== null || starting.value}
          onFiles={takeFiles}
        >
          <svg class="drop-icon" viewBox="0 0 48 48" aria-hidden="true">
            <path d="M24 31 V11 M16 19 L24 11 L32 19 M9 30 V36 a3 3 0 0 0 3 3 H36 a3 3 0 0 0 3 -3 V30" />
          </svg>
          <span class="drop-title">
            {reading !== null
              ? `Reading ${reading} …`
              : starting.value
                ? 'Setting up …'
                : 'Drop a CSV file here, or choose one'}
          </span>
          <span class="drop-hint">
            One row per point in time, one column per quantity. Separators, dates and gaps are recognised.
          </span>
        </FileDrop>
        {error && (
          <Alert tone="error" title="This did not work">
            {error}
          </Alert>
        )}
      </section>

      <section>
        <h2>Or begin with real data</h2>
        <ul class="examples">
          {kExamples.map((example) => (
            <li key={example.id}>
              <button type="button" onClick={() => takeExample(example)} disabled={reading !== null}>
                <strong>{example.title}</strong>
                <span>{example.about}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>

      <SavedRuns />
    </div>
  );
}
