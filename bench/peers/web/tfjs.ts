// TensorFlow.js 4.22 as its users write it: an LSTM as a layers model trained with trainOnBatch; a GPT, for which there are no
// layers, as a function under variableGrads inside one tidy, with fused dense products, a kept causal mask and Adam's own
// applyGradients. It has no AdamW and no clipping by global norm: both are the few lines that users add around Adam.
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops';
import * as tf from '@tensorflow/tfjs-core';
import { layers, sequential } from '@tensorflow/tfjs-layers';
import type {
  Batch,
  Floats,
  LstmShape,
  MatmulShape,
  Optimizer,
  Parameter,
  Preset,
} from '../../../packages/tabgrad/src/bench/jobs.ts';
import { kVocabulary } from '../../../packages/tabgrad/src/bench/jobs.ts';
import type { MatmulJob, Side, TrainJob } from '../../../packages/tabgrad/src/bench/side.ts';
import { webglDevice, webgpuDevice } from './devices.ts';

export async function load(backend: string): Promise<Side> {
  tf.enableProdMode();
  let threads = 0;
  let device = '';
  let software = false;
  if (backend === 'wasm') {
    const wasm = await import('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(new URL('./tfjs-wasm/', location.href).href);
    wasm.setThreadsCount(navigator.hardwareConcurrency);
    await start(backend);
    threads = crossOriginIsolated ? wasm.getThreadsCount() : 1;
    device = crossOriginIsolated ? 'WASM SIMD, threaded (XNNPACK)' : 'WASM SIMD (XNNPACK)';
  } else if (backend === 'webgl') {
    ({ device, software } = webglDevice());
    await import('@tensorflow/tfjs-backend-webgl');
    await start(backend);
  } else {
    ({ device, software } = await webgpuDevice());
    await import('@tensorflow/tfjs-backend-webgpu');
    await start(backend);
  }
  return {
    about: {
      library: 'TensorFlow.js',
      version: tf.version_core,
      backend,
      threads,
      device,
      software,
      notes: ['LSTM: layers model, trainOnBatch', 'GPT: variableGrads, Adam.applyGradients in one tidy'],
    },
    gpt: gptJob,
    lstm: lstmJob,
    matmul: matmulJob,
  };
}

async function start(backend: string): Promise<void> {
  if (!(await tf.setBackend(backend))) throw new Error(`TensorFlow.js cannot start its ${backend} backend here`);
  await tf.ready();
}

/** A·Bᵀ. On WASM only plain products go to XNNPACK, ten times as fast as the loop behind matMul's transpose flags. */
function timesTransposed(a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  return tf.getBackend() === 'wasm' ? tf.matMul(a, swapped(b)) : tf.matMul(a, b, false, true);
}
function swapped(x: tf.Tensor): tf.Tensor {
  return tf.transpose(x, x.rank === 4 ? [0, 1, 3, 2] : [1, 0]);
}

const adam = (o: Optimizer) => tf.train.adam(o.learningRate, o.beta1, o.beta2, o.epsilon);

// ---- GPT ------------------------------------------------------------------------------------------------------------

function gptJob(preset: Preset, parameters: Parameter[], optimizer: Optimizer): TrainJob {
  const variables: Record<string, tf.Variable> = {};
  for (const p of parameters) variables[p.name] = tf.variable(tf.tensor(p.data, p.dims), true, p.name);
  const decayed = parameters.filter((p) => p.decay).map((p) => variables[p.name]!);
  const list = Object.values(variables);
  const solver = adam(optimizer);
  const { context } = preset;
  const mask = tf.tidy(() => {
    const future = tf.sub(1, tf.linalg.bandPart(tf.ones([context, context]), -1, 0));
    return tf.reshape(tf.mul(future, -1e9), [1, 1, context, context]);
  });

  const train = (batch: { tokens: Int32Array; targets: Int32Array }) =>
    tf.tidy(() => {
      const tokens = tf.tensor1d(batch.tokens, 'int32');
      const targets = tf.oneHot(tf.tensor1d(batch.targets, 'int32'), kVocabulary);
      const { value, grads } = tf.variableGrads(() => gptLoss(preset, variables, mask, tokens, targets), list);
      const norm = tf.sqrt(tf.addN(Object.values(grads).map((g) => tf.sum(tf.square(g)))));
      const factor = tf.minimum(1, tf.div(optimizer.clip, tf.add(norm, 1e-6)));
      for (const variable of decayed)
        variable.assign(tf.mul(variable, 1 - optimizer.learningRate * optimizer.weightDecay));
      solver.applyGradients(Object.fromEntries(Object.entries(grads).map(([name, g]) => [name, tf.mul(g, factor)])));
      return tf.keep(value);
    });

  return {
    async step(batch) {
      if (!('tokens' in batch)) throw new Error('tokens expected');
      const loss = train(batch);
      const value = (await loss.data())[0]!;
      loss.dispose();
      return value;
    },
    dispose() {
      solver.dispose();
      mask.dispose();
      for (const variable of list) variable.dispose();
    },
  };
}

function gptLoss(
  { layers: depth, width: d, heads, context, batch }: Preset,
  w: Record<string, tf.Variable>,
  mask: tf.Tensor,
  tokens: tf.Tensor1D,
  targets: tf.Tensor,
): tf.Scalar {
  const rows = batch * context;
  const at = (name: string) => w[name] as tf.Variable;
  const norm = (x: tf.Tensor, name: string) => {
    const { mean, variance } = tf.moments(x, -1, true);
    const unit = tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)));
    return tf.add(tf.mul(unit, at(`${name}.g`)), at(`${name}.b`));
  };
  const dense = (x: tf.Tensor, name: string) =>
    tf.fused.matMul({ a: x as tf.Tensor2D, b: at(`${name}.w`) as unknown as tf.Tensor2D, bias: at(`${name}.b`) });
  const gelu = (x: tf.Tensor) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
  const split = (x: tf.Tensor) => tf.transpose(tf.reshape(x, [batch, context, heads, d / heads]), [0, 2, 1, 3]);

  // The gather's gradient needs a kernel that the WASM backend lacks; there a one-hot product does the same.
  const gathers = tf.getKernel('UnsortedSegmentSum', tf.getBackend()) !== undefined;
  const embedded = gathers
    ? tf.gather(at('tok_emb.w'), tokens)
    : tf.matMul(tf.cast(tf.oneHot(tokens, kVocabulary), 'float32'), at('tok_emb.w'));
  let x: tf.Tensor = tf.reshape(tf.add(tf.reshape(embedded, [batch, context, d]), at('pos_emb.w')), [rows, d]);
  for (let layer = 0; layer < depth; ++layer) {
    const h = `h${layer}`;
    const [q, k, v] = tf.split(dense(norm(x, `${h}.ln1`), `${h}.attn.qkv`), 3, 1).map(split) as [
      tf.Tensor,
      tf.Tensor,
      tf.Tensor,
    ];
    const scores = tf.add(tf.mul(timesTransposed(q, k), 1 / Math.sqrt(d / heads)), mask);
    const mixed = tf.matMul(tf.softmax(scores), v);
    x = tf.add(x, dense(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [rows, d]), `${h}.attn.proj`));
    x = tf.add(x, dense(gelu(dense(norm(x, `${h}.ln2`), `${h}.mlp.fc`)), `${h}.mlp.out`));
  }
  const logits = timesTransposed(norm(x, 'ln_f'), at('tok_emb.w'));
  return tf.losses.softmaxCrossEntropy(targets, logits) as tf.Scalar;
}

// ---- LSTM -----------------------------------------------------------------------------------------------------------

function lstmJob(shape: LstmShape, parameters: Parameter[], optimizer: Optimizer): TrainJob {
  const { units, steps, features, batch: rows } = shape;
  const model = sequential({
    layers: [
      // 'sigmoid' because its default is the cheaper, different hardSigmoid.
      layers.lstm({ units, recurrentActivation: 'sigmoid', inputShape: [steps, features] }),
      layers.dense({ units: 1 }),
    ],
  });
  const solver = adam(optimizer);
  model.compile({ optimizer: solver, loss: 'meanSquaredError' });
  const weights = parameters.map((p) => tf.tensor(p.data, p.dims)); // same names, order and gate order as ours
  model.setWeights(weights);
  tf.dispose(weights);
  return {
    async step(batch: Batch) {
      if (!('x' in batch)) throw new Error('series expected');
      const x = tf.tensor3d(batch.x, [rows, steps, features]);
      const y = tf.tensor2d(batch.y, [rows, 1]);
      const loss = (await model.trainOnBatch(x, y)) as number;
      tf.dispose([x, y]);
      return loss;
    },
    dispose() {
      model.dispose();
      solver.dispose();
    },
  };
}

// ---- products -------------------------------------------------------------------------------------------------------

function matmulJob({ form, m, n, k }: MatmulShape, a: Floats, b: Floats): MatmulJob {
  const left = tf.tensor2d(a, form === 'tn' ? [k, m] : [m, k]);
  const right = tf.tensor2d(b, form === 'nt' ? [n, k] : [k, n]);
  const product = () =>
    tf.tidy(() => {
      if (form === 'nt') return timesTransposed(left, right);
      if (form === 'nn') return tf.matMul(left, right);
      return tf.getBackend() === 'wasm' ? tf.matMul(swapped(left), right) : tf.matMul(left, right, true);
    });
  return {
    async run(count) {
      let c: tf.Tensor | null = null;
      for (let i = 0; i < count; ++i) {
        c?.dispose();
        c = product();
      }
      await finished(c!);
      c!.dispose();
    },
    async result() {
      const c = product();
      const data = (await c.data()) as Float32Array;
      c.dispose();
      return data;
    },
    dispose() {
      left.dispose();
      right.dispose();
    },
  };
}

/** Waits for a device without copying the product back: one element of it is read, which comes after it in the queue. */
async function finished(c: tf.Tensor): Promise<void> {
  if (tf.getBackend() === 'wasm') return;
  const one = tf.slice(c, [0, 0], [1, 1]);
  await one.data();
  one.dispose();
}
