// What a launch costs through this browser's WebGPU (BENCHMARKS §3), by four methods, split by stage; the fifth, replay, is the
// engine's (bench.replay). The native twin is src/cli/bench/dispatch.cc; rows are of the same form.
//
// The kernel adds 1 to 256 numbers, so that the time is the launch's. Pipeline, buffers and bind groups are made before. Checks that
// every dispatch took place.
import { openDevice } from '../runtime/webgpu_device.ts';
import type { DispatchRow } from './protocol.ts';
import { quantile } from './stats.ts';

const kElements = 256;
const kWorkgroup = 64;
const kDispatches = 100;
const kPassDispatches = 1000;
const kWarmUps = { single: 10, rounds: 5 };
const kKernel = `
@group(0) @binding(0) var<storage, read_write> data : array<f32>;
@compute @workgroup_size(${kWorkgroup}) fn main(@builtin(global_invocation_id) id : vec3<u32>) { data[id.x] = data[id.x] + 1.0; }
`;

type Stages = Record<string, number>;

export async function timeDispatches(repeats: number, rounds: number): Promise<DispatchRow[]> {
  const device = await openDevice();
  try {
    const bench = new Dispatches(device.gpu);
    // An idle card clocks low: the first round of everything only warms it up.
    await bench.all(Math.ceil(repeats / 5), Math.ceil(rounds / 5));
    const rows = await bench.all(repeats, rounds);
    device.check();
    const counted = await bench.counted();
    if (counted !== bench.expected) throw new Error(`the kernel ran ${counted} times instead of ${bench.expected}`);
    return rows;
  } finally {
    device.destroy();
  }
}

class Dispatches {
  readonly #gpu: GPUDevice;
  readonly #pipeline: GPUComputePipeline;
  readonly #buffers: GPUBuffer[] = [];
  readonly #groups: GPUBindGroup[] = [];
  /** Of the method that runs; null while it warms up. */
  #stages: Stages | null = null;
  /** How often the kernel must have run on the first buffer. */
  expected = 0;

  constructor(gpu: GPUDevice) {
    this.#gpu = gpu;
    const module = gpu.createShaderModule({ code: kKernel });
    this.#pipeline = gpu.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const layout = this.#pipeline.getBindGroupLayout(0);
    for (let i = 0; i < kPassDispatches; ++i) {
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
      const buffer = gpu.createBuffer({ size: 4 * kElements, usage });
      this.#buffers.push(buffer);
      this.#groups.push(gpu.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
    }
  }

  async all(repeats: number, rounds: number): Promise<DispatchRow[]> {
    const single = (): void => {
      const encoder = this.#begin();
      this.#pass(encoder, 1, false);
      this.#submit(encoder);
    };
    const times = (count: number, what: () => void) => () => {
      for (let i = 0; i < count; ++i) what();
    };
    const inOne = (work: (encoder: GPUCommandEncoder) => void) => () => {
      const encoder = this.#begin();
      work(encoder);
      this.#submit(encoder);
    };
    return [
      await this.#measure('single-op', 1, repeats, kWarmUps.single, single),
      await this.#measure('sequential', kDispatches, rounds, kWarmUps.rounds, times(kDispatches, single)),
      await this.#measure(
        'one command buffer',
        kDispatches,
        rounds,
        kWarmUps.rounds,
        inOne((encoder) => times(kDispatches, () => this.#pass(encoder, 1, false))()),
      ),
      ...(await this.#inOnePass(rounds, inOne)),
    ];
  }

  async #inOnePass(
    rounds: number,
    inOne: (work: (encoder: GPUCommandEncoder) => void) => () => void,
  ): Promise<DispatchRow[]> {
    const rows: DispatchRow[] = [];
    for (const independent of [false, true])
      rows.push(
        await this.#measure(
          `one pass, ${independent ? 'independent' : 'dependent'}`,
          kPassDispatches,
          rounds,
          kWarmUps.rounds,
          inOne((encoder) => this.#pass(encoder, kPassDispatches, independent)),
        ),
      );
    return rows;
  }

  async #measure(method: string, dispatches: number, repeats: number, warmUps: number, round: () => void) {
    const us: number[] = [];
    const stages: Stages = {};
    for (let r = -warmUps; r < repeats; ++r) {
      this.#stages = r >= 0 ? stages : null;
      const start = performance.now();
      round();
      const waiting = performance.now();
      await this.#gpu.queue.onSubmittedWorkDone();
      const end = performance.now();
      if (r < 0) continue;
      stages.wait = (stages.wait ?? 0) + end - waiting;
      us.push((1000 * (end - start)) / dispatches);
    }
    this.#stages = null;
    return rowOf(method, dispatches, us, stages);
  }

  #stage<T>(name: string, work: () => T): T {
    if (!this.#stages) return work();
    const start = performance.now();
    const result = work();
    this.#stages[name] = (this.#stages[name] ?? 0) + performance.now() - start;
    return result;
  }

  #begin(): GPUCommandEncoder {
    return this.#stage('encoder', () => this.#gpu.createCommandEncoder());
  }

  #pass(encoder: GPUCommandEncoder, dispatches: number, independent: boolean): void {
    const pass = this.#stage('begin pass', () => encoder.beginComputePass());
    this.#stage('set pipeline', () => pass.setPipeline(this.#pipeline));
    for (let i = 0; i < dispatches; ++i) {
      const group = this.#groups[independent ? i : 0]!;
      // Timing each of a thousand calls would cost as much as they do.
      if (dispatches === 1) {
        this.#stage('set bind group', () => pass.setBindGroup(0, group));
        this.#stage('dispatch', () => pass.dispatchWorkgroups(kElements / kWorkgroup));
      } else {
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(kElements / kWorkgroup);
      }
    }
    this.expected += independent ? 1 : dispatches;
    this.#stage('end pass', () => pass.end());
  }

  #submit(encoder: GPUCommandEncoder): void {
    const commands = this.#stage('finish', () => encoder.finish());
    this.#stage('submit', () => this.#gpu.queue.submit([commands]));
  }

  /** The first buffer's numbers count its dispatches. */
  async counted(): Promise<number> {
    const size = 4 * kElements;
    const staging = this.#gpu.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.#gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(this.#buffers[0]!, 0, staging, 0, size);
    this.#gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return new Float32Array(staging.getMappedRange())[kElements - 1]!;
  }
}

function rowOf(method: string, dispatches: number, us: number[], stages: Stages): DispatchRow {
  const mean = us.reduce((a, b) => a + b, 0) / us.length;
  const deviation = Math.sqrt(us.reduce((sum, t) => sum + (t - mean) ** 2, 0) / Math.max(1, us.length - 1));
  // 95 % of means of this many repeats lie within 1.96 standard errors.
  const half = (1.96 * deviation) / Math.sqrt(us.length);
  const each = 1000 / (us.length * dispatches);
  return {
    method,
    dispatches,
    n: us.length,
    us_median: quantile(us, 0.5),
    us_mean: mean,
    us_mean_ci95: [mean - half, mean + half],
    us_p10: quantile(us, 0.1),
    us_p90: quantile(us, 0.9),
    cv: deviation / mean,
    stages_us: Object.fromEntries(Object.entries(stages).map(([name, ms]) => [name, ms * each])),
  };
}
