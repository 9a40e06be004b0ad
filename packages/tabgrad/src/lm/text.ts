// The texts to learn from: files whose bytes are read when they are needed, and checked once to be UTF-8.

import { blobChunks } from '../runs/store.ts';
import { UserError } from '../wasm/engine.ts';

export interface TextFile {
  name: string;
  file: Blob;
}

/** Throws UserError naming the file and where it is no text. */
export async function checkText({ name, file }: TextFile): Promise<void> {
  if (file.size === 0) throw new UserError(`${name} is empty.`);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let at = 0;
  for await (const chunk of chunksOf({ name, file })) {
    const zero = chunk.indexOf(0);
    if (zero >= 0) throw notText(name, at + zero, 'a byte 0');
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      throw notText(name, at + firstInvalid(chunk), 'bytes that are no UTF-8');
    }
    at += chunk.length;
  }
  try {
    decoder.decode();
  } catch {
    throw notText(name, at, 'the beginning of a character and no end');
  }
}

function notText(name: string, at: number, what: string): UserError {
  const place = at.toLocaleString('en-US');
  return new UserError(
    `${name} is not a UTF-8 text: at byte ${place} it has ${what}. Save it as UTF-8, then open it again.`,
  );
}

/** Where the bytes stop being UTF-8. They may begin within a character. */
function firstInvalid(chunk: Uint8Array): number {
  let start = 0;
  while (start < 3 && start < chunk.length && (chunk[start]! & 0xc0) === 0x80) ++start;
  const valid = (end: number): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(chunk.subarray(start, end), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let [low, high] = [start, chunk.length]; // valid to low, not to high
  if (valid(high)) return 0; // its very first bytes are wrong
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (valid(middle)) low = middle;
    else high = middle;
  }
  return low;
}

export async function* chunksOf({ name, file }: TextFile): AsyncGenerator<Uint8Array> {
  try {
    yield* blobChunks(file);
  } catch (error) {
    if (error instanceof DOMException)
      throw new UserError(`${name} cannot be read: it was moved or changed. Choose it again.`);
    throw error;
  }
}

/** "a.txt", "a.txt and b.txt", "a.txt and 3 more". */
export function titleOf(files: readonly { name: string }[]): string {
  const [first, second] = files;
  if (!first) return '';
  if (!second) return first.name;
  return files.length === 2 ? `${first.name} and ${second.name}` : `${first.name} and ${files.length - 1} more`;
}
