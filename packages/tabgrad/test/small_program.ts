// A Program of two shaders as the engine would write it: y = scale·x + w[0], w = w + y, in entry "step"; "peek" copies x·c.
import { Builder } from 'flatbuffers';
import * as fbs from '../src/program/fbs/tabgrad/fbs.js';

const kCompute = '@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u)';
const kBind = (i: number, name: string, access: string) =>
  `@group(0) @binding(${i}) var<storage, ${access}> ${name}: array<f32>;`;

export const kAffine = `@group(0) @binding(0) var<uniform> u: array<vec4f, 2>;
${kBind(1, 'x', 'read')} ${kBind(2, 'w', 'read')} ${kBind(3, 't', 'read_write')}
${kCompute} { t[id.x] = u[1].x * x[id.x] + w[0]; }`;
const kUpdate = `${kBind(1, 't', 'read')} ${kBind(2, 'w', 'read_write')} ${kBind(3, 'y', 'read_write')}
${kCompute} { w[id.x] = w[id.x] + t[id.x]; y[id.x] = t[id.x]; }`;
const kTimes = `${kBind(1, 'x', 'read')} ${kBind(2, 'c', 'read')} ${kBind(3, 'z', 'read_write')}
${kCompute} { z[id.x] = x[id.x] * c[id.x]; }`;

export interface Parts {
  buffers: Partial<BufferPart>[];
  kernels: {
    text: string;
    written: number[];
    uniforms: boolean;
    elements?: number;
    kind?: number;
    fragment?: boolean;
    args?: number;
  }[];
  entries: {
    name: string;
    arena: number;
    launches: { kernel: number; args: number[]; grid?: number[]; firstRow?: number; index?: number }[];
    swaps?: number[];
  }[];
  packs: number[];
  target: string;
  subgroups?: number;
  f16?: boolean;
}
interface BufferPart {
  name: string;
  role: number;
  dims: number[];
  arena: number;
  data: Uint8Array;
  pack: number;
  packOffset: number;
  type: number;
}

/** Roles: 0 parameter, 1 state, 2 input, 3 constant, 4 output, 5 activation. */
export function smallParts(): Parts {
  return {
    buffers: [
      { name: 'x', role: 2 },
      { name: 'w', role: 0, pack: 0, packOffset: 64 },
      { name: 'step/t', role: 5, arena: 0 },
      { name: 'y', role: 4 },
      { name: 'c', role: 3, data: new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer) },
      { name: 'z', role: 4 },
    ],
    kernels: [
      { text: kAffine, written: [2], uniforms: true },
      { text: kUpdate, written: [1, 2], uniforms: false },
      { text: kTimes, written: [2], uniforms: false },
    ],
    entries: [
      {
        name: 'step',
        arena: 64,
        launches: [
          { kernel: 0, args: [0, 1, 2] },
          { kernel: 1, args: [2, 1, 3] },
        ],
      },
      { name: 'peek', arena: 0, launches: [{ kernel: 2, args: [0, 4, 5] }] },
    ],
    packs: [128],
    target: 'webgpu',
  };
}

const kDraw = '#version 300 es\nprecision highp float;\nprecision highp sampler2D;\n';
const kReads = (names: string) =>
  [...names].map((_, i) => `uniform sampler2D t${i};\n#define ${names[i]} texelFetch(t${i}, ivec2(0), 0)\n`).join('');

/** The same for WebGL2: t lies in a pack; the new w is written beside the old one, and they exchange textures. */
export function smallGlParts(): Parts {
  const parts = smallParts();
  const [x, w, t, y, c, z] = [0, 1, 2, 3, 4, 5] as const;
  const next = 6;
  parts.buffers[w] = { name: 'w', role: 0 };
  parts.buffers[t] = { name: 'step/t', role: 5, pack: 0 };
  parts.buffers[next] = { name: 'step/w', role: 5, pack: 1 };
  const out = (i: number) => `layout(location = ${i}) out vec4 o${i};\n`;
  const affine = `${kDraw}layout(std140) uniform TgUniforms { highp uvec4 u[2]; };\n${kReads('XW')}${out(0)}
void main() { o0 = uintBitsToFloat(u[1].x) * X + W.x; }`;
  const update = `${kDraw}${kReads('TW')}${out(0)}${out(1)}void main() { o0 = W + T; o1 = T; }`;
  const times = `${kDraw}uniform highp int tg_index;\n${kReads('XC')}${out(0)}void main() { o0 = X * C * float(tg_index); }`;
  parts.kernels = [
    { text: affine, written: [2], uniforms: true, fragment: true },
    { text: update, written: [2, 3], uniforms: false, fragment: true, args: 4 },
    { text: times, written: [2], uniforms: false, fragment: true },
  ];
  parts.entries = [
    {
      name: 'step',
      arena: 0,
      launches: [
        { kernel: 0, args: [x, w, t] },
        { kernel: 1, args: [t, w, next, y] },
      ],
      swaps: [next, w],
    },
    { name: 'peek', arena: 0, launches: [{ kernel: 2, args: [x, c, z], index: 1 }] },
  ];
  return { ...parts, packs: [4, 4], target: 'webgl' };
}

export function write(parts: Parts, version = 1): Uint8Array {
  const b = new Builder(1024);
  const longs = (values: number[]) => values.map(BigInt);
  const buffers = parts.buffers.map((part) => {
    const name = b.createString(part.name ?? '');
    const dims = fbs.Buffer.createDimsVector(b, longs(part.dims ?? [4]));
    const data = part.data ? fbs.Buffer.createDataVector(b, part.data) : 0;
    const { role = 0, arena = -1, pack = -1, packOffset = 0, type = 0 } = part;
    return fbs.Buffer.createBuffer(b, name, role, type, dims, BigInt(arena), data, pack, BigInt(packOffset));
  });
  const kernels = parts.kernels.map(
    ({ text, written, uniforms, elements = 4, kind = 6, fragment = false, args: count = 3 }) => {
      const args = fbs.Shader.createArgsVector(
        b,
        Array.from({ length: count }, (_, i) =>
          fbs.ShaderArg.createShaderArg(b, written.includes(i), BigInt(elements)),
        ),
      );
      const shader = fbs.Shader.createShader(
        b,
        b.createString('small'),
        b.createString(text),
        args,
        uniforms,
        fragment,
      );
      fbs.Kernel.startKernel(b);
      fbs.Kernel.addKind(b, kind);
      fbs.Kernel.addShader(b, shader);
      return fbs.Kernel.endKernel(b);
    },
  );
  const entries = parts.entries.map((entry) => {
    const launches = entry.launches.map(({ kernel, args, grid = [1, 1, 1], firstRow = 0, index = 0 }) => {
      const of = fbs.Launch.createArgsVector(b, args);
      const label = b.createString('layer');
      return fbs.Launch.createLaunch(
        b,
        kernel,
        of,
        label,
        8,
        32,
        fbs.Launch.createGridVector(b, grid),
        firstRow,
        index,
      );
    });
    const name = b.createString(entry.name);
    const swaps = fbs.Entry.createSwapsVector(b, entry.swaps ?? []);
    return fbs.Entry.createEntry(b, name, fbs.Entry.createLaunchesVector(b, launches), BigInt(entry.arena), swaps);
  });
  const target = b.createString(parts.target);
  const uniforms = fbs.Program.createUniformsVector(b, [b.createString('scale')]);
  const root = fbs.Program.createProgram(
    b,
    version,
    target,
    uniforms,
    fbs.Program.createBuffersVector(b, buffers),
    fbs.Program.createKernelsVector(b, kernels),
    fbs.Program.createEntriesVector(b, entries),
    fbs.Program.createPacksVector(b, longs(parts.packs)),
    parts.subgroups ?? 0,
    parts.f16 ?? false,
  );
  b.finish(root, 'TGP1');
  return b.asUint8Array();
}
