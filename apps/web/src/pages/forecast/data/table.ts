// The table that is open, and how it came here.

import { signal } from '@preact/signals';
import { call, textOf } from '../../../engine/engine';
import type { TableInfo } from '../../../engine/types';
import { type Example, fetchExample, kExamples } from './examples';

export interface OpenTable {
  info: TableInfo;
  /** The bundled example that it is, else ''. Only that can be named in an address. */
  example: string;
  /** The file; null when it came back with a saved run, whose data the engine keeps. */
  file: Blob | null;
}

export const table = signal<OpenTable | null>(null);
/** The name of the file being read. */
export const opening = signal<string | null>(null);
export const openError = signal<string | null>(null);
/** What of the choices does not go with the table that was opened. */
export const openNotice = signal<string | null>(null);

/** Tables are read one after another; only the last one asked for counts. */
let latest = 0;

async function open(name: string, example: string, read: () => Promise<Blob>): Promise<OpenTable | null> {
  const mine = ++latest;
  opening.value = name;
  openError.value = null;
  openNotice.value = null;
  try {
    const file = await read();
    const info = await call('open', { name, file });
    if (mine !== latest) return null;
    return (table.value = { info, example, file });
  } catch (error) {
    // The worker keeps no table after a file that it could not read.
    if (mine === latest) {
      table.value = null;
      openError.value = textOf(error);
    }
    return null;
  } finally {
    if (mine === latest) opening.value = null;
  }
}

export function openFile(file: File): Promise<OpenTable | null> {
  return open(file.name, '', () => Promise.resolve(file));
}

export function openExample(example: Example): Promise<OpenTable | null> {
  return open(example.file, example.id, () => fetchExample(example));
}

export function exampleOf(id: string | undefined): Example | undefined {
  return kExamples.find((example) => example.id === id);
}

/** Gives an engine that was started anew the table that is shown. */
export function openAgain(): void {
  const shown = table.peek();
  if (!shown) return;
  const { info, example, file } = shown;
  if (file) void open(info.file, example, () => Promise.resolve(file));
  else closeTable();
}

/** The table of a run brought back from storage. */
export function showTable(info: TableInfo): void {
  closeTable();
  const example = kExamples.find((known) => known.file === info.file);
  table.value = { info, example: example?.id ?? '', file: null };
}

export function closeTable(): void {
  ++latest;
  table.value = null;
  openError.value = null;
  openNotice.value = null;
  opening.value = null;
}
