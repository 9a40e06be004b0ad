// The worker's end: holds one side and at most one of its jobs, makes weights and batches, runs and times what the page asks for.
import { batchesOf, type Batch, hashOf, kGptOptimizer, kLstmOptimizer, matricesOf, parametersOf } from './jobs.ts';
import type { Job, MatmulShape } from './jobs.ts';
import type { Prepared, SideCalls } from './protocol.ts';
import type { LoadSide, MatmulJob, Side, TrainJob } from './side.ts';

const kSamples = 64; // elements of C that are checked
/**
 * Steps that a side is given at once: every loss comes back to the host, but a GPU need not stand still until it has. What a
 * training loop of the library's users does when it is written well; a sample is the mean of a group.
 */
const kGroup = 8;

export type SideHandlers = { [K in keyof SideCalls]: (args: SideCalls[K][0]) => Promise<SideCalls[K][1]> };

export function sideHandlers(load: LoadSide): SideHandlers {
  let side: Side | null = null;
  let train: TrainJob | null = null;
  let matmul: MatmulJob | null = null;
  let batches: Batch[] = [];
  let steps = 0;

  const take = () => batches[steps++ % batches.length] as Batch;
  const run = async (job: TrainJob, count: number) => {
    const group = Array.from({ length: count }, take);
    return job.steps ? job.steps(group) : Promise.all(group.map((batch) => job.step(batch)));
  };
  const loaded = () => {
    if (!side) throw new Error('nothing is loaded');
    return side;
  };

  return {
    load: async ({ backend }) => {
      const start = performance.now();
      side = await load(backend);
      return { about: side.about, ms: performance.now() - start };
    },

    prepare: async ({ job }) => {
      const parameters = parametersOf(job);
      batches = batchesOf(job);
      steps = 0;
      const start = performance.now();
      const prepared: Prepared = {
        setup: 0,
        first: 0,
        parameters: parameters.reduce((sum, p) => sum + p.data.length, 0),
        flops: null,
        launches: null,
        hashes: {
          parameters: hashOf(parameters.map((p) => p.data)),
          batches: hashOf(batches.flatMap((batch) => Object.values(batch))),
        },
        loss: null,
        error: null,
      };
      if (job.bench === 'matmul') {
        const { a, b } = matricesOf(job.shape);
        matmul = await loaded().matmul(job.shape, a, b);
        prepared.setup = performance.now() - start;
        const c = await matmul.result();
        prepared.first = performance.now() - start - prepared.setup;
        prepared.error = productError(job.shape, a, b, c);
      } else {
        train = await makeTrainJob(loaded(), job, parameters);
        prepared.setup = performance.now() - start;
        prepared.flops = train.flops ?? null;
        prepared.launches = train.launches ?? null;
        prepared.loss = (await run(train, 1))[0]!;
        prepared.first = performance.now() - start - prepared.setup;
      }
      return prepared;
    },

    turn: async ({ count, repeats }) => {
      const ms: number[] = [];
      const losses: number[] = [];
      for (let i = 0; i < count; i += matmul ? 1 : kGroup) {
        const group = matmul ? 1 : Math.min(kGroup, count - i);
        const start = performance.now();
        if (matmul) await matmul.run(repeats);
        else losses.push(...(await run(train as TrainJob, group)));
        const each = (performance.now() - start) / repeats / group;
        ms.push(...Array<number>(group).fill(each));
      }
      return { ms, losses };
    },

    gradients: async ({ exact }) => (await train?.gradients?.(batches[0] as Batch, exact)) ?? null,

    peak: async ({ seconds }) => (await loaded().peak?.(seconds)) ?? null,

    free: async () => {
      await train?.dispose();
      matmul?.dispose();
      train = matmul = null;
      batches = [];
      return null;
    },
  };
}

function makeTrainJob(side: Side, job: Exclude<Job, { bench: 'matmul' }>, parameters: ReturnType<typeof parametersOf>) {
  return job.bench === 'gpt'
    ? side.gpt(job.preset, parameters, kGptOptimizer)
    : side.lstm(job.shape, parameters, kLstmOptimizer);
}

/** Largest |C − A·B| over a sample, in double precision, relative to the sum of the terms' absolute values. */
function productError({ form, m, n, k }: MatmulShape, a: Float32Array, b: Float32Array, c: Float32Array): number {
  if (c.length !== m * n) throw new Error(`C has ${c.length} elements, not ${m * n}`);
  const at = form === 'tn' ? (i: number, p: number) => a[p * m + i]! : (i: number, p: number) => a[i * k + p]!;
  const bt = form === 'nt' ? (p: number, j: number) => b[j * k + p]! : (p: number, j: number) => b[p * n + j]!;
  let worst = 0;
  for (let sample = 0; sample < kSamples; ++sample) {
    const element = (Math.imul(sample + 1, 0x9e3779b1) >>> 0) % (m * n); // spread over rows and columns
    const i = Math.floor(element / n);
    const j = element % n;
    let sum = 0;
    let size = 0;
    for (let p = 0; p < k; ++p) {
      const term = at(i, p) * bt(p, j);
      sum += term;
      size += Math.abs(term);
    }
    const error = Math.abs(c[element]! - sum) / size;
    worst = error > worst || Number.isNaN(error) ? error : worst;
  }
  return worst;
}
