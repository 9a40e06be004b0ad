// Files to keep: made by the engine, handed to the browser without a request.

import { useSignal } from '@preact/signals';
import { Alert } from '../../../components/alert';
import { call, textOf } from '../../../engine/engine';
import type { DownloadKind } from '../../../engine/types';
import { saveAs } from '../../../lib/download';

const kFiles: [DownloadKind, string, string][] = [
  ['report', 'Report', 'one HTML page'],
  ['forecast', 'Forecast', 'CSV'],
  ['model', 'Model', 'weights and settings, for the tabgrad shell program too'],
];

export function Downloads({ run }: { run: string }) {
  const error = useSignal<string | null>(null);
  const busy = useSignal<DownloadKind | null>(null);
  const save = async (kind: DownloadKind) => {
    busy.value = kind;
    error.value = null;
    try {
      const { name, type, bytes } = await call('download', { run, kind });
      saveAs(name, type, bytes);
    } catch (failure) {
      error.value = textOf(failure);
    } finally {
      busy.value = null;
    }
  };
  return (
    <div class="figure">
      <h3>Keep it</h3>
      <ul class="downloads">
        {kFiles.map(([kind, title, what]) => (
          <li key={kind}>
            <button type="button" disabled={busy.value !== null} onClick={() => void save(kind)}>
              Save {title.toLowerCase()}
            </button>
            <span class="note">{what}</span>
          </li>
        ))}
      </ul>
      {error.value && <Alert tone="error">{error.value}</Alert>}
    </div>
  );
}
