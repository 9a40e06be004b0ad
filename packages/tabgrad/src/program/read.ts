// Bytes → Program. A Program is executable code from a file that anybody may have written: every offset, size and count in it
// is checked (checked_bytes.ts, validate.ts), and what does not hold is an Error that names the file.
//
// Does not: read Programs for the CPU, which WebAssembly runs.

import { CheckedBytes, DamagedFile } from './checked_bytes.ts';
import { Program as ProgramTable } from './fbs/tabgrad/fbs/program.js';
import type { Buffer as BufferTable } from './fbs/tabgrad/fbs/buffer.js';
import type { Entry as EntryTable } from './fbs/tabgrad/fbs/entry.js';
import type { Kernel as KernelTable } from './fbs/tabgrad/fbs/kernel.js';
import { type Buffer, type Entry, kRoles, kTypes, type Program, type Shader } from './program.ts';
import { kLargest, need, validate } from './validate.ts';

const kVersion = 1;
const kShaderKind = 6; // KernelKind::kShader

/** source: the file's name, for errors. The bytes are copied. */
export function readProgram(bytes: Uint8Array, source: string): Program {
  try {
    const file = new CheckedBytes(Uint8Array.from(bytes));
    if (!ProgramTable.bufferHasIdentifier(file)) throw new DamagedFile('it does not start as one');
    const table = ProgramTable.getRootAsProgram(file);
    if (table.version() !== kVersion) {
      throw new Error(`${source}: Program version ${table.version()}; this runtime reads version ${kVersion}.`);
    }
    const program: Program = {
      target: table.target() ?? '',
      uniforms: list(table.uniformsLength(), (i) => table.uniforms(i)),
      buffers: list(table.buffersLength(), (i) => readBuffer(part(table.buffers(i)))),
      packs: list(table.packsLength(), (i) => integer(table.packs(i))),
      kernels: list(table.kernelsLength(), (i) => readShader(part(table.kernels(i)))),
      entries: list(table.entriesLength(), (i) => readEntry(part(table.entries(i)))),
      subgroups: table.subgroups(),
      f16: table.f16(),
    };
    validate(program);
    return program;
  } catch (error) {
    // RangeError: typed arrays check the bytes of constants by themselves.
    if (!(error instanceof DamagedFile || error instanceof RangeError)) throw error;
    throw new Error(`${source}: not a tabgrad Program for a GPU, or damaged: ${error.message}.`);
  }
}

function part<T>(table: T | null): T {
  if (table === null) throw new DamagedFile('a part is missing');
  return table;
}

function list<T>(length: number, item: (i: number) => T | null): T[] {
  return Array.from({ length }, (_, i) => part(item(i)));
}

/** Whole numbers of the format have 64 bits; none that is allowed needs more than 32. */
function integer(value: bigint | null): number {
  const n = Number(part(value));
  need(Math.abs(n) <= kLargest, 'a number');
  return n;
}

function word<T extends string>(words: readonly T[], index: number): T {
  return part(words[index] ?? null);
}

function readBuffer(b: BufferTable): Buffer {
  const dims = list(b.dimsLength(), (i) => integer(b.dims(i)));
  const bytes = b.dataArray(); // dataLength() would count them twice
  return {
    name: b.name() ?? '',
    role: word(kRoles, b.role()),
    type: word(kTypes, b.dtype()),
    dims,
    elements: dims.reduce((n, d) => n * d, 1),
    arenaOffset: integer(b.arenaOffset()),
    data: bytes && Uint8Array.from(bytes),
    pack: b.pack(),
    packOffset: integer(b.packOffset()),
  };
}

function readShader(k: KernelTable): Shader {
  const shader = k.shader();
  if (k.kind() !== kShaderKind || !shader) throw new DamagedFile('it was compiled for the CPU');
  return {
    name: shader.name() ?? '',
    text: shader.text() ?? '',
    args: list(shader.argsLength(), (i) => {
      const arg = part(shader.args(i));
      return { written: arg.written(), elements: integer(arg.elements()) };
    }),
    uniforms: shader.uniforms(),
    fragment: shader.fragment(),
  };
}

function readEntry(e: EntryTable): Entry {
  const swapped = list(e.swapsLength(), (i) => e.swaps(i));
  need(swapped.length % 2 === 0, 'a swap');
  return {
    name: e.name() ?? '',
    arenaElements: integer(e.arenaElements()),
    swaps: Array.from({ length: swapped.length / 2 }, (_, i) => [swapped[2 * i]!, swapped[2 * i + 1]!]),
    launches: list(e.launchesLength(), (i) => {
      const l = part(e.launches(i));
      const grid = list(l.gridLength(), (d) => l.grid(d));
      need(grid.length === 3, 'grid');
      return {
        kernel: l.kernel(),
        args: list(l.argsLength(), (a) => l.args(a)),
        label: l.label() ?? '',
        flops: l.flops(),
        bytes: l.bytes(),
        grid: grid as [number, number, number],
        firstRow: l.firstRow(),
        index: l.index(),
      };
    }),
  };
}
