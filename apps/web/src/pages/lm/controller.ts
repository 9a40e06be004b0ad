// What ties the page's parts together: address ↔ choices and text, saved runs, and the commands that touch several of them.

import { effect } from '@preact/signals';
import { deviceChoice, deviceFrom, engineQuery } from '../../engine/device';
import { call, engineState, textOf } from '../../engine/engine';
import type { WeightSource } from '../../engine/types';
import { saveAs } from '../../lib/download';
import { pageTitle } from '../../lib/format';
import { address, replaceQuery } from '../../shell/routes';
import { closeRun, restore, run, runError, train, training } from './run/run';
import { refreshSaved } from './saved/saved';
import { choicesFrom } from './settings/choices';
import { explain } from './settings/fields';
import { adopt, choices, chosenSettings, fromModel, goesOn, keepPlanned, planned, takePrepared } from './settings/plan';
import {
  closeModel,
  closeText,
  kExample,
  openAgain,
  openError,
  openExample,
  openFiles,
  opening,
  pasteText,
  showText,
  text,
} from './text/text';
import { written } from './write/write';

export const kPageName = 'language-model';

/** Key of the address beside the settings and the engine's. */
const kTextKey = 'text';

let started = false;

/** Once in the life of the site; what is open stays open while another page is shown. */
export function startPage(): void {
  if (started) return;
  started = true;
  effect(() => {
    if (engineState.value.state !== 'ready') return;
    void refreshSaved();
    openAgain();
  });
  effect(() => {
    const { page, query } = address.value;
    if (page === kPageName) void follow(query);
  });
  effect(writeAddress);
  effect(() => {
    if (['ended', 'failed', 'paused'].includes(run.value?.state ?? '')) void refreshSaved();
  });
  effect(() => {
    if (address.value.page !== kPageName) return;
    const progress = run.value?.progress ?? null;
    document.title = pageTitle('Language model', training.value ? progress : null);
  });
  keepPlanned(() => training.value);
}

/** Brings the page to what an address says: at the start, and when one is pasted over it. */
async function follow(query: Record<string, string>): Promise<void> {
  if (training.peek() || Object.keys(query).length === 0) return;
  // Choices that no address can hold stay.
  const { tokenizer } = choices.peek();
  choices.value = {
    ...(tokenizer === 'file' && !query.tokenizer ? { tokenizer } : {}),
    ...choicesFrom(query),
  };
  deviceChoice.value = deviceFrom(query.device);
  if (query[kTextKey] === kExample.id && text.peek()?.example !== kExample.id) await openExample();
}

function writeAddress(): void {
  const open = text.value;
  const { page, query } = address.value;
  const opensExample = opening.value !== null; // the address names it already
  const chosen = choices.value;
  if (page !== kPageName || opensExample) return;
  replaceQuery({
    ...engineQuery(query),
    ...(open?.example ? { [kTextKey]: open.example } : {}),
    ...Object.fromEntries(Object.entries(chosen).filter(([key, value]) => key !== 'tokenizer' || value !== 'file')),
  });
}

export function takeFiles(files: File[]): void {
  if (training.peek()) {
    openError.value = `A run is under way. Stop it before you open ${files[0]?.name ?? 'a file'}.`;
    return;
  }
  void openFiles(files).then(async (opened) => {
    if (!opened) return;
    await closeRun();
    written.value = null;
    if (opened === 'model') fromModel.value = true;
  });
}

export function takeExample(): void {
  void openExample().then((opened) => opened && closeRun());
}

export function takePasted(content: string): void {
  void pasteText(content).then((opened) => opened && closeRun());
}

export function otherText(): void {
  closeText();
  written.value = null;
  choices.value = {};
  planned.value = { state: 'none' };
  void closeRun().then(refreshSaved);
}

export async function leaveModel(): Promise<void> {
  written.value = null;
  await closeModel();
}

export async function startTraining(): Promise<void> {
  try {
    await train(chosenSettings(), goesOn.peek());
  } catch (error) {
    planned.value = { state: 'impossible', ...explain(textOf(error)) };
  }
}

export async function reopen(id: string): Promise<void> {
  written.value = null;
  await restore(id, async (info, facts) => {
    showText(info);
    await adopt(facts.settings);
    takePrepared(facts.corpus);
  });
}

export async function saveModel(source: WeightSource): Promise<void> {
  try {
    const { name, type, bytes } = await call('lm.download', { source });
    saveAs(name, type, bytes);
  } catch (error) {
    runError.value = textOf(error);
  }
}
