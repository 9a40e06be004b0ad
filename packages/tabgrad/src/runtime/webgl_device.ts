// A WebGL2 context for the runner, and what is known of it. A device whose float textures cannot be drawn into, or do not give back
// what was drawn, is refused with the reason.
//
// Works in a worker (OffscreenCanvas) and in a page.

import { DeviceLost } from './runner.ts';

export interface WebGlFacts {
  /** For people: "ANGLE (NVIDIA, NVIDIA H200 …)". */
  name: string;
  /** No GPU but a program that imitates one: right, and slow. */
  software: boolean;
}

/** What decides how the engine plans Programs. */
export interface WebGlLimits {
  drawBuffers: number;
  textureUnits: number;
  textureSize: number;
}

export function limitsOf(gl: WebGL2RenderingContext): WebGlLimits {
  const get = (name: number) => gl.getParameter(name) as number;
  return {
    drawBuffers: Math.min(get(gl.MAX_DRAW_BUFFERS), get(gl.MAX_COLOR_ATTACHMENTS)),
    textureUnits: get(gl.MAX_TEXTURE_IMAGE_UNITS),
    textureSize: get(gl.MAX_TEXTURE_SIZE),
  };
}

/** Of the device that openWebGl() would open, by a context for the question alone; null: there is none. */
export function webGlLimits(): WebGlLimits | null {
  const gl = contextOn(newCanvas());
  if (!gl) return null;
  const limits = limitsOf(gl);
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return limits;
}

export class WebGlDevice {
  readonly gl: WebGL2RenderingContext;
  readonly facts: WebGlFacts;
  /** Absent on some devices: then shaders compile one after another. */
  readonly parallelCompile: { COMPLETION_STATUS_KHR: number } | null;
  /** Resolves when the context is lost: typed, so that a page can load again on a new one. */
  readonly lost: Promise<DeviceLost>;
  #error: Error | null = null;

  constructor(gl: WebGL2RenderingContext, parallelCompile: { COMPLETION_STATUS_KHR: number } | null) {
    this.gl = gl;
    this.parallelCompile = parallelCompile;
    this.facts = factsOf(gl);
    this.lost = new Promise((resolve) => {
      gl.canvas.addEventListener('webglcontextlost', () => resolve(this.#lose()), { once: true });
    });
  }

  /** Throws the first error of the device, if there was one. */
  check(): void {
    if (this.gl.isContextLost()) this.#lose();
    if (this.#error) throw this.#error;
  }

  report(error: string): void {
    this.#error ??= new Error(`[webgl] ${this.facts.name}: ${error}`);
  }

  /** Throws what GL says of the calls before. Waits for the device: at load, and in an entry's first run. */
  checkCalls(doing: string): void {
    this.check();
    const error = this.gl.getError();
    if (error === this.gl.NO_ERROR) return;
    this.check();
    const word = { [this.gl.OUT_OF_MEMORY]: 'out of memory', [this.gl.INVALID_OPERATION]: 'an invalid operation' }[
      error
    ];
    throw new Error(`[webgl] ${this.facts.name}, ${doing}: ${word ?? `GL error 0x${error.toString(16)}`}.`);
  }

  destroy(): void {
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  #lose(): DeviceLost {
    if (!(this.#error instanceof DeviceLost))
      this.#error = new DeviceLost('the GPU was lost (the WebGL context is gone)');
    return this.#error as DeviceLost;
  }
}

/** Throws Error with the reason when there is none that trains. */
export async function openWebGl(canvas?: OffscreenCanvas | HTMLCanvasElement): Promise<WebGlDevice> {
  const gl = contextOn(canvas ?? newCanvas());
  if (!gl) throw new Error('This browser has no WebGL2.');
  if (!gl.getExtension('EXT_color_buffer_float')) {
    throw new Error(
      'This GPU cannot draw into textures of 32-bit numbers, which training needs (EXT_color_buffer_float).',
    );
  }
  const device = new WebGlDevice(gl, gl.getExtension('KHR_parallel_shader_compile'));
  if (!keepsNumbers(gl)) {
    device.destroy();
    throw new Error('This GPU loses precision in textures of 32-bit numbers, so training on it would go wrong.');
  }
  return device;
}

function contextOn(canvas: OffscreenCanvas | HTMLCanvasElement): WebGL2RenderingContext | null {
  return canvas.getContext('webgl2', {
    alpha: false,
    antialias: false,
    depth: false,
    stencil: false,
    powerPreference: 'high-performance',
  }) as WebGL2RenderingContext | null;
}

function newCanvas(): OffscreenCanvas | HTMLCanvasElement {
  if (typeof OffscreenCanvas !== 'undefined') return new OffscreenCanvas(1, 1);
  if (typeof document !== 'undefined') return document.createElement('canvas');
  throw new Error('This browser has no WebGL2 in workers.');
}

/** Draws numbers that 16 bits would not hold, computed by a shader from a texture, and reads them back. */
function keepsNumbers(gl: WebGL2RenderingContext): boolean {
  // Adam's 1e-8, a number with 24 significant bits, one that a half-float takes for infinity, the largest id.
  const numbers = new Float32Array([1e-8, 1 + 2 ** -23, 1e30, 2 ** 24]);
  const text = (body: string) => `#version 300 es\nprecision highp float;\nprecision highp sampler2D;\n${body}`;
  const program = gl.createProgram();
  for (const [type, body] of [
    [gl.VERTEX_SHADER, kCorners],
    [
      gl.FRAGMENT_SHADER,
      text('uniform sampler2D t0; out vec4 o; void main() { o = texelFetch(t0, ivec2(0), 0) * 0.5 * 2.0; }'),
    ],
  ] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, body);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  const textures = [0, 1].map(() => makeTexture(gl, 1, 1));
  gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 1, 1, gl.RGBA, gl.FLOAT, numbers);
  const frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, textures[0]!, 0);
  const complete = gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE;
  const back = new Float32Array(4);
  if (complete) {
    gl.useProgram(program);
    gl.viewport(0, 0, 1, 1);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, back);
  }
  gl.deleteFramebuffer(frame);
  gl.deleteProgram(program);
  for (const t of textures) gl.deleteTexture(t);
  return complete && back.every((x, i) => x === numbers[i]);
}

/** A triangle that covers all of the viewport. */
export const kCorners = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }`;

/** Zeros, four numbers a texel; stays bound. */
export function makeTexture(gl: WebGL2RenderingContext, width: number, height: number): WebGLTexture {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, width, height);
  for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
  return texture;
}

function factsOf(gl: WebGL2RenderingContext): WebGlFacts {
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? '') || 'a GPU';
  const software = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
  return { name: software ? `${name}, a software adapter, no GPU` : name, software };
}
