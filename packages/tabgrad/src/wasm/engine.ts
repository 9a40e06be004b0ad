// One instance of the compiled engine (bindings/wasm/api.cc), and calls into it.
//
// Does: loads glue and code from given addresses, sends requests, turns replies into values with typed arrays and failures
// into Errors. Does not: know what the calls mean, or run in a page: its threads may wait, which a page's thread must not.

import { makeMemory } from './memory.ts';

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
  readonly #exports: Exports;
  readonly #memory: WebAssembly.Memory;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder();
  #broken = '';

  private constructor(exports: Exports, memory: WebAssembly.Memory) {
    this.#exports = exports;
    this.#memory = memory;
  }

  static async load(source: EngineSource): Promise<Engine> {
    const { default: glue } = (await import(/* @vite-ignore */ source.glue)) as { default: Glue };
    const memory = makeMemory(source.shared);
    const exports = await glue({
      wasmMemory: memory,
      locateFile: () => source.code,
      mainScriptUrlOrBlob: source.glue,
      threads: source.threads,
    });
    const engine = new Engine(exports, memory);
    engine.call('init', { threads: source.threads });
    return engine;
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Throws UserError, or Error for faults of the engine; after a trap it answers nothing more. */
  call(name: string, args: object = {}, data?: Uint8Array): unknown {
    if (this.#broken) throw new Error(this.#broken);
    let status: number;
    try {
      status = this.#send(this.#encoder.encode(JSON.stringify({ call: name, args })), data);
    } catch (error) {
      if (error instanceof UserError) throw error;
      this.#broken = `The engine stopped (${String(error)}). Load this page again; saved runs are kept.`;
      throw new Error(this.#broken);
    }
    const text = this.#decoder.decode(this.#copy(this.#exports._tg_text(), this.#exports._tg_text_bytes()));
    if (status === kOk) return this.#value(text);
    if (status === kUserError) throw new UserError(forPages(text));
    if (status === kOutOfMemory) throw new UserError(kOutOfMemoryText);
    throw new Error(`This is a fault of tabgrad, not yours: ${text}`);
  }

  #send(json: Uint8Array, data?: Uint8Array): number {
    const at = this.#exports._tg_reserve(json.length + (data?.length ?? 0));
    if (at === 0) throw new UserError(kOutOfMemoryText);
    const memory = new Uint8Array(this.#memory.buffer);
    memory.set(json, at >>> 0);
    if (data) memory.set(data, (at >>> 0) + json.length);
    return this.#exports._tg_call(json.length);
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
