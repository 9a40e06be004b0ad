// The GPUs that a page gets, as the browser names them: what a peer runs on.

/** The WebGPU adapter that a page gets by default. */
export async function webgpuDevice(): Promise<{ device: string; software: boolean }> {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error('this browser has no WebGPU');
  const { vendor, architecture, device, description } = adapter.info;
  return named([...new Set([vendor, architecture, device, description])].filter(Boolean).join(' '));
}

/** The renderer behind WebGL2, in a page or a worker. */
export function webglDevice(): { device: string; software: boolean } {
  const gl = new OffscreenCanvas(1, 1).getContext('webgl2');
  if (!gl) throw new Error('this browser has no WebGL2');
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return named(name);
}

function named(device: string): { device: string; software: boolean } {
  return { device, software: /swiftshader|llvmpipe|lavapipe|softpipe|warp|basic render/i.test(device) };
}
