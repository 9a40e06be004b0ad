// Runs kept in the browser's storage, as the engine lists them.

import { signal } from '@preact/signals';
import { call, textOf } from '../../../engine/engine';
import type { SavedLmRun } from '../../../engine/types';

export const savedRuns = signal<SavedLmRun[]>([]);
export const savedError = signal<string | null>(null);

export async function refreshSaved(): Promise<void> {
  try {
    savedRuns.value = await call('lm.runs', {});
  } catch (error) {
    savedError.value = textOf(error);
  }
}

export async function forget(run: string): Promise<void> {
  savedError.value = null;
  try {
    await call('lm.forget', { run });
  } catch (error) {
    savedError.value = textOf(error);
  }
  await refreshSaved();
}
