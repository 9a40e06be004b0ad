// The safetensors format: tensors of f32 by name, and texts beside them. A file from anywhere gives these or an Error.

export interface Tensor {
  dims: number[];
  values: Float32Array<ArrayBuffer>;
}
export interface Tensors {
  tensors: Map<string, Tensor>;
  metadata: Record<string, string>;
}

/** source: the file's name, for errors. */
export function readSafetensors(bytes: Uint8Array, source: string): Tensors {
  const damaged = (what: string): Error => new Error(`${source}: not a safetensors file, or damaged: ${what}.`);
  if (bytes.length < 8) throw damaged('it ends too early');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = Number(view.getBigUint64(0, true));
  if (!(8 + length <= bytes.length)) throw damaged('its header leads out of the file');
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch {
    throw damaged('its header is no JSON');
  }
  if (header === null || typeof header !== 'object') throw damaged('its header is no list of tensors');
  const { __metadata__: metadata = {}, ...entries } = header as Record<string, unknown>;
  const data = bytes.subarray(8 + length);
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(entries)) {
    const { dtype, shape, data_offsets } = (entry ?? {}) as { dtype?: string; shape?: unknown; data_offsets?: unknown };
    if (dtype !== 'F32') throw damaged(`tensor '${name}' is not of type F32`);
    const [dims, ends] = [shape, data_offsets].map((list) =>
      Array.isArray(list) && list.every((n) => Number.isSafeInteger(n) && n >= 0) ? (list as number[]) : null,
    );
    const [begin, end] = ends ?? [];
    const size = dims?.reduce((n, d) => n * d, 4);
    if (!dims || begin === undefined || end === undefined || end - begin !== size || end > data.length) {
      throw damaged(`tensor '${name}' leads out of the file`);
    }
    tensors.set(name, { dims, values: new Float32Array(Uint8Array.from(data.subarray(begin, end)).buffer) });
  }
  return { tensors, metadata: metadata as Record<string, string> };
}
