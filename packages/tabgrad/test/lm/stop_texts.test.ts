import { expect, test } from 'vitest';
import type { WrittenToken } from '../../src/lm/protocol.ts';
import { StopTexts } from '../../src/lm/stop_texts.ts';

const token = (text: string): WrittenToken => ({ text, piece: text, probability: 1, candidates: [] });

/** What is shown after each token, and at the end. */
function shown(stops: string[], texts: string[]): { after: string[]; stopped: boolean } {
  const filter = new StopTexts(stops);
  const text = (tokens: WrittenToken[]) => tokens.map((t) => t.text).join('');
  const after = texts.map((t) => text(filter.push(token(t))));
  return { after: [...after, text(filter.finish())], stopped: filter.stopped };
}

test('without stop texts all is shown at once', () => {
  expect(shown([], ['a', '', 'b'])).toEqual({ after: ['a', '', 'b', ''], stopped: false });
  expect(shown([''], ['a'])).toEqual({ after: ['a', ''], stopped: false });
});

test('what may become a stop text is held back, then shown or cut', () => {
  expect(shown(['END'], ['ab', 'E', 'N', 'x', 'yz'])).toEqual({
    after: ['', '', 'ab', 'E', 'Nx', 'yz'],
    stopped: false,
  });
  expect(shown(['END'], ['ab', 'EN', 'Dzz', 'more'])).toEqual({ after: ['', 'ab', '', '', ''], stopped: true });
});

test('a stop text within one token, and the earliest of several', () => {
  expect(shown(['.', 'b.'], ['a b. c'])).toEqual({ after: ['a ', ''], stopped: true });
});

test('a token that holds the beginning of a stop text keeps what is before it', () => {
  expect(shown(['\n\n'], ['one\n', '\ntwo'])).toEqual({ after: ['', 'one', ''], stopped: true });
});
