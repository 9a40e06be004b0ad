// The reader of Programs of fragment shaders: draws and exchanges of textures that a runner could not do are refused.
import { expect, test } from 'vitest';
import { readProgram } from '../src/program/read.ts';
import { textureShape } from '../src/program/texture.ts';
import { type Parts, smallGlParts, write } from './small_program.ts';

const read = (change: (parts: Parts) => void) => {
  const parts = smallGlParts();
  change(parts);
  return readProgram(write(parts), 'small.tgp');
};

test('reads what was written', () => {
  const program = read(() => {});
  expect(program.target).toBe('webgl');
  expect(program.kernels.every((k) => k.fragment)).toBe(true);
  expect(program.entries.map((e) => e.swaps)).toEqual([[[6, 1]], []]);
  expect(program.entries[1]!.launches[0]).toMatchObject({ grid: [1, 1, 1], firstRow: 0, index: 1 });
});

test.each<[string, (parts: Parts) => void, RegExp]>([
  ['a draw beside the texture', (p) => (p.entries[0]!.launches[0]!.firstRow = 1), /grid/],
  ['a draw wider than the texture', (p) => (p.entries[0]!.launches[0]!.grid = [2, 1, 1]), /grid/],
  ['a texture that is read and drawn into', (p) => (p.entries[0]!.launches[0]!.args = [2, 1, 2]), /read and written/],
  ['two outputs in one texture', (p) => (p.entries[0]!.launches[1]!.args = [2, 1, 3, 3]), /argument overlap/],
  ['a shader of other sizes', (p) => (p.kernels[0]!.elements = 3), /argument size/],
  ['a pack of another shape', (p) => (p.packs[0] = 8), /a texture/],
  ['no output', (p) => (p.kernels[0]!.written = []), /argument/],
  ['half a pair', (p) => (p.entries[0]!.swaps = [6]), /a swap/],
  ['a buffer that is not there', (p) => (p.entries[0]!.swaps = [6, 7]), /a swap/],
  ['an exchange with itself', (p) => (p.entries[0]!.swaps = [6, 6]), /a swap/],
  ['an exchange of a shared texture', (p) => p.buffers.push({ name: 'step/other', role: 5, pack: 1 }), /a swap/],
])('refuses %s', (_, change, why) => {
  expect(() => read(change)).toThrow(why);
});

test('textures are near squares, as wide as a power of two', () => {
  for (const elements of [1, 4, 5, 17, 64, 65, 1000, 16384, 16385, 2 ** 26]) {
    const { width, height } = textureShape(elements);
    expect(Math.log2(width) % 1).toBe(0);
    expect(height).toBeLessThanOrEqual(width);
    expect(4 * width * height).toBeGreaterThanOrEqual(elements);
    expect(4 * width * (height - 1)).toBeLessThan(elements);
  }
});
