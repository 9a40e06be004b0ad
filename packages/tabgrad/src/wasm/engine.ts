// One instance of the compiled engine (bindings/wasm/api.cc), and calls into it.
//
// Does: loads glue and code from given addresses, sends requests, turns replies into values with typed arrays and failures
// into Errors. Does not: know what the calls mean, or run in a page: its threads may wait, which a page's thread must not.

import { makeMemory } from './memory.ts';
import type { Page } from './page.ts';

/** What Emscripten's glue gives (`-sMODULARIZE -sEXPORT_ES6`, cmake/wasm.cmake). */
interface Exports {
  _tg_reserve(bytes: number): number;
  _tg_call(jsonBytes: number): number;
  _tg_text(): number;
  _tg_text_bytes(): number;
  _tg_data(): number;
  _tg_data_bytes(): number;
}
type Glue = (options: Record<string, unknown>) => Promise<Exports>;

export interface EngineSource {
  /** Addresses of the glue (.mjs) and of the code (.wasm). */
  glue: string;
  code: string;
  threads: number;
  /** Whether the build has threads. */
  shared: boolean;
  /** Runs Programs on a GPU; calls that use it must be requests. */
  page?: Page;
  /** Comes within calls that take long. */
  progress?: (done: number, all: number) => void;
}

/** A mistake of the user's: the text says where and what to do. Everything else thrown here is a fault of the engine. */
export class UserError extends Error {}

const kOk = 0;
const kUserError = 1;
const kOutOfMemory = 3;

const kOutOfMemoryText =
  'The browser gave the engine no more memory. Choose a smaller model, a shorter window or a smaller batch.';

type ArrayType = 'f64' | 'f32' | 'u8';
interface ArrayPlace {
  $array: ArrayType;
  at: number;
  length: number;
}

export class Engine {
  readonly page: Page | null;
  readonly #exports: Exports;
  readonly #memory: WebAssembly.Memory;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  /** _tg_call that may be suspended in the middle, for the page's GPU. */
  readonly #suspendable: ((jsonBytes: number) => Promise<number>) | null;
  #queue: Promise<unknown> = Promise.resolve();
  #suspended = false;
  #broken = '';

  private constructor(exports: Exports, memory: WebAssembly.Memory, page: Page | null) {
    this.page = page;
    this.#exports = exports;
    this.#memory = memory;
    this.#suspendable = page ? promising(exports._tg_call) : null;
  }

  static async load(source: EngineSource): Promise<Engine> {
    const { default: glue } = (await import(/* @vite-ignore */ source.glue)) as { default: Glue };
    const memory = makeMemory(source.shared);
    const exports = await glue({
      wasmMemory: memory,
      locateFile: () => source.code,
      mainScriptUrlOrBlob: source.glue,
      threads: source.threads,
      page: source.page,
      progress: source.progress,
    });
    const engine = new Engine(exports, memory, source.page ?? null);
    engine.call('init', { threads: source.threads });
    return engine;
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /**
   * For what a GPU has no part in. Throws UserError, or Error for faults of the engine; after a trap it answers nothing more.
   */
  call(name: string, args: object = {}, data?: Uint8Array): unknown {
    this.#check();
    let status: number;
    try {
      status = this.#exports._tg_call(this.#put(name, args, data));
    } catch (error) {
      throw this.#trapped(error);
    }
    return this.#reply(status);
  }

  /** The same for every call: one after another, and a GPU's work takes turns of the event loop. */
  request(name: string, args: object = {}, data?: Uint8Array): Promise<unknown> {
    const work = async (): Promise<unknown> => {
      // Only what may load a Program there, or has one, needs to be able to wait for the GPU.
      const gpu = this.page?.inUse || ((args as { device?: string }).device ?? 'wasm') !== 'wasm';
      if (!this.#suspendable || !gpu) return this.call(name, args, data);
      this.#check();
      this.#suspended = true;
      let status: number;
      try {
        status = await this.#suspendable(this.#put(name, args, data));
      } catch (error) {
        throw this.#trapped(error);
      } finally {
        this.#suspended = false;
      }
      return this.#reply(status);
    };
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  #check(): void {
    if (this.#broken) throw new Error(this.#broken);
    if (this.#suspended) throw new Error('a call of the engine inside another one');
  }

  #trapped(error: unknown): Error {
    if (error instanceof UserError) return error;
    this.#broken = `The engine stopped (${String(error)}). Load this page again; saved runs are kept.`;
    return new Error(this.#broken);
  }

  /** Returns how many bytes of the request are JSON. */
  #put(name: string, args: object, data?: Uint8Array): number {
    const json = this.#encoder.encode(JSON.stringify({ call: name, args }));
    const at = this.#exports._tg_reserve(json.length + (data?.length ?? 0));
    if (at === 0) throw new UserError(kOutOfMemoryText);
    const memory = new Uint8Array(this.#memory.buffer);
    memory.set(json, at >>> 0);
    if (data) memory.set(data, (at >>> 0) + json.length);
    return json.length;
  }

  #reply(status: number): unknown {
    const text = this.#decoder.decode(this.#copy(this.#exports._tg_text(), this.#exports._tg_text_bytes()));
    if (status === kOk) return this.#value(text);
    if (status === kUserError) throw new UserError(forPages(text));
    if (status === kOutOfMemory) throw new UserError(kOutOfMemoryText);
    throw new Error(`This is a fault of tabgrad, not yours: ${text}`);
  }

  /** Copies, since the memory may be shared or move. */
  #copy(at: number, bytes: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(new Uint8Array(this.#memory.buffer, at >>> 0, bytes));
  }

  #value(text: string): unknown {
    if (!text.includes('"$array"')) return JSON.parse(text);
    const start = this.#exports._tg_data() >>> 0;
    const read = (place: ArrayPlace): Float64Array | Float32Array | Uint8Array => {
      const at = start + place.at;
      const buffer = this.#memory.buffer;
      if (place.$array === 'f64') return Float64Array.from(new Float64Array(buffer, at, place.length));
      if (place.$array === 'f32') return Float32Array.from(new Float32Array(buffer, at, place.length));
      return this.#copy(at, place.length);
    };
    return JSON.parse(text, (_, value: unknown) =>
      value !== null && typeof value === 'object' && '$array' in value ? read(value as ArrayPlace) : value,
    );
  }
}

/** WebAssembly.promising, which TypeScript's list lacks. */
function promising(f: (jsonBytes: number) => number): (jsonBytes: number) => Promise<number> {
  return (WebAssembly as unknown as { promising(g: typeof f): ReturnType<typeof promising> }).promising(f);
}

/** The engine names settings as the command line does: "--window 5". */
function forPages(text: string): string {
  return text
    .replaceAll(/(^|[\s('"])--lr\b/g, '$1learning rate')
    .replaceAll(/(^|[\s('"])--([a-z])/g, '$1$2')
    .replace(
      /^settings: field '(.+?)' is not as expected: (.+?)\. The file is damaged.*$/,
      "Setting '$1' is not possible: $2.",
    );
}
