// Ends what is written before a stop text appears.
//
// A token is held back while it may still become part of a stop text, so nothing that was shown is taken back.

import type { WrittenToken } from './protocol.ts';

export class StopTexts {
  readonly #stops: string[];
  readonly #longest: number;
  #text = '';
  #held: { token: WrittenToken; start: number }[] = [];
  stopped = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
    this.#longest = Math.max(1, ...this.#stops.map((stop) => stop.length));
  }

  /** Tokens that can be shown by now. */
  push(token: WrittenToken): WrittenToken[] {
    if (this.stopped) return [];
    this.#held.push({ token, start: this.#text.length });
    this.#text += token.text;
    const found = this.#stops.map((stop) => this.#text.indexOf(stop)).filter((at) => at >= 0);
    if (found.length === 0) return this.#release(this.#text.length - (this.#longest - 1));
    this.stopped = true;
    const end = Math.min(...found);
    return this.#held.splice(0).flatMap(({ token: held, start }) => {
      if (start >= end) return [];
      return [{ ...held, text: held.text.slice(0, end - start) }];
    });
  }

  /** The rest, when no more comes. */
  finish(): WrittenToken[] {
    return this.stopped ? [] : this.#release(this.#text.length);
  }

  /** Those that end by there. */
  #release(until: number): WrittenToken[] {
    const first = this.#held.findIndex(({ token, start }) => start + token.text.length > until);
    return this.#held.splice(0, first < 0 ? this.#held.length : first).map(({ token }) => token);
  }
}
