// A Program for a GPU as plain values: what read.ts makes of a file and what runners take. Names and meanings are those of
// src/program/program.h of the engine; sizes and places are in elements of 4 bytes.

export const kRoles = ['parameter', 'state', 'input', 'constant', 'output', 'activation'] as const;
export type Role = (typeof kRoles)[number];
export const kTypes = ['f32', 'i32', 'f16'] as const;

export interface Buffer {
  /** Unique but for activations. */
  name: string;
  role: Role;
  type: (typeof kTypes)[number];
  dims: number[];
  elements: number;
  /** Of those in the arena that all entries share (inArena): the place in it. */
  arenaOffset: number;
  /** Of constants: the values, little-endian. */
  data: Uint8Array<ArrayBuffer> | null;
  /** Index into `packs`, or -1, and the place in it: allocations that several buffers share. */
  pack: number;
  packOffset: number;
}

export function inArena(b: Buffer): boolean {
  return b.role === 'activation' && b.pack < 0;
}

export interface ShaderArg {
  written: boolean;
  /** That the text reaches, from the start of the launch's buffer on. */
  elements: number;
}

export interface Shader {
  name: string;
  text: string;
  args: ShaderArg[];
  /** Does the text read the uniform block? */
  uniforms: boolean;
  /** Draws into textures (WebGL2), otherwise a compute shader. */
  fragment: boolean;
}

export interface Launch {
  kernel: number;
  args: number[];
  label: string;
  flops: number;
  bytes: number;
  /** Workgroups; of fragment shaders columns and rows of texels. */
  grid: [number, number, number];
  /** Of fragment shaders: the first row of texels, and a number that the text may read. */
  firstRow: number;
  index: number;
}

export interface Entry {
  name: string;
  launches: Launch[];
  arenaElements: number;
  /** Buffers that exchange their allocations after a run. */
  swaps: [number, number][];
}

export interface Program {
  target: string;
  uniforms: string[];
  buffers: Buffer[];
  packs: number[];
  kernels: Shader[];
  entries: Entry[];
  /** Above 0: the texts rely on subgroups of at least so many invocations. */
  subgroups: number;
  /** Texts use f16, and activations are stored so. */
  f16: boolean;
}

/** The uniform block: words seed (low, high), step, 0, then the uniforms as f32; filled up to whole 16 bytes. */
export const kUniformHeaderWords = 4;
export function uniformWords(program: Program): number {
  return Math.ceil((kUniformHeaderWords + program.uniforms.length) / 4) * 4;
}

/** Elements of the arena that all entries share. */
export function arenaElements(program: Program): number {
  return program.entries.reduce((most, entry) => Math.max(most, entry.arenaElements), 0);
}
