// Runs kept in the browser's storage, as the engine lists them.

import { signal } from '@preact/signals';
import { call, textOf } from '../../../engine/engine';
import type { SavedRun } from '../../../engine/types';

export const savedRuns = signal<SavedRun[]>([]);
export const savedError = signal<string | null>(null);

export async function refreshSaved(): Promise<void> {
  try {
    const list = await call('runs', {});
    savedRuns.value = list.sort((a, b) => b.savedAt - a.savedAt);
  } catch (error) {
    savedError.value = textOf(error);
  }
}

export async function forget(run: string): Promise<void> {
  savedError.value = null;
  try {
    await call('forget', { run });
  } catch (error) {
    savedError.value = textOf(error);
  }
  await refreshSaved();
}
