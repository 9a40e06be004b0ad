// Tabgrad's side of the benchmarks, in the worker that has its engine: every call goes to the engine's "bench.…"
// (bindings/wasm/bench_calls.cc).
import type { Device, RuntimeInfo } from '../protocol.ts';
import type { Engine } from '../wasm/engine.ts';
import type { Batch, Floats, Ints, LstmShape, MatmulShape, Parameter, Preset } from './jobs.ts';
import type { Launches, Peak } from './protocol.ts';
import type { MatmulJob, Side, TrainJob } from './side.ts';

const bytesOf = (data: Floats | Ints) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

function joined(parts: (Floats | Ints)[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    out.set(bytesOf(part), at);
    at += part.byteLength;
  }
  return out;
}

const inputsOf = (batch: Batch): (Floats | Ints)[] =>
  'tokens' in batch ? [batch.tokens, batch.targets] : [batch.x, batch.y];

/** backend: 'wasm', 'webgpu', 'webgl'. Throws Error where this browser does not have it. */
export function ownSide(engine: Engine, info: RuntimeInfo, version: string, backend: string): Side {
  const gpu = info.gpus.find(({ device }) => device === backend);
  if (backend !== 'wasm' && !gpu) throw new Error(info.gpuReason || `this browser has no ${backend}`);
  const device = backend as Device;

  async function trainJob(job: object, parameters: Parameter[]): Promise<TrainJob> {
    const { flops, launches } = (await engine.request('bench.load', { ...job, device })) as {
      flops: number;
      launches: Launches;
    };
    for (const { name, data } of parameters) await engine.request('bench.write', { name }, bytesOf(data));
    const steps = async (group: Batch[]) => {
      const data = joined(group.flatMap(inputsOf));
      const { losses } = (await engine.request('bench.steps', { count: group.length }, data)) as {
        losses: Float32Array;
      };
      return [...losses];
    };
    return {
      steps,
      step: async (batch) => (await steps([batch]))[0]!,
      flops,
      launches,
      async gradients(batch, exact) {
        const reply = await engine.request('bench.gradients', { exact, device }, joined(inputsOf(batch)));
        const { sizes, values } = reply as { sizes: number[]; values: Float64Array };
        let at = 0;
        return sizes.map((size) => values.slice(at, (at += size)));
      },
      dispose: async () => void (await engine.request('bench.free')),
    };
  }

  return {
    about: {
      library: 'tabgrad',
      version,
      backend,
      threads: gpu ? 0 : info.threads,
      device: gpu ? gpu.name : info.description,
      software: gpu?.software ?? false,
      notes: [],
    },
    gpt: (preset: Preset, parameters) => trainJob({ kind: 'gpt', ...preset }, parameters),
    lstm: (shape: LstmShape, parameters) => trainJob({ kind: 'lstm', ...shape }, parameters),
    async matmul(shape: MatmulShape, a, b): Promise<MatmulJob> {
      if (gpu) throw new Error('single products are not timed on GPUs yet');
      await engine.request('bench.product', { ...shape, repeats: 0 }, joined([a, b]));
      return {
        run: async (repeats) => void (await engine.request('bench.product', { repeats })),
        async result() {
          const { c } = (await engine.request('bench.product', { repeats: 1, result: true })) as { c: Float32Array };
          return c;
        },
        dispose: () => void engine.request('bench.free'),
      };
    },
    peak: async (seconds) => (await engine.request('bench.peak', { device, seconds })) as Peak,
  };
}
