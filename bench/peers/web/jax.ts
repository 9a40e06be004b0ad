// @jax-js/jax as its users write it: one jitted train step of pure functions, `.ref` where a value is used again, the batch
// uploaded and the loss awaited once per step. jax-js has no loops under jit, so an LSTM is unrolled in the trace, with the
// input projection of all steps in one product. Its optimizer library is not on npm; the update below is optax's adamw.
import {
  blockUntilReady,
  defaultDevice,
  type Device,
  init,
  jit,
  nn,
  numpy as np,
  tree,
  valueAndGrad,
} from '@jax-js/jax';
import type {
  Batch,
  Floats,
  Form,
  Ints,
  LstmShape,
  MatmulShape,
  Optimizer,
  Parameter,
  Preset,
} from '../../../packages/tabgrad/src/bench/jobs.ts';
import { kVocabulary } from '../../../packages/tabgrad/src/bench/jobs.ts';
import type { MatmulJob, Side, TrainJob } from '../../../packages/tabgrad/src/bench/side.ts';
import { webglDevice, webgpuDevice } from './devices.ts';

declare const JAX_JS_VERSION: string; // set by the build from its package.json: the package does not export it

type Params = { [name: string]: np.Array };
type State = { params: Params; m: Params; v: Params };
/** 1 − β^t for both moments: inputs, since constants would be compiled in. */
type Corrections = { c1: np.Array; c2: np.Array };
type Loss = (params: Params, a: np.Array, b: np.Array) => np.Array;

export async function load(backend: string): Promise<Side> {
  const ready = await init(backend as Device);
  if (!ready.includes(backend as Device)) throw new Error(`jax-js has no ${backend} here`);
  defaultDevice(backend as Device);
  const gpu = backend === 'webgpu' ? await webgpuDevice() : backend === 'webgl' ? webglDevice() : null;
  const shared = typeof SharedArrayBuffer !== 'undefined';
  return {
    about: {
      library: 'jax-js',
      version: JAX_JS_VERSION,
      backend,
      threads: gpu ? 0 : shared ? navigator.hardwareConcurrency : 1,
      device: gpu?.device ?? (shared ? 'WASM SIMD, shared memory' : 'WASM SIMD'),
      software: gpu?.software ?? false,
      notes: ['one jit per train step', 'LSTM unrolled in the trace'],
    },
    gpt: (preset, parameters, optimizer) => trainJob(gptLoss(preset), parameters, optimizer, tokensOf(preset)),
    lstm: (shape, parameters, optimizer) => trainJob(lstmLoss(shape), parameters, optimizer, seriesOf(shape)),
    matmul: matmulJob,
  };
}

// ---- train steps ----------------------------------------------------------------------------------------------------

function trainJob(
  loss: Loss,
  parameters: Parameter[],
  optimizer: Optimizer,
  upload: (batch: Batch) => [np.Array, np.Array],
): TrainJob {
  const params: Params = {};
  for (const p of parameters) params[p.name] = np.array(p.data, { shape: p.dims });
  const zeros = () => tree.map((p: np.Array) => np.zeros(p.shape), params) as Params;
  let state: State = { params, m: zeros(), v: zeros() };
  const decay = new Map(parameters.map((p) => [p.name, p.decay ? optimizer.weightDecay : 0]));
  const { learningRate, beta1, beta2, epsilon, clip } = optimizer;

  const update = jit((s: State, corrections: Corrections, a: np.Array, b: np.Array): [State, np.Array] => {
    const [value, grads] = valueAndGrad(loss)(tree.ref(s.params), a, b) as [np.Array, Params];
    let factor: np.Array | null = null;
    if (clip > 0) {
      const squares = Object.values(grads).map((g) => np.square(g.ref).sum());
      const norm = np.sqrt(squares.reduce((x, y) => x.add(y)));
      factor = np.minimum(np.array(clip).div(norm.add(1e-6)), 1);
    }
    const next: State = { params: {}, m: {}, v: {} };
    for (const [name, p] of Object.entries(s.params)) {
      const g = factor ? grads[name]!.mul(factor.ref) : grads[name]!;
      const m = s.m[name]!.mul(beta1).add(g.ref.mul(1 - beta1));
      const v = s.v[name]!.mul(beta2).add(np.square(g).mul(1 - beta2));
      const denominator = np.sqrt(v.ref.div(corrections.c2.ref)).add(epsilon);
      const move = m.ref.div(corrections.c1.ref).div(denominator).mul(learningRate);
      next.params[name] = p.mul(1 - learningRate * decay.get(name)!).sub(move);
      next.m[name] = m;
      next.v[name] = v;
    }
    factor?.dispose();
    tree.dispose(corrections);
    return [next, value];
  });

  let t = 0;
  return {
    async step(batch) {
      ++t;
      const corrections = { c1: np.array(1 - beta1 ** t), c2: np.array(1 - beta2 ** t) };
      const [next, value] = update(state, corrections, ...upload(batch)) as [State, np.Array];
      state = next;
      return (await value.data())[0] as number;
    },
    dispose() {
      tree.dispose(state);
      update.dispose();
    },
  };
}

const tokensOf =
  ({ batch: b, context }: Preset) =>
  (batch: Batch): [np.Array, np.Array] => {
    if (!('tokens' in batch)) throw new Error('tokens expected');
    const upload = (data: Ints) => np.array(data, { shape: [b, context], dtype: np.int32 });
    return [upload(batch.tokens), upload(batch.targets)];
  };

const seriesOf =
  ({ batch: b, steps, features }: LstmShape) =>
  (batch: Batch): [np.Array, np.Array] => {
    if (!('x' in batch)) throw new Error('series expected');
    const upload = (data: Floats, shape: number[]) => np.array(data, { shape });
    return [upload(batch.x, [b, steps, features]), upload(batch.y, [b, 1])];
  };

function gptLoss({ layers, width: d, heads, context, batch }: Preset): Loss {
  return (p, tokens, targets) => {
    const at = (name: string) => p[name]!.ref;
    const norm = (x: np.Array, name: string) =>
      nn
        .standardize(x)
        .mul(at(`${name}.g`))
        .add(at(`${name}.b`));
    const dense = (x: np.Array, name: string) => np.matmul(x, at(`${name}.w`)).add(at(`${name}.b`));
    let x = np.matmul(nn.oneHot(tokens, kVocabulary), at('tok_emb.w')).add(at('pos_emb.w'));
    for (let layer = 0; layer < layers; ++layer) {
      const h = `h${layer}`;
      const qkv = dense(norm(x.ref, `${h}.ln1`), `${h}.attn.qkv`).reshape([batch, context, 3 * heads, d / heads]);
      const [q, k, v] = np.split(qkv, 3, 2) as [np.Array, np.Array, np.Array];
      const mixed = nn.dotProductAttention(q, k, v, { isCausal: true }).reshape([batch, context, d]);
      x = x.add(dense(mixed, `${h}.attn.proj`));
      const up = nn.gelu(dense(norm(x.ref, `${h}.ln2`), `${h}.mlp.fc`), { approximate: false });
      x = x.add(dense(up, `${h}.mlp.out`));
    }
    const logits = np.matmul(norm(x, 'ln_f'), at('tok_emb.w').transpose());
    tree.dispose(p);
    return nn
      .logSoftmax(logits)
      .mul(nn.oneHot(targets, kVocabulary))
      .sum()
      .mul(-1 / (batch * context));
  };
}

function lstmLoss({ units, steps, features, batch }: LstmShape): Loss {
  return (p, x, y) => {
    const inputs = np.matmul(x.transpose([1, 0, 2]).reshape([steps * batch, features]), p.wx!).add(p.b!);
    const rows = np.split(inputs.reshape([steps, batch, 4 * units]), steps, 0);
    let h: np.Array | null = null;
    let c: np.Array | null = null;
    for (const row of rows) {
      const input = row.reshape([batch, 4 * units]);
      const gates = h ? input.add(np.matmul(h, p.wh!.ref)) : input;
      const [i, f, g, o] = np.split(gates, 4, 1) as [np.Array, np.Array, np.Array, np.Array];
      const added: np.Array = nn.sigmoid(i).mul(np.tanh(g));
      const kept: np.Array | null = c ? nn.sigmoid(f).mul(c) : (f.dispose(), null);
      c = kept ? kept.add(added) : added;
      h = nn.sigmoid(o).mul(np.tanh(c.ref));
    }
    c!.dispose();
    p.wh!.dispose();
    return np.square(np.matmul(h!, p['head.w']!).add(p['head.b']!).sub(y)).mean();
  };
}

// ---- products -------------------------------------------------------------------------------------------------------

const kProducts: Record<Form, (a: np.Array, b: np.Array) => np.Array> = {
  nn: (a, b) => np.matmul(a, b),
  nt: (a, b) => np.matmul(a, b.transpose()),
  tn: (a, b) => np.matmul(a.transpose(), b),
};

async function matmulJob({ form, m, n, k }: MatmulShape, a: Floats, b: Floats): Promise<MatmulJob> {
  const left = np.array(a, { shape: form === 'tn' ? [k, m] : [m, k] });
  const right = np.array(b, { shape: form === 'nt' ? [n, k] : [k, n] });
  await blockUntilReady([left, right]);
  const product = jit(kProducts[form]);
  return {
    async run(count) {
      // All are kept until they are there: jax-js does not compute what is let go before.
      const products = Array.from({ length: count }, () => product(left.ref, right.ref));
      await blockUntilReady(products);
      tree.dispose(products);
    },
    result: async () => (await product(left.ref, right.ref).data()) as Float32Array,
    dispose() {
      left.dispose();
      right.dispose();
      product.dispose();
    },
  };
}
