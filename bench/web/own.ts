// tabgrad's side of the browser benchmarks, in its worker. Backends: wasm (the build that the package would choose),
// wasm-threads, wasm-relaxed, wasm-single. The engine's modules are served at /engine/BUILD/ (run.ts).
import { chooseBuild, environment } from '../../packages/tabgrad/src/wasm/features.ts';
import { makeMemory } from '../../packages/tabgrad/src/wasm/memory.ts';
import type { Batch, Floats, Ints, MatmulShape, Parameter } from './jobs.ts';
import { serveSide } from './serve_side.ts';
import type { LoadSide, MatmulJob, TrainJob } from './side.ts';

/** bench/web/engine/module.cc */
interface Exports {
  _malloc(bytes: number): number;
  _free(at: number): void;
  _bench_error(): number;
  _bench_init(threads: number): number;
  _bench_device(): number;
  _bench_gpt(layers: number, width: number, heads: number, context: number, batch: number): number;
  _bench_lstm(units: number, steps: number, features: number, batch: number): number;
  _bench_write(name: number, data: number, count: number): number;
  _bench_flops(): number;
  _bench_step_gpt(tokens: number, targets: number, count: number, loss: number): number;
  _bench_step_lstm(x: number, xCount: number, y: number, yCount: number, loss: number): number;
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
  text(at: number): string {
    const bytes = new Uint8Array(this.memory.buffer);
    return new TextDecoder().decode(bytes.slice(at >>> 0, bytes.indexOf(0, at >>> 0)));
  }
  check(status: number): void {
    if (status !== 0) throw new Error(this.text(this.exports._bench_error()));
  }

  write({ name, data }: Parameter): void {
    const bytes = new TextEncoder().encode(`${name}\0`);
    const label = this.alloc(bytes.length);
    new Uint8Array(this.memory.buffer).set(bytes, label);
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
  const best = chooseBuild(0, environment());
  const build = backend === 'wasm' ? best.build : backend.slice('wasm-'.length);
  const threads = build === 'single' ? 1 : best.threads;
  const glue = new URL(`/engine/${build}/bench_engine.mjs`, location.href).href;
  const { default: start } = (await import(/* @vite-ignore */ glue)) as { default: Glue };
  const memory = makeMemory(build !== 'single');
  const code = glue.replace(/mjs$/, 'wasm');
  const exports = await start({ wasmMemory: memory, locateFile: () => code, mainScriptUrlOrBlob: glue, threads });
  const engine = new Engine(exports, memory);
  engine.check(exports._bench_init(threads));
  return {
    about: {
      library: 'tabgrad',
      version: '0.1.0',
      backend: 'wasm',
      threads,
      device: `${engine.text(exports._bench_device())} (${build})`,
      software: false,
      notes: [],
    },
    gpt: (preset, parameters) => {
      const { layers, width, heads, context, batch } = preset;
      engine.check(exports._bench_gpt(layers, width, heads, context, batch));
      return trainJob(engine, parameters);
    },
    lstm: ({ units, steps, features, batch }, parameters) => {
      engine.check(exports._bench_lstm(units, steps, features, batch));
      return trainJob(engine, parameters);
    },
    matmul: (shape, a, b) => matmulJob(engine, shape, a, b),
  };
};

function trainJob(engine: Engine, parameters: Parameter[]): TrainJob {
  for (const p of parameters) engine.write(p);
  const { exports } = engine;
  const loss = engine.alloc(4);
  let first = 0;
  let second = 0;
  return {
    step(batch: Batch) {
      const [a, b] = 'tokens' in batch ? [batch.tokens, batch.targets] : [batch.x, batch.y];
      first ||= engine.alloc(a.byteLength);
      second ||= engine.alloc(b.byteLength);
      engine.copyIn(first, a);
      engine.copyIn(second, b);
      engine.check(
        'tokens' in batch
          ? exports._bench_step_gpt(first, second, a.length, loss)
          : exports._bench_step_lstm(first, a.length, second, b.length, loss),
      );
      return engine.floats(loss, 1)[0]!;
    },
    flops: exports._bench_flops(),
    dispose() {
      for (const at of [loss, first, second]) exports._free(at);
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
