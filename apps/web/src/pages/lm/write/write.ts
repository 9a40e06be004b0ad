// Text that the model writes on request: what was asked for, what came so far.

import { computed, signal } from '@preact/signals';
import { call, onEvent, textOf } from '../../../engine/engine';
import type { WeightSource, WriteEnd, WrittenToken } from '../../../engine/types';
import { run } from '../run/run';
import { model } from '../text/text';

/** As typed: numbers are checked when they are used. */
export interface WriteOptions {
  prompt: string;
  temperature: string;
  topK: string;
  topP: string;
  repetitionPenalty: string;
  seed: string;
  maxTokens: string;
  stop: string;
}

export interface Written {
  id: number;
  prompt: string;
  tokens: WrittenToken[];
  end: WriteEnd | null;
}

const kMostTokens = 100_000;

export const options = signal<WriteOptions>({
  prompt: 'The ',
  temperature: '0.8',
  topK: '0',
  topP: '1',
  repetitionPenalty: '1',
  seed: '1',
  maxTokens: '256',
  stop: '',
});
export const written = signal<Written | null>(null);
export const writeError = signal<string | null>(null);
export const writing = computed(() => written.value !== null && written.value.end === null && !writeError.value);

/** Whose weights write: the run's, once there is one that can. */
export const source = computed<WeightSource | null>(() => {
  if (run.value && run.value.state !== 'failed') return 'run';
  return model.value ? 'model' : null;
});

let lastId = 0;

function number(label: string, text: string, low: number, high: number, whole: boolean): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= low && value <= high) || (whole && !Number.isInteger(value)))
    throw new Error(
      `${label}: “${text}” is not possible. Give a ${whole ? 'whole ' : ''}number from ${low} to ${high.toLocaleString('en-US')}.`,
    );
  return value;
}

/** "\n" in a stop text is a line's end, as in most programs. */
function unescaped(text: string): string {
  return text.replaceAll('\\n', '\n').replaceAll('\\t', '\t');
}

export async function write(): Promise<void> {
  const from = source.peek();
  const o = options.peek();
  if (!from || writing.peek()) return;
  writeError.value = null;
  try {
    const request = {
      source: from,
      prompt: o.prompt,
      sampling: {
        temperature: number('Temperature', o.temperature, 0, 100, false),
        topK: number('Top k', o.topK, 0, 1e6, true),
        topP: number('Top p', o.topP, 0.001, 1, false),
        repetitionPenalty: number('Repetition penalty', o.repetitionPenalty, 1, 100, false),
        seed: String(number('Seed', o.seed, 0, Number.MAX_SAFE_INTEGER, true)),
      },
      maxTokens: number('Tokens', o.maxTokens, 1, kMostTokens, true),
      stop: o.stop === '' ? [] : [unescaped(o.stop)],
    };
    written.value = { id: ++lastId, prompt: o.prompt, tokens: [], end: null };
    await call('lm.write', { id: lastId, request });
  } catch (error) {
    writeError.value = textOf(error);
  }
}

export async function stopWriting(): Promise<void> {
  await call('lm.stopWriting', {}).catch((error: unknown) => (writeError.value = textOf(error)));
}

onEvent((event) => {
  const current = written.peek();
  if (!current || !('id' in event) || event.id !== current.id) return;
  switch (event.event) {
    case 'lm.written':
      written.value = { ...current, tokens: [...current.tokens, ...event.tokens] };
      return;
    case 'lm.writeEnded':
      written.value = { ...current, end: event.end };
      return;
    case 'lm.writeFailed':
      writeError.value = event.error;
  }
});
