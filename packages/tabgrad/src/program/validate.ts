// Checks of a Program's numbers: after it, a runner may trust every index, size and range. The same rules as
// src/program/validate.cc has for shaders.

import { DamagedFile } from './checked_bytes.ts';
import { type Buffer, type Entry, inArena, type Launch, type Program, type Shader } from './program.ts';
import { textureShape } from './texture.ts';

/** As in C++: larger than any real tensor. */
export const kLargest = 2 ** 31;
/** Of one grid dimension, WebGPU's default limit. */
const kMostWorkgroups = 65535;

export function need(ok: boolean, what: string, where = ''): void {
  if (!ok) throw new DamagedFile(`${what} out of bounds${where && ` in ${where}`}`);
}

export function validate(program: Program): void {
  for (const n of program.packs) need(n >= 1 && n <= kLargest, 'a size');
  need(program.subgroups >= 0 && program.subgroups <= 128, 'subgroup size');
  need(new Set(program.uniforms).size === program.uniforms.length, 'uniform names');
  const names = new Set<string>();
  for (const b of program.buffers) {
    checkBuffer(program, b);
    if (b.role === 'activation') continue;
    need(!names.has(b.name), 'buffer names');
    names.add(b.name);
  }
  const entries = new Set<string>();
  for (const entry of program.entries) {
    need(!entries.has(entry.name), 'entry names');
    entries.add(entry.name);
    need(entry.arenaElements >= 0 && entry.arenaElements <= kLargest, 'arena size');
    for (const l of entry.launches) checkLaunch(program, entry, l);
    for (const pair of entry.swaps) checkSwap(program, pair);
  }
}

/** Each alone in its allocation, and of one size, so that either serves for both. */
function checkSwap(program: Program, pair: [number, number]): void {
  const [a, b] = pair.map((i) => program.buffers[i]);
  need(a !== undefined && b !== undefined && a !== b && a.elements === b.elements, 'a swap');
  for (const buffer of [a!, b!]) {
    need(!inArena(buffer), 'a swap');
    need(buffer.pack < 0 || program.buffers.every((other) => other === buffer || other.pack !== buffer.pack), 'a swap');
  }
}

function checkBuffer(program: Program, b: Buffer): void {
  let elements = 1;
  for (const d of b.dims) {
    need(d >= 1 && d <= kLargest, 'a size');
    elements *= d;
    need(elements <= kLargest, 'a size');
  }
  need(elements === b.elements, 'a size');
  if (b.role === 'constant') need(b.data?.length === elements * 4, 'constant data');
  need(b.type !== 'f16' || inArena(b), 'a place for f16');
  if (inArena(b)) need(b.arenaOffset >= 0 && b.arenaOffset <= kLargest, 'arena offset');
  if (b.pack === -1) return;
  need(b.role === 'parameter' || b.role === 'state' || b.role === 'activation', 'packed role');
  const size = program.packs[b.pack];
  need(size !== undefined && b.packOffset >= 0 && b.packOffset + elements <= size, 'pack');
}

/** What a buffer lies in, and where. Equal allocations have equal names. */
interface Place {
  allocation: string;
  first: number;
  size: number;
}
function placeOf(program: Program, entry: Entry, index: number): Place {
  const b = program.buffers[index]!;
  if (inArena(b)) return { allocation: 'arena', first: b.arenaOffset, size: entry.arenaElements };
  if (b.pack >= 0) return { allocation: `pack ${b.pack}`, first: b.packOffset, size: program.packs[b.pack]! };
  return { allocation: `buffer ${index}`, first: 0, size: b.elements };
}

function checkLaunch(program: Program, entry: Entry, l: Launch): void {
  const where = `entry '${entry.name}', launch '${l.label}'`;
  const shader = program.kernels[l.kernel];
  if (!shader) throw new DamagedFile(`kernel out of bounds in ${where}`);
  need(shader.text !== '' && shader.args.length === l.args.length, 'shader', where);
  for (const n of l.grid) need(n >= 1 && n <= kMostWorkgroups, 'grid', where);
  if (shader.fragment) {
    checkDraw(program, shader, l, where);
    return;
  }
  const places = l.args.map((arg, i) => {
    const { elements } = shader.args[i]!;
    need(arg >= 0 && arg < program.buffers.length && elements >= 1 && elements <= kLargest, 'argument', where);
    const place = placeOf(program, entry, arg);
    need(place.first + elements <= place.size, 'argument size', where);
    return { ...place, elements, written: shader.args[i]!.written };
  });
  // A GPU refuses two bindings of one place where one is written, and a buffer bound both for reading and for writing.
  for (const [i, a] of places.entries()) {
    for (const b of places.slice(0, i)) {
      if (a.allocation !== b.allocation || (!a.written && !b.written)) continue;
      need(a.written && b.written, 'read and written argument', where);
      need(a.first + a.elements <= b.first || b.first + b.elements <= a.first, 'argument overlap', where);
    }
  }
}

/** Draws inside of all outputs, none of which it reads. Outputs are textures of one shape. */
function checkDraw(program: Program, shader: Shader, l: Launch, where: string): void {
  const read = new Set<string>();
  const written = new Set<string>();
  let drawn: { width: number; height: number } | null = null;
  for (const [i, arg] of l.args.entries()) {
    const b = program.buffers[arg];
    need(b !== undefined && !inArena(b), 'argument', where);
    const { elements, written: writes } = shader.args[i]!;
    need(b!.elements === elements && b!.packOffset === 0, 'argument size', where);
    const { width, height } = textureShape(elements);
    const all = textureShape(b!.pack >= 0 ? program.packs[b!.pack]! : elements);
    need(all.width === width && all.height === height, 'a texture', where);
    const allocation = b!.pack >= 0 ? `pack ${b!.pack}` : `buffer ${arg}`;
    if (!writes) {
      read.add(allocation);
      continue;
    }
    need(!written.has(allocation), 'argument overlap', where);
    written.add(allocation);
    drawn ??= { width, height };
    need(drawn.width === width && drawn.height === height, 'outputs', where);
    need(l.grid[0] === width && l.firstRow >= 0 && l.firstRow + l.grid[1] <= height, 'grid', where);
  }
  need(written.size > 0, 'argument', where);
  for (const allocation of written) need(!read.has(allocation), 'read and written argument', where);
}
