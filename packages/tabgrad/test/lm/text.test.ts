import { expect, test } from 'vitest';
import { checkText, titleOf } from '../../src/lm/text.ts';

const check = (bytes: Uint8Array<ArrayBuffer> | string) => checkText({ name: 'a.txt', file: new Blob([bytes]) });

test('UTF-8 of all lengths passes, also across the pieces that are read', async () => {
  await check('plain, größe, 鯨, 🐳');
  await check(`${'x'.repeat((1 << 20) - 1)}🐳 and on`);
});

test('what is no text is named with its place', async () => {
  await expect(check('')).rejects.toThrow('a.txt is empty.');
  await expect(check(Uint8Array.of(0x61, 0x62, 0xff, 0x63))).rejects.toThrow('a.txt is not a UTF-8 text: at byte 2 ');
  await expect(check(Uint8Array.of(0x61, 0, 0x62))).rejects.toThrow('at byte 1 it has a byte 0');
  await expect(check(Uint8Array.of(0x61, 0xe2, 0x82))).rejects.toThrow('the beginning of a character and no end');
  const late = new TextEncoder().encode('y'.repeat((1 << 20) + 5000));
  late[(1 << 20) + 1234] = 0xc0;
  await expect(check(late)).rejects.toThrow(`at byte ${((1 << 20) + 1234).toLocaleString('en-US')} `);
});

test('titles of several texts', () => {
  const named = (...names: string[]) => titleOf(names.map((name) => ({ name })));
  expect(named('a')).toBe('a');
  expect(named('a', 'b')).toBe('a and b');
  expect(named('a', 'b', 'c')).toBe('a and 2 more');
});
