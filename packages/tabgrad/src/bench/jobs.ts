// The jobs that tabgrad and its peers run in a browser: shapes, weights, batches, work. Everything is made from fixed seeds,
// so that each side starts from the same bits and sees the same batches; hashes in the result show it.
//
// No side's own random numbers are used. Parameter names and layouts are the engine's (src/models/gpt.h, bench/step.cc).

export type Floats = Float32Array<ArrayBuffer>;
export type Ints = Int32Array<ArrayBuffer>;

export interface Parameter {
  name: string;
  dims: number[];
  data: Floats;
  /** Weight decay applies to it (matrices and embeddings). */
  decay: boolean;
}

/** How a train step updates its weights. Bias corrections as Adam's; clip 0: none. */
export interface Optimizer {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  clip: number;
}

export interface Preset {
  name: string;
  layers: number;
  width: number;
  heads: number;
  context: number;
  batch: number;
}
export const kVocabulary = 256;
export const kPresets: Preset[] = [
  { name: 'tiny', layers: 2, width: 48, heads: 3, context: 32, batch: 16 },
  { name: 'small', layers: 3, width: 96, heads: 3, context: 64, batch: 16 },
  { name: 'medium', layers: 4, width: 128, heads: 4, context: 96, batch: 16 },
  { name: 'large', layers: 6, width: 192, heads: 6, context: 128, batch: 12 },
  { name: 'xl', layers: 8, width: 256, heads: 8, context: 128, batch: 8 },
  { name: 'huge', layers: 12, width: 256, heads: 8, context: 256, batch: 8 },
  { name: 'massive', layers: 14, width: 384, heads: 12, context: 256, batch: 4 },
  { name: 'mega', layers: 14, width: 384, heads: 12, context: 512, batch: 2 },
];
export const kGptOptimizer: Optimizer = {
  learningRate: 3e-4,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  clip: 1,
};

export interface LstmShape {
  units: number;
  steps: number;
  features: number;
  batch: number;
}
export const kLstms: LstmShape[] = [
  { units: 32, steps: 24, features: 1, batch: 32 },
  { units: 128, steps: 48, features: 8, batch: 64 },
];
export const kLstmOptimizer: Optimizer = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  clip: 0,
};

/** nn: A·B, nt: A·Bᵀ, tn: Aᵀ·B. C is (m,n) always and k the inner dimension; A is stored (k,m) in tn, B (n,k) in nt. */
export type Form = 'nn' | 'nt' | 'tn';
export interface MatmulShape {
  form: Form;
  m: number;
  n: number;
  k: number;
}

export type Job =
  { bench: 'gpt'; preset: Preset } | { bench: 'lstm'; shape: LstmShape } | { bench: 'matmul'; shape: MatmulShape };

/** One step's input, in the order and layout that every side gets. */
export type Batch =
  | { tokens: Ints; targets: Ints } // (B,T) each
  | { x: Floats; y: Floats }; // (B,T,F), (B,1)

export function jobName(job: Job): string {
  if (job.bench === 'gpt') return job.preset.name;
  if (job.bench === 'lstm') return [job.shape.units, job.shape.steps, job.shape.features, job.shape.batch].join('/');
  return `${job.shape.form} ${job.shape.m}x${job.shape.n}x${job.shape.k}`;
}

/** Floating-point operations of one run. GPT: products, and attention counted causally, as the engine's own plan counts. */
export function jobFlops(job: Job): number {
  if (job.bench === 'matmul') return 2 * job.shape.m * job.shape.n * job.shape.k;
  if (job.bench === 'lstm') {
    const { units, steps, features, batch } = job.shape;
    // Three products by W_h, two by W_x (the input needs no gradient), three by the head.
    return 2 * batch * steps * 4 * units * (3 * units + 2 * features) + 6 * batch * units;
  }
  const { layers, width, context, batch } = job.preset;
  const products = 6 * context * batch * (12 * layers * width * width + kVocabulary * width);
  return products + 6 * layers * batch * context * (context + 1) * width;
}

/** Uniform in [0, 1), 32 bits of state (mulberry32). */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
  };
}

function normals(count: number, seed: number, deviation = 1): Floats {
  const next = random(seed);
  return Float32Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - next()));
    return deviation * radius * Math.cos(2 * Math.PI * next());
  });
}

function gptParameters({ layers, width: d, context }: Preset): Parameter[] {
  const list: Parameter[] = [];
  const add = (name: string, dims: number[], deviation: number, fill = 0) => {
    const count = dims.reduce((a, b) => a * b);
    const data = deviation > 0 ? normals(count, 1000 + list.length, deviation) : new Float32Array(count).fill(fill);
    list.push({ name, dims, data, decay: dims.length > 1 });
  };
  const residual = 0.02 / Math.sqrt(2 * layers);
  add('tok_emb.w', [kVocabulary, d], 0.02);
  add('pos_emb.w', [context, d], 0.02);
  for (let layer = 0; layer < layers; ++layer) {
    const h = `h${layer}`;
    add(`${h}.ln1.g`, [d], 0, 1);
    add(`${h}.ln1.b`, [d], 0);
    add(`${h}.attn.qkv.w`, [d, 3 * d], 0.02);
    add(`${h}.attn.qkv.b`, [3 * d], 0);
    add(`${h}.attn.proj.w`, [d, d], residual);
    add(`${h}.attn.proj.b`, [d], 0);
    add(`${h}.ln2.g`, [d], 0, 1);
    add(`${h}.ln2.b`, [d], 0);
    add(`${h}.mlp.fc.w`, [d, 4 * d], 0.02);
    add(`${h}.mlp.fc.b`, [4 * d], 0);
    add(`${h}.mlp.out.w`, [4 * d, d], residual);
    add(`${h}.mlp.out.b`, [d], 0);
  }
  add('ln_f.g', [d], 0, 1);
  add('ln_f.b', [d], 0);
  return list;
}

/** Gates i|f|g|o; the forget gate's bias starts at 1. */
function lstmParameters({ units, features }: LstmShape): Parameter[] {
  const bias = new Float32Array(4 * units).fill(1, units, 2 * units);
  const matrix = (name: string, rows: number, columns: number, seed: number): Parameter => ({
    name,
    dims: [rows, columns],
    data: normals(rows * columns, seed, Math.sqrt(2 / (rows + columns))),
    decay: true,
  });
  return [
    matrix('wx', features, 4 * units, 2000),
    matrix('wh', units, 4 * units, 2001),
    { name: 'b', dims: [4 * units], data: bias, decay: false },
    matrix('head.w', units, 1, 2002),
    { name: 'head.b', dims: [1], data: new Float32Array(1), decay: false },
  ];
}

export function parametersOf(job: Job): Parameter[] {
  if (job.bench === 'gpt') return gptParameters(job.preset);
  return job.bench === 'lstm' ? lstmParameters(job.shape) : [];
}

/** Step i = 0, 1, … of a job sees batch i % kBatches. */
export const kBatches = 8;

/** Text-like tokens: each follows from the one before with 8 choices, so that the loss has somewhere to go (to ln 8 = 2.08). */
function tokenBatch({ context, batch }: Preset, seed: number): Batch {
  const next = random(seed);
  const tokens = new Int32Array(batch * context);
  const targets = new Int32Array(batch * context);
  for (let row = 0; row < batch; ++row) {
    let token = Math.floor(next() * kVocabulary);
    for (let t = 0; t < context; ++t) {
      tokens[row * context + t] = token;
      token = (token * 5 + 7 * Math.floor(next() * 8)) % kVocabulary;
      targets[row * context + t] = token;
    }
  }
  return { tokens, targets };
}

export function batchesOf(job: Job): Batch[] {
  if (job.bench === 'matmul') return [];
  return Array.from({ length: kBatches }, (_, i) => {
    if (job.bench === 'gpt') return tokenBatch(job.preset, 3000 + i);
    const { steps, features, batch } = job.shape;
    return { x: normals(batch * steps * features, 4000 + i), y: normals(batch, 5000 + i) };
  });
}

/** A and B of a product, uniform in [-1, 1), as stored. */
export function matricesOf({ m, n, k }: MatmulShape): { a: Floats; b: Floats } {
  const fill = (count: number, seed: number) => {
    const next = random(seed);
    return Float32Array.from({ length: count }, () => 2 * next() - 1);
  };
  return { a: fill(m * k, 6000), b: fill(k * n, 6001) };
}

/** FNV-1a over the bytes of arrays, in hexadecimal. */
export function hashOf(arrays: (Floats | Ints)[]): string {
  let hash = 0x811c9dc5;
  for (const array of arrays)
    for (const byte of new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
      hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}
