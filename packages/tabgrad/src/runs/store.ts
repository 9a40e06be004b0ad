// Runs kept in the browser's private file system (OPFS), so that a reload, a crash or a closed tab loses seconds, not hours.
//
// A run is a folder: the files that it was made of, then for each save n a checkpoint (checkpoint-n) and, written after it, what names it
// (state-n.json). The newest state whose checkpoint is whole counts; the ones before go only when the new one is there.
// So a full disk or a killed tab at any moment leaves the last good save.
//
// Does not: decide when to save, or know what a checkpoint holds. Two tabs must not write one run: see lockRun.

import { UserError } from '../wasm/engine.ts';

/** What the store itself reads of a run's state. */
export interface RunState {
  run: string;
  /** Milliseconds since 1970. */
  savedAt: number;
}

type StateFile<S> = S & { version: 1; checkpointBytes: number };

export interface StoredRun<S> {
  state: S;
  /** Those given to create(), by name. */
  files: Map<string, File>;
  checkpoint: Uint8Array;
}

/** Only workers have it, and TypeScript's list for pages lacks it. */
interface SyncFileHandle extends FileSystemFileHandle {
  createSyncAccessHandle(): Promise<{
    truncate(size: number): void;
    write(bytes: Uint8Array, options: { at: number }): number;
    flush(): void;
    close(): void;
  }>;
}

const kChunk = 1 << 20;
const kSaveName = /^(?:state|checkpoint)-(\d+)/;
const checkpointName = (save: number): string => `checkpoint-${save}`;
const stateName = (save: number): string => `state-${save}.json`;

export class RunStore<S extends RunState> {
  readonly #root: FileSystemDirectoryHandle;

  private constructor(root: FileSystemDirectoryHandle) {
    this.#root = root;
  }

  /** null where the browser gives this page no storage (some private windows, old browsers). */
  static async open<S extends RunState>(kind: string): Promise<RunStore<S> | null> {
    try {
      const root = await navigator.storage.getDirectory();
      const top = await root.getDirectoryHandle('tabgrad', { create: true });
      return new RunStore<S>(await top.getDirectoryHandle(`${kind}-runs`, { create: true }));
    } catch {
      return null;
    }
  }

  /** Newest first. What is damaged is left out. */
  async list(): Promise<(S & { bytes: number })[]> {
    const runs: (S & { bytes: number })[] = [];
    for await (const [name, folder] of this.#root.entries()) {
      if (folder.kind !== 'directory') continue;
      const sizes = await fileSizes(folder as FileSystemDirectoryHandle);
      const found = await newestState<S>(folder as FileSystemDirectoryHandle, sizes);
      if (!found) continue;
      runs.push({ ...found.state, run: name, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) });
    }
    return runs.sort((a, b) => b.savedAt - a.savedAt);
  }

  /** Keeps what a new run is made of. Throws when there is no room. */
  async create(run: string, files: Map<string, Blob>): Promise<void> {
    const folder = await this.#root.getDirectoryHandle(run, { create: true });
    try {
      for (const [name, file] of files) await writeFile(folder, name, blobChunks(file));
    } catch (error) {
      await this.forget(run);
      throw error;
    }
  }

  /** Throws when there is no room; the save before is kept. */
  async save(state: S, checkpoint: Uint8Array): Promise<void> {
    const folder = await this.#root.getDirectoryHandle(state.run);
    const before = await fileSizes(folder);
    const save = 1 + Math.max(0, ...saves(before));
    const text = JSON.stringify({ ...state, version: 1, checkpointBytes: checkpoint.length } satisfies StateFile<S>);
    try {
      await writeFile(folder, checkpointName(save), [checkpoint]);
      await writeFile(folder, stateName(save), [new TextEncoder().encode(text)]);
    } catch (error) {
      for (const name of [stateName(save), checkpointName(save)]) await remove(folder, name);
      throw error;
    }
    for (const name of before.keys()) if (kSaveName.test(name)) await remove(folder, name);
  }

  async load(run: string): Promise<StoredRun<S>> {
    const gone = new UserError('This run is no longer in the browser’s storage.');
    const folder = await this.#root.getDirectoryHandle(run).catch(() => {
      throw gone;
    });
    const sizes = await fileSizes(folder);
    const found = await newestState<S>(folder, sizes);
    if (!found) throw gone;
    const read = async (name: string): Promise<File> => (await folder.getFileHandle(name)).getFile();
    const checkpoint = new Uint8Array(await (await read(checkpointName(found.save))).arrayBuffer());
    const files = new Map<string, File>();
    for (const name of sizes.keys()) if (!kSaveName.test(name)) files.set(name, await read(name));
    return { state: found.state, files, checkpoint };
  }

  async forget(run: string): Promise<void> {
    await this.#root.removeEntry(run, { recursive: true }).catch((error: unknown) => {
      if (!(error instanceof DOMException && error.name === 'NotFoundError')) throw error;
    });
  }
}

/** Keeps other tabs off a run until the returned function is called. Throws when another tab has it. */
export async function lockRun(run: string): Promise<() => void> {
  let release = (): void => {};
  const held = await new Promise<boolean>((answer, fail) => {
    navigator.locks
      .request(`tabgrad-run-${run}`, { ifAvailable: true }, (lock) => {
        answer(lock !== null);
        if (lock) return new Promise<void>((resolve) => (release = resolve));
        return undefined;
      })
      .catch(fail);
  });
  if (!held)
    throw new UserError('This run is open in another tab of the browser. Go on there, or close that tab first.');
  return release;
}

export function isQuotaError(error: unknown): boolean {
  return error instanceof Error && error.name === 'QuotaExceededError';
}

/** Why the store did not take something, to be put into a sentence. */
export function storeFailure(error: unknown): string {
  if (isQuotaError(error)) return 'the browser’s storage is full; forget old runs to make room';
  return error instanceof Error ? error.message : String(error);
}

export function newRunId(): string {
  const random = Math.floor(Math.random() * 36 ** 5);
  return `${Date.now().toString(36)}-${random.toString(36).padStart(5, '0')}`;
}

async function fileSizes(folder: FileSystemDirectoryHandle): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const [name, entry] of folder.entries()) {
    if (entry.kind === 'file') sizes.set(name, (await (entry as FileSystemFileHandle).getFile()).size);
  }
  return sizes;
}

function saves(sizes: Map<string, number>): number[] {
  return [...sizes.keys()].flatMap((name) => {
    const number = kSaveName.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

async function newestState<S>(
  folder: FileSystemDirectoryHandle,
  sizes: Map<string, number>,
): Promise<{ save: number; state: StateFile<S> } | null> {
  for (const save of saves(sizes).sort((a, b) => b - a)) {
    if (!sizes.has(stateName(save))) continue;
    try {
      const file = await (await folder.getFileHandle(stateName(save))).getFile();
      const state = JSON.parse(await file.text()) as StateFile<S>;
      if (state.version === 1 && sizes.get(checkpointName(save)) === state.checkpointBytes) return { save, state };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error; // half a file: the one before counts
    }
  }
  return null;
}

async function writeFile(
  folder: FileSystemDirectoryHandle,
  name: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const handle = (await folder.getFileHandle(name, { create: true })) as SyncFileHandle;
  const file = await handle.createSyncAccessHandle();
  try {
    file.truncate(0);
    let at = 0;
    for await (const chunk of chunks) {
      if (file.write(chunk, { at }) !== chunk.length) {
        throw new DOMException('The disk took only a part of it', 'QuotaExceededError');
      }
      at += chunk.length;
    }
    file.flush();
  } finally {
    file.close();
  }
}

export async function* blobChunks(blob: Blob): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < blob.size; at += kChunk) {
    yield new Uint8Array(await blob.slice(at, at + kChunk).arrayBuffer());
  }
}

async function remove(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  await folder.removeEntry(name).catch(() => {}); // it may not be there, and a left-over harms nobody
}
