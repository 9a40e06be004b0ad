// Writes text with a model, a few milliseconds at a time, so that messages get their turn.
//
// Does: takes a turn at the weights for as long as a text takes (the run does not train meanwhile), cuts at stop texts. Does
// not: know which page asked.

import type { Turns } from '../runs/turns.ts';
import type { Engine } from '../wasm/engine.ts';
import type { WriteEnd, WriteRequest, WrittenToken } from './protocol.ts';
import { StopTexts } from './stop_texts.ts';

const kSliceMs = 30;

/** Reply of the engine's call 'lm.write.more'. */
interface More {
  tokens: WrittenToken[];
  end: boolean;
  /** What the last token left of a character. */
  rest: string;
}

export class Writer {
  readonly #engine: Engine;
  readonly #turns: Turns;
  readonly #yield = new MessageChannel();
  #wake = (): void => {};
  /** Writings that were asked for before this one are to stop. */
  #stopBefore = 0;
  #count = 0;

  constructor(engine: Engine, turns: Turns) {
    this.#engine = engine;
    this.#turns = turns;
    this.#yield.port1.onmessage = () => this.#wake();
  }

  write(request: WriteRequest, onTokens: (tokens: WrittenToken[]) => void): Promise<WriteEnd> {
    const number = ++this.#count;
    return this.#turns.take(() => this.#write(number, request, onTokens));
  }

  /** Ends all writing that was asked for. */
  stop(): void {
    this.#stopBefore = this.#count + 1;
  }

  async #write(number: number, request: WriteRequest, onTokens: (tokens: WrittenToken[]) => void): Promise<WriteEnd> {
    const { stop, maxTokens, ...rest } = request;
    const begin = performance.now();
    let written = 0;
    const ended = (why: WriteEnd['why']): WriteEnd => ({
      why,
      tokens: written,
      seconds: (performance.now() - begin) / 1000,
    });
    if (number < this.#stopBefore) return ended('stopped');
    await this.#engine.request('lm.write', rest);
    const stops = new StopTexts(stop);
    const show = (tokens: WrittenToken[]): void => {
      if (tokens.length > 0) onTokens(tokens);
    };
    for (;;) {
      const args = { milliseconds: kSliceMs, most: maxTokens - written };
      const more = (await this.#engine.request('lm.write.more', args)) as More;
      const last = more.tokens.at(-1);
      if (last) last.text += more.rest;
      written += more.tokens.length;
      show(more.tokens.flatMap((token) => stops.push(token)));
      if (stops.stopped) return ended('stop text');
      const why = more.end ? 'end of text' : written >= maxTokens ? 'all tokens' : null;
      if (why ?? number < this.#stopBefore) {
        show(stops.finish());
        return ended(why ?? 'stopped');
      }
      await this.#breathe();
    }
  }

  /** A turn of the event loop. */
  #breathe(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#yield.port2.postMessage(null);
    });
  }
}
