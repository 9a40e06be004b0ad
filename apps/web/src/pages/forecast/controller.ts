// What ties the page's parts together: address ↔ choices and data, saved runs, and the commands that touch several of them.

import { effect } from '@preact/signals';
import { deviceChoice, deviceFrom, engineQuery } from '../../engine/device';
import { engineState, textOf } from '../../engine/engine';
import { pageTitle } from '../../lib/format';
import { kHomePage } from '../../shell/address';
import { address, replaceQuery } from '../../shell/routes';
import {
  closeTable,
  exampleOf,
  openAgain,
  openError,
  openExample,
  openFile,
  opening,
  openNotice,
  showTable,
  table,
} from './data/table';
import type { Example } from './data/examples';
import { closeRun, restore, run, train, training } from './run/run';
import { refreshSaved } from './saved/saved';
import { choicesFrom, fitToTable } from './settings/choices';
import { adopt, choices, chosenSettings, keepPlanned, loadDefaults, planned } from './settings/plan';
import { explain } from './settings/fields';

/** Key of the address beside the settings and the engine's. */
const kDataKey = 'data';

let started = false;

/** Once in the life of the site; what is open stays open while another page is shown. */
export function startPage(): void {
  if (started) return;
  started = true;
  effect(() => {
    if (engineState.value.state !== 'ready') return;
    void loadDefaults();
    void refreshSaved();
    openAgain();
  });
  effect(() => {
    const { page, query } = address.value;
    if (page === kHomePage) void follow(query);
  });
  effect(writeAddress);
  effect(() => {
    if (run.value?.state === 'ended' || run.value?.state === 'failed') void refreshSaved();
  });
  effect(() => {
    if (address.value.page !== kHomePage) return;
    const progress = run.value?.progress ?? null;
    document.title = pageTitle('Forecast', training.value ? progress : null);
  });
  keepPlanned(() => training.value);
}

/** Brings the page to what an address says: at the start, and when one is pasted over it. */
async function follow(query: Record<string, string>): Promise<void> {
  if (training.peek()) return;
  choices.value = choicesFrom(query);
  deviceChoice.value = deviceFrom(query.device);
  const example = exampleOf(query[kDataKey]);
  if (example && example.id !== table.peek()?.example) await openAndFit(() => openExample(example));
}

function writeAddress(): void {
  const open = table.value;
  const { page, query } = address.peek();
  const opensExample = opening.value !== null; // the address names it already
  if (page !== kHomePage || opensExample) return;
  replaceQuery({
    ...engineQuery(query),
    ...(open?.example ? { [kDataKey]: open.example } : {}),
    ...choices.value,
  });
}

async function openAndFit(open: () => ReturnType<typeof openFile>): Promise<void> {
  const opened = await open();
  if (!opened) return;
  closeRun();
  const { choices: fitting, dropped } = fitToTable(choices.peek(), opened.info);
  choices.value = fitting;
  if (dropped.length > 0) {
    openNotice.value = `${opened.info.file} has no column ${dropped.map((name) => `“${name}”`).join(', ')}: that choice was left out.`;
  }
}

export function takeFiles([file]: File[]): void {
  if (!file) return;
  if (training.peek()) {
    openError.value = `A run is under way. Stop it before you open ${file.name}.`;
    return;
  }
  void openAndFit(() => openFile(file));
}

export function takeExample(example: Example): void {
  choices.value = example.choices;
  void openAndFit(() => openExample(example));
}

export function otherData(): void {
  closeTable();
  closeRun();
  choices.value = {};
  planned.value = { state: 'none' };
  void refreshSaved();
}

export async function startTraining(): Promise<void> {
  try {
    await train(chosenSettings());
  } catch (error) {
    planned.value = { state: 'impossible', ...explain(textOf(error)) };
  }
}

export async function reopen(id: string): Promise<void> {
  await restore(id, (info, plan) => {
    showTable(info);
    adopt(plan.settings);
  });
}
