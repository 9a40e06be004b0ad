// The page before there is data: what this is, a place for a file, the bundled series, runs kept from before.

import { OpenArea } from '../../components/open_area';
import { takeExample, takeFiles } from './controller';
import { kExamples } from './data/examples';
import { openError, opening } from './data/table';
import { runError, starting } from './run/run';
import { SavedRuns } from './saved/saved_runs';

export function Start() {
  const reading = opening.value;
  return (
    <div class="start">
      <section class="intro">
        <h1>Forecast your own time series</h1>
        <p class="lead">
          A small neural network learns from your CSV file, here in this tab, and is then judged on data that it never
          saw, beside simple methods. Nothing leaves your device.
        </p>
      </section>

      <OpenArea
        label="Data"
        invitation="Drop a CSV file here, or choose one"
        hint="One row per point in time, one column per quantity. Separators, dates and gaps are recognised."
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        reading={reading}
        starting={starting.value}
        error={openError.value ?? runError.value}
        onFiles={takeFiles}
      />

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
