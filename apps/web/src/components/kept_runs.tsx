// Runs kept in this browser: look at a finished one, go on with one that was interrupted, or forget it.

import { useSignal } from '@preact/signals';
import { ago, bytes, percent } from '../lib/format';
import { Alert } from './alert';

export interface KeptRun {
  run: string;
  name: string;
  /** More about it; may be ''. */
  about: string;
  state: 'unfinished' | 'finished';
  step: number;
  steps: number;
  savedAt: number;
  bytes: number;
}

interface Props {
  runs: KeptRun[];
  error: string | null;
  /** None can be opened now. */
  busy: boolean;
  onOpen: (run: string) => Promise<void>;
  onForget: (run: string) => Promise<void>;
}

export function KeptRuns({ runs, error, busy, onOpen, onForget }: Props) {
  if (runs.length === 0 && !error) return null;
  return (
    <section class="kept">
      <h2>Kept in this browser</h2>
      {error && <Alert tone="error">{error}</Alert>}
      <ul class="saved">
        {runs.map((run) => (
          <Row key={run.run} run={run} busy={busy} onOpen={onOpen} onForget={onForget} />
        ))}
      </ul>
    </section>
  );
}

function Row({ run, busy, onOpen, onForget }: { run: KeptRun } & Pick<Props, 'busy' | 'onOpen' | 'onForget'>) {
  const asking = useSignal(false);
  const unfinished = run.state === 'unfinished';
  const how = unfinished ? `interrupted at ${percent(run.step / Math.max(1, run.steps))}` : 'finished';
  return (
    <li>
      <div class="saved-text">
        <strong>{run.name}</strong>
        <span>
          {[run.about, `${how} ${ago(run.savedAt, Date.now())}`, bytes(run.bytes)].filter(Boolean).join(' · ')}
        </span>
      </div>
      <div class="actions">
        {asking.value ? (
          <>
            <button type="button" class="danger" onClick={() => void onForget(run.run)}>
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
              disabled={busy}
              onClick={() => void onOpen(run.run)}
              aria-label={`${unfinished ? 'Go on with' : 'Open'} ${run.name}`}
            >
              {unfinished ? 'Go on' : 'Open'}
            </button>
            <button type="button" class="quiet" onClick={() => (asking.value = true)} aria-label={`Forget ${run.name}`}>
              Forget
            </button>
          </>
        )}
      </div>
    </li>
  );
}
