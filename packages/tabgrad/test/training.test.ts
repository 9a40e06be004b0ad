// Training from an exported model, without a GPU: random words, orders, rates, the data file, and what the trainer asks of a
// runner. Its losses beside the engine's are in tests/web/webgpu.
import { expect, test } from 'vitest';
import type { Program } from '../src/program/program.ts';
import { epochOrder, philox4x32 } from '../src/runtime/epoch_order.ts';
import type { Runner, Values } from '../src/runtime/runner.ts';
import { readSafetensors, type Tensors } from '../src/runtime/safetensors.ts';
import { learningRate, Training, type TrainingEvent, type TrainingPlan } from '../src/runtime/training.ts';

test('Philox gives the words of its authors (Random123’s known answers)', () => {
  const words = (key: [number, number], counter: number[]) => [...philox4x32(key, counter)].map((w) => w.toString(16));
  const all = 0xffffffff;
  expect(words([0, 0], [0, 0, 0, 0])).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']);
  expect(words([all, all], [all, all, all, all])).toEqual(['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd']);
  expect(words([0xa4093822, 0x299f31d0], [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344])).toEqual([
    'd16cfe09',
    '94fdcceb',
    '5001e420',
    '24126ea1',
  ]);
});

test('an epoch takes each example once, each epoch in another order, always the same for a seed', () => {
  const order = epochOrder(2n ** 40n + 7n, 0, 1000);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  expect(epochOrder(2n ** 40n + 7n, 0, 1000)).toEqual(order);
  expect(epochOrder(2n ** 40n + 7n, 1, 1000)).not.toEqual(order);
  expect(epochOrder(7n, 0, 1000)).not.toEqual(order);
});

const kSchedule = {
  kind: 'cosine',
  peak: 1,
  warmupSteps: 10,
  totalSteps: 110,
  dropEvery: 40,
  dropFactor: 0.1,
} as const;
test('rates', () => {
  expect(learningRate(kSchedule, 5)).toBe(0.5);
  expect(learningRate(kSchedule, 10)).toBe(1);
  expect(learningRate(kSchedule, 60)).toBeCloseTo(0.5, 12);
  expect(learningRate(kSchedule, 110)).toBeCloseTo(0, 12);
  expect(learningRate({ ...kSchedule, kind: 'linear' }, 35)).toBe(0.75);
  expect(learningRate({ ...kSchedule, kind: 'linear' }, 200)).toBe(0);
  expect(learningRate({ ...kSchedule, kind: 'step' }, 49)).toBe(1);
  expect(learningRate({ ...kSchedule, kind: 'step' }, 90)).toBeCloseTo(0.01, 12);
  expect(learningRate({ ...kSchedule, kind: 'constant' }, 100)).toBe(1);
});

function safetensors(header: unknown, data: Float32Array): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + data.byteLength);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  bytes.set(new Uint8Array(data.buffer), 8 + json.length);
  return bytes;
}

test('reads a safetensors file, at any place of a larger array', () => {
  const header = { __metadata__: { a: 'b' }, x: { dtype: 'F32', shape: [2, 1], data_offsets: [4, 12] } };
  const bytes = safetensors(header, new Float32Array([1, 2, 3]));
  const larger = new Uint8Array(bytes.length + 5);
  larger.set(bytes, 5);
  const { tensors, metadata } = readSafetensors(larger.subarray(5), 'data');
  expect(metadata).toEqual({ a: 'b' });
  expect(tensors.get('x')).toEqual({ dims: [2, 1], values: new Float32Array([2, 3]) });
});

test.each([
  ['too short', new Uint8Array(7)],
  ['a header beyond its end', safetensors({}, new Float32Array()).fill(255, 0, 8)],
  ['no JSON', safetensors('{', new Float32Array())],
  ['no list', safetensors('null', new Float32Array())],
  ['another type', safetensors({ x: { dtype: 'F16', shape: [1], data_offsets: [0, 2] } }, new Float32Array(1))],
  ['no entry', safetensors({ x: null }, new Float32Array(1))],
  ['a negative size', safetensors({ x: { dtype: 'F32', shape: [-1], data_offsets: [4, 0] } }, new Float32Array(1))],
  ['a wrong size', safetensors({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 4] } }, new Float32Array(2))],
  ['an end too late', safetensors({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } }, new Float32Array(1))],
])('refuses a data file with %s', (_, bytes) => {
  expect(() => readSafetensors(bytes, 'bad.safetensors')).toThrow(
    /^bad\.safetensors: not a safetensors file, or damaged/,
  );
});

/** Learns nothing: its loss is the sum of the batch's rows, weighted. */
class Recorder implements Runner {
  readonly description = 'none';
  readonly bytes = 0;
  readonly written = new Map<string, Float32Array>();
  readonly uniforms: Record<string, number>[] = [];
  readonly program: Program;
  #uniforms: Record<string, number> = {};
  #pending = 0;
  mostPending = 0;

  constructor(program: Program) {
    this.program = program;
  }
  write(name: string, values: Values): void {
    this.written.set(name, Float32Array.from(values));
  }
  setUniform(name: string, value: number): void {
    this.#uniforms[name] = value;
  }
  setRandom(seed: bigint, step: number): void {
    Object.assign(this.#uniforms, { seed: Number(seed), step });
  }
  run(entry: string): void {
    if (entry === 'train_step') this.uniforms.push({ ...this.#uniforms });
    this.mostPending = Math.max(this.mostPending, ++this.#pending);
  }
  async read(name: string): Promise<Float32Array<ArrayBuffer>> {
    const prefix = name === 'loss' ? '' : 'eval.';
    const [x, weight] = ['x', 'weight'].map((input) => this.written.get(prefix + input)!) as [
      Float32Array,
      Float32Array,
    ];
    const sum = weight.reduce((s, w, i) => s + w * x[2 * i]!, 0);
    await new Promise((later) => setTimeout(later, 1));
    --this.#pending;
    return new Float32Array([name === 'loss' ? sum / weight.reduce((a, b) => a + b) : sum]);
  }
  async room(): Promise<void> {}
  destroy(): void {}
}

const kPlan: TrainingPlan = {
  title: 'test',
  seed: '5',
  epochs: 3,
  batch: 4,
  evalBatch: 3,
  schedule: kSchedule,
  beta1: 0.9,
  beta2: 0.99,
};
function program(): Program {
  const buffer = (name: string, elements: number, role: 'input' | 'parameter') => ({
    name,
    role,
    type: 'f32' as const,
    dims: [elements],
    elements,
    arenaOffset: -1,
    data: null,
    pack: -1,
    packOffset: 0,
  });
  const buffers = [
    buffer('x', 8, 'input'),
    buffer('weight', 4, 'input'),
    buffer('eval.x', 6, 'input'),
    buffer('eval.weight', 3, 'input'),
    buffer('w', 2, 'parameter'),
  ];
  return { target: 'webgpu', uniforms: [], buffers, packs: [], kernels: [], entries: [] };
}
function data(): Tensors {
  const rows = (n: number) => Float32Array.from({ length: 2 * n }, (_, i) => Math.floor(i / 2) + 1);
  return {
    metadata: { training: JSON.stringify(kPlan) },
    tensors: new Map([
      ['weights/w', { dims: [2], values: new Float32Array([7, 8]) }],
      ['training/x', { dims: [10, 2], values: rows(10) }],
      ['validation/x', { dims: [5, 2], values: rows(5) }],
    ]),
  };
}

test('trains: every example once an epoch, last batches padded, few steps ahead', async () => {
  const runner = new Recorder(program());
  const training = new Training(runner, data());
  expect([...runner.written.get('w')!]).toEqual([7, 8]);
  expect(training.steps).toBe(9);
  const events: TrainingEvent[] = [];
  for await (const event of training.train()) events.push(event);
  const epochs = events.filter((e) => e.kind === 'epoch');
  const mean = 5.5; // of 1 … 10
  expect(epochs.map((e) => e.validation)).toEqual([3, 3, 3, 3]); // of 1 … 5
  expect(epochs.map((e) => e.train)).toEqual([null, expect.closeTo(mean), expect.closeTo(mean), expect.closeTo(mean)]);
  expect(events.filter((e) => e.kind === 'step').map((e) => e.step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(runner.mostPending).toBe(3);
  expect(runner.uniforms[1]).toEqual({ lr: 0.2, bias1: 1 - 0.9 ** 2, bias2: 1 - 0.99 ** 2, seed: 5, step: 2 });
});

test('data that do not belong to the Program', () => {
  const spoiled = (spoil: (d: Tensors) => void) => {
    const d = data();
    spoil(d);
    return () => new Training(new Recorder(program()), d);
  };
  expect(spoiled((d) => d.tensors.delete('weights/w'))).toThrow("lacks the weights 'w'");
  expect(spoiled((d) => d.tensors.delete('training/x'))).toThrow('nothing to train on');
  expect(spoiled((d) => (d.metadata = {}))).toThrow('says nothing about training');
  const tensor = { dims: [10, 3], values: new Float32Array(30) };
  expect(spoiled((d) => d.tensors.set('training/x', tensor))).toThrow("'training/x' does not fit");
  expect(spoiled((d) => d.tensors.set('training/y', tensor))).toThrow("'training/y' does not fit");
});
