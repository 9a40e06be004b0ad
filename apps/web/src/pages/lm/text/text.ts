// The text to learn from and the model opened from files, and how they came here.

import { signal } from '@preact/signals';
import mobyDick from '../../../../../../examples/data/moby-dick.txt?url';
import { call, textOf } from '../../../engine/engine';
import type { ModelInfo, TextInfo } from '../../../engine/types';

export interface OpenText {
  info: TextInfo;
  /** 'moby-dick', else ''. Only that can be named in an address. */
  example: string;
  /** Its files; null when it came back with a saved run, whose text the engine keeps. */
  files: TextFile[] | null;
}
interface TextFile {
  name: string;
  file: Blob;
}

export const kExample = { id: 'moby-dick', file: 'moby-dick.txt', title: 'Moby Dick' };

export const text = signal<OpenText | null>(null);
export const model = signal<ModelInfo | null>(null);
/** The name of what is being read. */
export const opening = signal<string | null>(null);
export const openError = signal<string | null>(null);
export const tokenizerFile = signal<{ name: string; vocabulary: number } | null>(null);

/** Of what is opened one after another only the last counts. */
let latest = 0;

async function open<T>(name: string, read: () => Promise<T>): Promise<T | null> {
  const mine = ++latest;
  opening.value = name;
  openError.value = null;
  try {
    const value = await read();
    return mine === latest ? value : null;
  } catch (error) {
    if (mine === latest) openError.value = textOf(error);
    return null;
  } finally {
    if (mine === latest) opening.value = null;
  }
}

async function openTexts(files: TextFile[], example: string): Promise<OpenText | null> {
  const opened = await open(files[0]?.name ?? '', async () => {
    const info = await call('lm.text', { files });
    return { info, example, files };
  });
  if (opened) text.value = opened;
  return opened;
}

/** Texts, or a model: a ZIP file, or its config.json and the others. */
export async function openFiles(files: File[]): Promise<'text' | 'model' | null> {
  const given = files.map((file) => ({ name: file.name, file: file as Blob }));
  if (files.some(({ name }) => /\.(zip|safetensors)$/i.test(name))) return (await openModel(given)) ? 'model' : null;
  return (await openTexts(given, '')) ? 'text' : null;
}

export function pasteText(content: string): Promise<OpenText | null> {
  return openTexts([{ name: 'pasted text', file: new Blob([content]) }], '');
}

export async function openExample(): Promise<OpenText | null> {
  const file = await open(kExample.title, async () => {
    const response = await fetch(mobyDick).catch(() => null);
    if (!response?.ok)
      throw new Error(`${kExample.title} could not be loaded. Check the connection, or open a text of your own.`);
    return response.blob();
  });
  return file && openTexts([{ name: kExample.file, file }], kExample.id);
}

async function openModel(files: TextFile[]): Promise<ModelInfo | null> {
  const [first] = files;
  const name = files.length === 1 && first ? first.name : 'the model';
  const info = await open(name, () => call('lm.openModel', { name, files }));
  if (info) model.value = info;
  return info;
}

export async function closeModel(): Promise<void> {
  model.value = null;
  await call('lm.closeModel', {});
}

export async function openTokenizer(file: File): Promise<boolean> {
  const info = await open(file.name, () => call('lm.tokenizerFile', { name: file.name, file }));
  if (info) tokenizerFile.value = { name: file.name, ...info };
  return info !== null;
}

/** Gives an engine that was started anew the text that is shown. Its model is gone. */
export function openAgain(): void {
  model.value = null;
  const shown = text.peek();
  if (!shown) return;
  if (shown.files) void openTexts(shown.files, shown.example);
  else closeText();
}

/** The text of a run brought back from storage. */
export function showText(info: TextInfo): void {
  ++latest;
  opening.value = null;
  openError.value = null;
  const [only] = info.files;
  const example = info.files.length === 1 && only?.name === kExample.file ? kExample.id : '';
  text.value = { info, example, files: null };
}

export function closeText(): void {
  ++latest;
  text.value = null;
  openError.value = null;
  opening.value = null;
}
