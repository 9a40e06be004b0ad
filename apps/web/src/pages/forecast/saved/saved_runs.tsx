// Runs kept in this browser: look at a finished one, go on with one that was interrupted, or forget it.

import { useSignal } from '@preact/signals';
import { Alert } from '../../../components/alert';
import type { SavedRun } from '../../../engine/types';
import { ago, bytes, percent } from '../../../lib/format';
import { reopen } from '../controller';
import { starting } from '../run/run';
import { forget, savedError, savedRuns } from './saved';

export function SavedRuns() {
  const list = savedRuns.value;
  if (list.length === 0 && !savedError.value) return null;
  return (
    <section class="kept">
      <h2>Kept in this browser</h2>
      {savedError.value && <Alert tone="error">{savedError.value}</Alert>}
      <ul class="saved">
        {list.map((run) => (
          <Row key={run.run} run={run} />
        ))}
      </ul>
    </section>
  );
}

function Row({ run }: { run: SavedRun }) {
  const asking = useSignal(false);
  const name = `${run.title} on ${run.target}`;
  const unfinished = run.state === 'unfinished';
  const how = unfinished ? `interrupted at ${percent(run.step / Math.max(1, run.steps))}` : 'finished';
  return (
    <li>
      <div class="saved-text">
        <strong>{name}</strong>
        <span>
          {run.file} · {how} {ago(run.savedAt, Date.now())} · {bytes(run.bytes)}
        </span>
      </div>
      <div class="actions">
        {asking.value ? (
          <>
            <button type="button" class="danger" onClick={() => void forget(run.run)}>
              Forget for good
            </button>
            <button type="button" class="quiet" onClick={() => (asking.value = false)}>
              Keep
            </button>
          </>
        ) : (
          <>
            <button
              type="button"
              disabled={starting.value}
              onClick={() => void reopen(run.run)}
              aria-label={`${unfinished ? 'Go on with' : 'Open'} ${name}`}
            >
              {unfinished ? 'Go on' : 'Open'}
            </button>
            <button type="button" class="quiet" onClick={() => (asking.value = true)} aria-label={`Forget ${name}`}>
              Forget
            </button>
          </>
        )}
      </div>
    </li>
  );
}
