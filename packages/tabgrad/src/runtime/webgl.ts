// The runner of Programs on a WebGL2 context: each buffer is a texture, each launch draws a triangle over the texels it computes.
// Everything is made at load; a run only binds and draws.
//
// A Program says which buffers exchange their textures after a run (updated parameters and the old ones), so a launch that touches
// some has a set of textures and a frame for each way in which they lie; those are made when the way first occurs.
// Small outputs are read into a ring of pixel-pack buffers after every run, large ones when they are asked for; both wait for a
// fence, and never for the device.
//
// Invariants: after the second run of each entry nothing is allocated on the GPU but buffers for reads, which are kept.

import { type Buffer, kUniformHeaderWords, type Launch, type Program, uniformWords } from '../program/program.ts';
import { texelCount, textureShape } from '../program/texture.ts';
import { kRunsInFlight, type Runner, RunRing, type RunSlot, Uniforms, type Values } from './runner.ts';
import { kCorners, limitsOf, makeTexture, type WebGlDevice } from './webgl_device.ts';

/** Outputs up to this many texels are brought along by every run, so many of them in all. */
const kSmallOutput = 256;
const kSmallOutputs = 4 * kSmallOutput;
const kStagingKept = 4;
/** Spins of the event loop before a wait takes naps, which last 4 ms in browsers. */
const kSpins = 50;

interface Shader {
  program: WebGLProgram;
  index: WebGLUniformLocation | null;
}
/** A launch with the buffers as they lie now. */
interface Bound {
  textures: WebGLTexture[];
  frame: WebGLFramebuffer;
}
interface Step {
  launch: Launch;
  shader: Shader;
  read: number[]; // buffers
  written: number[];
  /** Does it touch buffers that are exchanged? */
  changes: boolean;
  bound: Map<number, Bound>; // by way; of those that do not change, by 0
}
interface Staging {
  buffer: WebGLBuffer;
  bytes: number;
}
/** One place of the ring: the small outputs of one run. */
interface Slot extends Staging, RunSlot {
  values: Float32Array<ArrayBuffer>;
}

/** Throws Error where the device refuses the Program. */
export async function loadWebGl(program: Program, device: WebGlDevice): Promise<Runner> {
  device.check();
  const runner = new WebGlRunner(program, device);
  try {
    await runner.load();
  } catch (error) {
    runner.destroy();
    device.check();
    throw error;
  }
  return runner;
}

class WebGlRunner implements Runner {
  readonly program: Program;
  readonly description: string;
  bytes = 0;
  readonly #device: WebGlDevice;
  readonly #gl: WebGL2RenderingContext;
  readonly #uniforms: Uniforms;
  readonly #names = new Map<string, number>();
  readonly #textures: WebGLTexture[] = [];
  readonly #lies: number[] = []; // by buffer of the Program: its texture now
  readonly #exchanged: number[]; // buffers
  readonly #ways = new Map<string, number>(); // in which those lie
  #way = 0;
  readonly #programs: WebGLProgram[] = [];
  readonly #entries = new Map<string, { steps: Step[]; swaps: [number, number][]; fresh: boolean }>();
  readonly #frames = new Map<number, WebGLFramebuffer>(); // for reading a texture
  readonly #small = new Map<string, { at: number; elements: number }>(); // at: elements in a slot
  readonly #ring = new RunRing<Slot>();
  readonly runsInFlight = kRunsInFlight;
  readonly #units: (WebGLTexture | null)[] = [];
  #staging: Staging[] = [];
  #uniformBuffer!: WebGLBuffer;
  #destroyed = false;

  constructor(program: Program, device: WebGlDevice) {
    this.program = program;
    this.description = `webgl: ${device.facts.name}`;
    this.#device = device;
    this.#gl = device.gl;
    this.#uniforms = new Uniforms(program.uniforms, uniformWords(program), kUniformHeaderWords);
    this.#exchanged = [...new Set(program.entries.flatMap(({ swaps }) => swaps.flat()))];
  }

  async load(): Promise<void> {
    if (this.program.target !== 'webgl')
      throw new Error(`This Program is for '${this.program.target}', not for WebGL2.`);
    this.#checkLimits();
    const shaders = await this.#makeShaders();
    this.#makeTextures();
    this.#way = this.#wayNow();
    for (const entry of this.program.entries) {
      const steps = entry.launches.map((launch) => this.#makeStep(launch, shaders[launch.kernel]!));
      this.#entries.set(entry.name, { steps, swaps: entry.swaps, fresh: true });
    }
    this.#makeRing();
    this.#device.checkCalls('while loading');
  }

  write(name: string, values: Values): void {
    this.#device.check();
    const index = this.#index(name);
    const buffer = this.program.buffers[index]!;
    if (values.length !== buffer.elements) {
      throw new Error(`[write] '${name}' has ${buffer.elements} elements, not ${values.length}.`);
    }
    this.#upload(index, values);
    if (this.#small.has(name)) this.#ring.forget();
  }

  setUniform(name: string, value: number): void {
    this.#uniforms.set(name, value);
  }

  setRandom(seed: bigint, step: number): void {
    this.#uniforms.setRandom(seed, step);
  }

  run(name: string): void {
    this.#device.check();
    const gl = this.#gl;
    const entry = this.#entries.get(name);
    if (!entry) throw new Error(`[run] the Program has no entry point '${name}'.`);
    gl.bindBufferBase(gl.UNIFORM_BUFFER, 0, this.#uniformBuffer);
    if (this.#uniforms.changed) gl.bufferSubData(gl.UNIFORM_BUFFER, 0, this.#uniforms.words);
    this.#uniforms.changed = false;
    this.#units.length = 0; // others may use the context between runs
    let used: Shader | null = null;
    for (const step of entry.steps) {
      if (step.shader !== used) gl.useProgram(step.shader.program);
      used = step.shader;
      this.#draw(step);
    }
    for (const [a, b] of entry.swaps) {
      const kept = this.#lies[a]!;
      this.#lies[a] = this.#lies[b]!;
      this.#lies[b] = kept;
    }
    if (entry.swaps.length > 0) this.#way = this.#wayNow();
    if (entry.fresh) this.#device.checkCalls(`in the first run of '${name}'`);
    entry.fresh = false;
    const slot = this.#ring.take();
    this.#ring.follow(slot ? this.#bring(slot) : this.#passed());
  }

  async room(): Promise<void> {
    await this.#ring.room();
    this.#device.check();
  }

  async read(name: string, runsAgo = 0): Promise<Float32Array<ArrayBuffer>> {
    this.#device.check();
    const slot = this.#ring.of(runsAgo);
    const small = slot && this.#small.get(name);
    if (!small && runsAgo > 0) throw new Error(`[read] '${name}' of ${runsAgo} runs ago was not kept.`);
    if (!slot || !small) return this.#copyOut(this.#index(name));
    await slot.done;
    this.#device.check();
    return slot.values.slice(small.at, small.at + small.elements);
  }

  destroy(): void {
    this.#destroyed = true;
    const gl = this.#gl;
    for (const t of this.#textures) gl.deleteTexture(t);
    for (const p of this.#programs) gl.deleteProgram(p);
    for (const { steps } of this.#entries.values())
      for (const step of steps) for (const { frame } of step.bound.values()) gl.deleteFramebuffer(frame);
    for (const frame of this.#frames.values()) gl.deleteFramebuffer(frame);
    for (const { buffer } of [...this.#ring.slots, ...this.#staging]) gl.deleteBuffer(buffer);
    if (this.#uniformBuffer) gl.deleteBuffer(this.#uniformBuffer);
    this.bytes = 0;
  }

  // ---- loading ----------------------------------------------------------------------------------------------------------

  #checkLimits(): void {
    const { textureUnits: reads, drawBuffers: draws, textureSize: side } = limitsOf(this.#gl);
    for (const { name, args } of this.program.kernels) {
      const written = args.filter((a) => a.written).length;
      if (written > draws || args.length - written > reads) {
        throw new Error(
          `[webgl] ${this.#device.facts.name} reads ${reads} textures at once and draws into ${draws}; ` +
            `'${name}' reads ${args.length - written} and draws into ${written}.`,
        );
      }
    }
    for (const { name, elements } of this.program.buffers) {
      const { width } = textureShape(elements);
      if (width <= side) continue;
      throw new Error(
        `[webgl] ${this.#device.facts.name} has textures of up to ${side} × ${side}, and '${name}' needs ${width} in width: ` +
          'lower the batch, the window or the model’s size.',
      );
    }
  }

  /** All at once: making one takes milliseconds, and drivers that can do so make several at a time. */
  async #makeShaders(): Promise<Shader[]> {
    const gl = this.#gl;
    const compiled = (type: number, text: string) => {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      return shader;
    };
    const corners = compiled(gl.VERTEX_SHADER, kCorners);
    const made = this.program.kernels.map(({ text }) => {
      const fragment = compiled(gl.FRAGMENT_SHADER, text);
      const program = gl.createProgram();
      gl.attachShader(program, corners);
      gl.attachShader(program, fragment);
      gl.linkProgram(program);
      this.#programs.push(program);
      return { program, fragment };
    });
    const status = this.#device.parallelCompile?.COMPLETION_STATUS_KHR;
    for (const { program } of made) {
      while (status !== undefined && !gl.getProgramParameter(program, status) && !gl.isContextLost()) await nap();
    }
    this.#device.check();
    const shaders = made.map(({ program, fragment }, k) => {
      const { name, args, uniforms } = this.program.kernels[k]!;
      if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
        this.#device.check();
        const why = gl.getShaderInfoLog(fragment) || gl.getProgramInfoLog(program) || 'no reason given';
        throw new Error(`[webgl] ${this.#device.facts.name} refuses the shader '${name}': ${why.trim()}`);
      }
      gl.deleteShader(fragment);
      gl.useProgram(program);
      const reads = args.filter((a) => !a.written).length;
      for (let i = 0; i < reads; ++i) gl.uniform1i(gl.getUniformLocation(program, `t${i}`), i);
      if (uniforms) gl.uniformBlockBinding(program, gl.getUniformBlockIndex(program, 'TgUniforms'), 0);
      return { program, index: gl.getUniformLocation(program, 'tg_index') };
    });
    gl.deleteShader(corners);
    return shaders;
  }

  #makeTexture(elements: number): number {
    const { width, height } = textureShape(elements);
    this.bytes += width * height * 16;
    return this.#textures.push(makeTexture(this.#gl, width, height)) - 1;
  }

  #makeTextures(): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0);
    const { buffers } = this.program;
    const packs = this.program.packs.map((elements) => this.#makeTexture(elements));
    for (const [i, b] of buffers.entries()) {
      this.#lies.push(b.pack >= 0 ? packs[b.pack]! : this.#makeTexture(b.elements));
      if (b.role !== 'activation') this.#names.set(b.name, i);
      if (b.data) this.#upload(i, valuesOf(b, b.data));
    }
    this.#uniformBuffer = gl.createBuffer();
    gl.bindBuffer(gl.UNIFORM_BUFFER, this.#uniformBuffer);
    gl.bufferData(gl.UNIFORM_BUFFER, this.#uniforms.words.byteLength, gl.DYNAMIC_DRAW);
    this.bytes += this.#uniforms.words.byteLength;
  }

  #wayNow(): number {
    const key = this.#exchanged.map((buffer) => this.#lies[buffer]).join();
    const known = this.#ways.get(key);
    if (known === undefined) this.#ways.set(key, this.#ways.size);
    return known ?? this.#ways.size - 1;
  }

  #makeStep(launch: Launch, shader: Shader): Step {
    const { args } = this.program.kernels[launch.kernel]!;
    return {
      launch,
      shader,
      read: launch.args.filter((_, a) => !args[a]!.written),
      written: launch.args.filter((_, a) => args[a]!.written),
      changes: launch.args.some((arg) => this.#exchanged.includes(arg)),
      bound: new Map(),
    };
  }

  #makeRing(): void {
    let texels = 0;
    for (const b of this.program.buffers) {
      const { width, height } = textureShape(b.elements);
      if (b.role !== 'output' || width * height > kSmallOutput || texels + width * height > kSmallOutputs) continue;
      this.#small.set(b.name, { at: 4 * texels, elements: b.elements });
      texels += width * height;
    }
    if (texels === 0) return;
    this.#ring.fill(() => {
      const values = new Float32Array(4 * texels);
      return { ...this.#makeStaging(texels * 16), values, done: Promise.resolve(), busy: false };
    });
  }

  #index(name: string): number {
    const index = this.#names.get(name);
    if (index === undefined) throw new Error(`[buffer] the Program has no buffer '${name}'.`);
    return index;
  }

  // ---- running ----------------------------------------------------------------------------------------------------------

  #draw(step: Step): void {
    const gl = this.#gl;
    const way = step.changes ? this.#way : 0;
    let bound = step.bound.get(way);
    if (!bound) step.bound.set(way, (bound = this.#bind(step)));
    for (const [unit, texture] of bound.textures.entries()) {
      if (this.#units[unit] === texture) continue;
      this.#units[unit] = texture;
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, bound.frame);
    const { grid, firstRow, index } = step.launch;
    if (step.shader.index) gl.uniform1i(step.shader.index, index);
    gl.viewport(0, firstRow, grid[0], grid[1]);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  #bind(step: Step): Bound {
    const texturesOf = (buffers: number[]) => buffers.map((b) => this.#textures[this.#lies[b]!]!);
    return { textures: texturesOf(step.read), frame: this.#frame(texturesOf(step.written)) };
  }

  #frame(textures: WebGLTexture[]): WebGLFramebuffer {
    const gl = this.#gl;
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    for (const [i, texture] of textures.entries()) {
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, texture, 0);
    }
    gl.drawBuffers(textures.map((_, i) => gl.COLOR_ATTACHMENT0 + i));
    return frame;
  }

  #upload(index: number, values: Values): void {
    const gl = this.#gl;
    const { type, elements } = this.program.buffers[index]!;
    const { width, height } = textureShape(elements);
    const texels = new Float32Array(width * height * 4);
    // The engine hands over the bits of ids in an array of floats. Beyond 2^24, where ids are rounded, no table has a row
    // (src/codegen/glsl).
    texels.set(type === 'f32' ? values : new Int32Array(values.buffer, values.byteOffset, values.length));
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.#textures[this.#lies[index]!]!);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, gl.FLOAT, texels);
  }

  // ---- reading back -----------------------------------------------------------------------------------------------------

  #makeStaging(bytes: number): Staging {
    const gl = this.#gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, buffer);
    gl.bufferData(gl.PIXEL_PACK_BUFFER, bytes, gl.DYNAMIC_READ);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    this.bytes += bytes;
    return { buffer, bytes };
  }

  /** Enqueues a copy of a buffer's texels into the pixel-pack buffer that is bound. */
  #readTexels(index: number, at: number): void {
    const gl = this.#gl;
    const { width, height } = textureShape(this.program.buffers[index]!.elements);
    const texture = this.#lies[index]!;
    let frame = this.#frames.get(texture);
    if (!frame) this.#frames.set(texture, (frame = this.#frame([this.#textures[texture]!])));
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, at);
  }

  /** Resolves when the slot's values are there. */
  #bring(slot: Slot): Promise<void> {
    const gl = this.#gl;
    slot.busy = true;
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, slot.buffer);
    for (const [name, { at }] of this.#small) this.#readTexels(this.#index(name), 4 * at);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    slot.done = this.#passed().then(() => {
      if (!this.#destroyed) this.#take(slot, slot.values);
      slot.busy = false;
    });
    return slot.done;
  }

  #take(from: Staging, values: Float32Array<ArrayBuffer>): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, from.buffer);
    gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, values);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
  }

  /** Resolves when the device has done all that was asked so far, or is lost. */
  async #passed(): Promise<void> {
    const gl = this.#gl;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (!fence) return;
    for (let waits = 0; ; ++waits) {
      await (waits < kSpins ? turn() : nap());
      if (gl.isContextLost() || gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED) break;
    }
    gl.deleteSync(fence);
  }

  async #copyOut(index: number): Promise<Float32Array<ArrayBuffer>> {
    const gl = this.#gl;
    const { elements } = this.program.buffers[index]!;
    const { width, height } = textureShape(elements);
    const staging = this.#takeStaging(width * height * 16);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, staging.buffer);
    this.#readTexels(index, 0);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    await this.#passed();
    this.#device.check();
    const values = new Float32Array(4 * texelCount(elements));
    if (!this.#destroyed) this.#take(staging, values);
    this.#staging.push(staging);
    while (this.#staging.length > (this.#destroyed ? 0 : kStagingKept)) {
      const { buffer, bytes } = this.#staging.shift()!;
      gl.deleteBuffer(buffer);
      this.bytes -= bytes;
    }
    return values.slice(0, elements);
  }

  #takeStaging(bytes: number): Staging {
    const fits = this.#staging.findIndex((s) => s.bytes >= bytes && s.bytes <= 4 * bytes + 4096);
    if (fits >= 0) return this.#staging.splice(fits, 1)[0]!;
    return this.#makeStaging(bytes);
  }
}

function valuesOf(b: Buffer, data: Uint8Array<ArrayBuffer>): Values {
  return b.type === 'i32' ? new Int32Array(data.buffer) : new Float32Array(data.buffer);
}

/** One turn of the event loop, sooner than a timer's: a fence is only seen to have passed in a later one. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

function nap(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
