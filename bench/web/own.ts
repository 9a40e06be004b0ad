// tabgrad's side of the browser benchmarks, in its worker. Backends: wasm (the build that the package would choose),
// wasm-threads, wasm-relaxed, wasm-single; webgpu, webgl. The engine's modules are served at /engine/BUILD/ (run.ts).
//
// On a GPU the engine's functions suspend while the GPU works, so they are called as promises; on WASM as they are.
import { chooseBuild, environment } from '../../packages/tabgrad/src/wasm/features.ts';
import { makeMemory } from '../../packages/tabgrad/src/wasm/memory.ts';
import { Page } from '../../packages/tabgrad/src/wasm/page.ts';
import type { Batch, Floats, Ints, MatmulShape, Parameter } from './jobs.ts';
import { serveSide } from './serve_side.ts';
import { type LoadSide, type MatmulJob, type TrainJob, webglDevice, webgpuDevice } from './side.ts';

/** 0: done. A promise of it where the engine suspends. */
type Status = number | Promise<number>;

/** bench/web/engine/module.cc */
interface Exports {
  _malloc(bytes: number): number;
  _free(at: number): void;
  _bench_error(): number;
  _bench_init(threads: number, device: number): number;
  _bench_device(): number;
  _bench_gpt(layers: number, width: number, heads: number, context: number, batch: number): Status;
  _bench_lstm(units: number, steps: number, features: number, batch: number): Status;
  _bench_write(name: number, data: number, count: number): number;
  _bench_gradient_error(tokens: number, targets: number, count: number, error: number): Status;
  _bench_flops(): number;
  _bench_steps_gpt(steps: number, tokens: number, targets: number, count: number, losses: number): Status;
  _bench_steps_lstm(steps: number, x: number, xCount: number, y: number, yCount: number, losses: number): Status;
  _bench_unload(): void;
  _bench_matmul(
    m: number,
    n: number,
    k: number,
    transposedA: boolean,
    transposedB: boolean,
    a: number,
    b: number,
    c: number,
    scratch: number,
    scratchFloats: number,
    repeats: number,
  ): number;
}
type Glue = (options: Record<string, unknown>) => Promise<Exports>;

const kSuspending = [
  '_bench_gpt',
  '_bench_lstm',
  '_bench_gradient_error',
  '_bench_steps_gpt',
  '_bench_steps_lstm',
] as const;

/** The same exports, those that suspend as functions that give promises. */
function promising(exports: Exports): Exports {
  // Not in TypeScript's library yet.
  const { promising: wrap } = WebAssembly as unknown as { promising<F>(f: F): F };
  return { ...exports, ...Object.fromEntries(kSuspending.map((name) => [name, wrap(exports[name])])) };
}

class Engine {
  readonly exports: Exports;
  private readonly memory: WebAssembly.Memory;
  constructor(exports: Exports, memory: WebAssembly.Memory) {
    this.exports = exports;
    this.memory = memory;
  }

  alloc(bytes: number): number {
    const at = this.exports._malloc(bytes) >>> 0;
    if (at === 0) throw new Error(`the engine has no memory for ${bytes} bytes`);
    return at;
  }
  copyIn(at: number, data: Floats | Ints): void {
    new Uint8Array(this.memory.buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
  }
  put(data: Floats | Ints): number {
    const at = this.alloc(data.byteLength);
    this.copyIn(at, data);
    return at;
  }
  floats(at: number, count: number): Floats {
    return Float32Array.from(new Float32Array(this.memory.buffer, at, count));
  }
  double(at: number): number {
    return new Float64Array(this.memory.buffer, at, 1)[0]!;
  }
  text(at: number): string {
    const bytes = new Uint8Array(this.memory.buffer);
    return new TextDecoder().decode(bytes.slice(at >>> 0, bytes.indexOf(0, at >>> 0)));
  }
  check(status: number): void {
    if (status !== 0) throw new Error(this.text(this.exports._bench_error()));
  }

  putText(text: string): number {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = this.alloc(bytes.length);
    new Uint8Array(this.memory.buffer).set(bytes, at);
    return at;
  }

  write({ name, data }: Parameter): void {
    const label = this.putText(name);
    const at = this.put(data);
    try {
      this.check(this.exports._bench_write(label, at, data.length));
    } finally {
      this.exports._free(label);
      this.exports._free(at);
    }
  }
}

const load: LoadSide = async (backend) => {
  const gpu = backend === 'webgpu' || backend === 'webgl';
  if (gpu && !Page.supported) throw new Error('this browser cannot wait for a GPU inside WebAssembly');
  const best = chooseBuild(0, environment());
  const build = gpu ? 'single' : backend === 'wasm' ? best.build : backend.slice('wasm-'.length);
  const threads = build === 'single' ? 1 : best.threads;
  const glue = new URL(`./engine/${build}/bench_engine.mjs`, location.href).href;
  const { default: start } = (await import(/* @vite-ignore */ glue)) as { default: Glue };
  const memory = makeMemory(build !== 'single');
  const options = {
    wasmMemory: memory,
    locateFile: () => glue.replace(/mjs$/, 'wasm'),
    mainScriptUrlOrBlob: glue,
    threads,
    page: new Page(),
  };
  const plain = await start(options);
  const exports = gpu ? promising(plain) : plain;
  const engine = new Engine(exports, memory);
  engine.check(exports._bench_init(threads, engine.putText(gpu ? backend : 'cpu')));
  const cpu = { device: `${engine.text(exports._bench_device())} (${build})`, software: false };
  return {
    about: {
      library: 'tabgrad',
      version: '0.1.0',
      backend: gpu ? backend : 'wasm',
      threads: gpu ? 0 : threads,
      ...(backend === 'webgpu' ? await webgpuDevice() : backend === 'webgl' ? webglDevice() : cpu),
      notes: [],
    },
    gpt: async (preset, parameters) => {
      const { layers, width, heads, context, batch } = preset;
      engine.check(await exports._bench_gpt(layers, width, heads, context, batch));
      return trainJob(engine, parameters);
    },
    lstm: async ({ units, steps, features, batch }, parameters) => {
      engine.check(await exports._bench_lstm(units, steps, features, batch));
      return trainJob(engine, parameters);
    },
    matmul: (shape, a, b) => {
      if (gpu) throw new Error('single products are not timed on GPUs yet');
      return matmulJob(engine, shape, a, b);
    },
  };
};

function trainJob(engine: Engine, parameters: Parameter[]): TrainJob {
  for (const p of parameters) engine.write(p);
  const { exports } = engine;
  const error = engine.alloc(8); // a double
  // Room for a group of batches, one after another, and for their losses.
  let room = 0;
  let first = 0;
  let second = 0;
  let losses = 0;
  const place = (group: Batch[]) => {
    const parts = group.map((b) => ('tokens' in b ? ([b.tokens, b.targets] as const) : ([b.x, b.y] as const)));
    const [a, b] = parts[0]!;
    if (group.length > room) {
      for (const at of [first, second, losses]) exports._free(at);
      room = group.length;
      first = engine.alloc(room * a.byteLength);
      second = engine.alloc(room * b.byteLength);
      losses = engine.alloc(room * 4);
    }
    for (const [i, [x, y]] of parts.entries()) {
      engine.copyIn(first + i * a.byteLength, x);
      engine.copyIn(second + i * b.byteLength, y);
    }
    return [a.length, b.length] as const;
  };
  const steps = (group: Batch[]) => {
    const [a, b] = place(group);
    const n = group.length;
    const status =
      'tokens' in group[0]!
        ? exports._bench_steps_gpt(n, first, second, a, losses)
        : exports._bench_steps_lstm(n, first, a, second, b, losses);
    const taken = (code: number) => {
      engine.check(code);
      return [...engine.floats(losses, n)];
    };
    return typeof status === 'number' ? taken(status) : status.then(taken);
  };
  return {
    steps,
    step: async (batch: Batch) => (await steps([batch]))[0]!,
    async gradientError(batch: Batch) {
      const [tokens] = place([batch]);
      engine.check(await exports._bench_gradient_error(first, second, tokens, error));
      return engine.double(error);
    },
    flops: exports._bench_flops(),
    dispose() {
      for (const at of [error, first, second, losses]) exports._free(at);
      exports._bench_unload();
    },
  };
}

function matmulJob(engine: Engine, { form, m, n, k }: MatmulShape, a: Floats, b: Floats): MatmulJob {
  const { exports } = engine;
  const left = engine.put(a);
  const right = engine.put(b);
  const out = engine.alloc(4 * m * n);
  const multiply = (scratch: number, floats: number, repeats: number) =>
    exports._bench_matmul(m, n, k, form === 'tn', form === 'nt', left, right, out, scratch, floats, repeats);
  const floats = multiply(0, 0, 0);
  const scratch = engine.alloc(4 * Math.max(floats, 1));
  return {
    run: (count) => void multiply(scratch, floats, count),
    result() {
      multiply(scratch, floats, 1);
      return engine.floats(out, m * n);
    },
    dispose() {
      for (const at of [left, right, out, scratch]) exports._free(at);
    },
  };
}

serveSide(load);
