// The reader of Programs: what it reads, what it refuses, and that damaged files neither hang it nor get through by chance
// with a number out of bounds.
import { describe, expect, test } from 'vitest';
import { readProgram } from '../src/program/read.ts';
import { validate } from '../src/program/validate.ts';
import { type Parts, smallParts, write } from './small_program.ts';

const read = (bytes: Uint8Array) => readProgram(bytes, 'small.tgp');

test('reads what was written', () => {
  const program = read(write(smallParts()));
  expect(program.target).toBe('webgpu');
  expect(program.uniforms).toEqual(['scale']);
  expect(program.packs).toEqual([128]);
  expect(program.subgroups).toBe(0);
  expect(read(write({ ...smallParts(), subgroups: 32 })).subgroups).toBe(32);
  expect([program.f16, read(write({ ...smallParts(), f16: true })).f16]).toEqual([false, true]);
  expect(program.buffers.map((b) => [b.name, b.role, b.type, b.elements])).toEqual([
    ['x', 'input', 'f32', 4],
    ['w', 'parameter', 'f32', 4],
    ['step/t', 'activation', 'f32', 4],
    ['y', 'output', 'f32', 4],
    ['c', 'constant', 'f32', 4],
    ['z', 'output', 'f32', 4],
  ]);
  expect(program.buffers[1]).toMatchObject({ pack: 0, packOffset: 64, data: null });
  expect(new Float32Array(program.buffers[4]!.data!.buffer)).toEqual(new Float32Array([1, 2, 3, 4]));
  expect(program.kernels[0]).toMatchObject({ name: 'small', uniforms: true });
  expect(program.kernels[0]!.args.map((a) => [a.written, a.elements])).toEqual([
    [false, 4],
    [false, 4],
    [true, 4],
  ]);
  expect(program.entries[0]).toMatchObject({ name: 'step', arenaElements: 64 });
  expect(program.entries[0]!.launches[1]).toMatchObject({
    kernel: 1,
    args: [2, 1, 3],
    label: 'layer',
    flops: 8,
    bytes: 32,
    grid: [1, 1, 1],
  });
});

test('the bytes may lie anywhere in a larger array, and may change afterwards', () => {
  const bytes = write(smallParts());
  const larger = new Uint8Array(bytes.length + 9).fill(255);
  larger.set(bytes, 3);
  const program = read(larger.subarray(3, 3 + bytes.length));
  larger.fill(0);
  expect(new Float32Array(program.buffers[4]!.data!.buffer)[3]).toBe(4);
});

describe('refuses, with the file’s name and the reason', () => {
  const refused: [string, (parts: Parts) => void, RegExp][] = [
    ['a size of nothing', (p) => (p.buffers[0]!.dims = [0]), /a size/],
    ['a size beyond all tensors', (p) => (p.buffers[0]!.dims = [65536, 65536]), /a size/],
    ['a number of 64 bits', (p) => (p.buffers[0]!.dims = [2 ** 40]), /a number/],
    ['a constant without its values', (p) => (p.buffers[4]!.data = new Uint8Array(12)), /constant data/],
    ['subgroups larger than any', (p) => (p.subgroups = 256), /subgroup size/],
    ['f16 outside of the arena', (p) => (p.buffers[1]!.type = 2), /a place for f16/],
    ['two buffers of one name', (p) => (p.buffers[3]!.name = 'x'), /buffer names/],
    ['two entries of one name', (p) => (p.entries[1]!.name = 'step'), /entry names/],
    ['an unknown role', (p) => (p.buffers[0]!.role = 6), /a part is missing/],
    ['a place before the arena', (p) => (p.buffers[2]!.arena = -1), /arena offset/],
    ['a place behind the arena', (p) => (p.buffers[2]!.arena = 61), /argument size/],
    ['a pack that is not there', (p) => (p.buffers[1]!.pack = 1), /pack/],
    ['a place behind the pack', (p) => (p.buffers[1]!.packOffset = 125), /pack/],
    ['a packed input', (p) => (p.buffers[0]!.pack = 0), /packed role/],
    [
      'a kernel that is not there',
      (p) => (p.entries[0]!.launches[0]!.kernel = 3),
      /kernel out of bounds in entry 'step'/,
    ],
    ['an argument that is not there', (p) => (p.entries[0]!.launches[0]!.args = [0, 1, 6]), /argument/],
    ['an absent argument', (p) => (p.entries[0]!.launches[0]!.args = [0, 1, -1]), /argument/],
    ['too few arguments', (p) => (p.entries[0]!.launches[0]!.args = [0, 1]), /shader/],
    ['a shader that reaches too far', (p) => (p.kernels[0]!.elements = 5), /argument size/],
    ['a shader without text', (p) => (p.kernels[0]!.text = ''), /shader/],
    ['no workgroups', (p) => (p.entries[0]!.launches[0]!.grid = [1, 0, 1]), /grid/],
    ['too many workgroups', (p) => (p.entries[0]!.launches[0]!.grid = [65536, 1, 1]), /grid/],
    ['a grid of two numbers', (p) => (p.entries[0]!.launches[0]!.grid = [1, 1]), /grid/],
    ['one buffer read and written', (p) => (p.entries[0]!.launches[0]!.args = [3, 1, 3]), /read and written/],
    ['one place written twice', (p) => (p.entries[0]!.launches[1]!.args = [2, 3, 3]), /overlap/],
    ['a Program for the CPU', (p) => (p.kernels[0]!.kind = 0), /compiled for the CPU/],
  ];
  test.each(refused)('%s', (_, spoil, reason) => {
    const parts = smallParts();
    spoil(parts);
    expect(() => read(write(parts))).toThrow(reason);
    expect(() => read(write(parts))).toThrow(/^small\.tgp: /);
  });

  test('another version', () => {
    expect(() => read(write(smallParts(), 2))).toThrow('small.tgp: Program version 2; this runtime reads version 1.');
  });
  test.each([0, 1, 4, 7, 8])('%i bytes', (size) => {
    expect(() => read(write(smallParts()).subarray(0, size))).toThrow(/small\.tgp: not a tabgrad Program/);
  });
});

describe('damaged files', () => {
  /** xorshift32: the same damage in every run. */
  function random(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % below;
    };
  }
  const kWords = [0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x10000];
  const damages: [string, (bytes: Uint8Array, rand: (n: number) => number) => Uint8Array][] = [
    ['bits', (bytes, rand) => ((bytes[rand(bytes.length)]! ^= 1 << rand(8)), bytes)],
    ['bytes', (bytes, rand) => (bytes.fill(rand(256), rand(bytes.length)), bytes)],
    ['cuts', (bytes, rand) => bytes.subarray(0, rand(bytes.length))],
    [
      'words',
      (bytes, rand) => {
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        for (let n = 1 + rand(4); n > 0; --n)
          view.setUint32(4 * rand(Math.floor(bytes.length / 4)), kWords[rand(kWords.length)]!, true);
        return bytes;
      },
    ],
    [
      'moved parts',
      (bytes, rand) => (bytes.copyWithin(rand(bytes.length), rand(bytes.length), rand(bytes.length)), bytes),
    ],
  ];
  test.each(damages)('%s: an Error, or a Program within bounds', (_, damage) => {
    const good = write(smallParts());
    const rand = random(7);
    let refused = 0;
    for (let i = 0; i < 3000; ++i) {
      const bytes = damage(Uint8Array.from(good), rand);
      try {
        validate(read(bytes));
      } catch (error) {
        expect((error as Error).message).toMatch(/^small\.tgp: /);
        ++refused;
      }
    }
    expect(refused).toBeGreaterThan(300);
  });

  test('a small file whose parts are all the same one does not become a large Program', () => {
    // A vector of ten thousand launches, each the same table, in each of a thousand entries that are the same table.
    const parts = smallParts();
    const launch = parts.entries[0]!.launches[0]!;
    parts.entries[0]!.launches = Array.from({ length: 1000 }, () => launch);
    const bytes = write(parts);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    // Each offset to a launch that has the vector of arguments replaced by the same, longest part of the file: the vector.
    const vector = findVector(view, 1000);
    for (let i = 1; i < 1000; ++i) {
      const first = vector + 4 + view.getUint32(vector + 4, true);
      view.setUint32(vector + 4 + 4 * i, first - (vector + 4 + 4 * i), true);
    }
    const at = vector + 4 + view.getUint32(vector + 4, true);
    const vtable = at - view.getInt32(at, true);
    const field = at + view.getUint16(vtable + 6, true); // args
    view.setUint32(field, vector - field, true);
    const start = performance.now();
    expect(() => read(bytes)).toThrow(/larger than the file/);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

function findVector(view: DataView, length: number): number {
  for (let at = 0; at < view.byteLength; at += 4) if (view.getUint32(at, true) === length) return at;
  throw new Error('no such vector');
}
