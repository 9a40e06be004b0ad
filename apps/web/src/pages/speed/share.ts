// A result as a file and as a link that holds it, and results of others: read with care, since they come from anywhere.
//
// Does not: trust a word of it. What is no curve is refused; all text is shown as text.

import { type Curve, type CurveRow, type CurveTarget, kCurveSchema } from 'tabgrad/bench';

/** Of what a file or link may hold, unpacked. */
const kMostBytes = 20_000_000;
const kMostRows = 500;

type Loose = Record<string, unknown>;
const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : '');
const positive = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
const amount = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0;
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, kMostRows) : []);
const numbers = (value: unknown): number[] => list(value).filter((v): v is number => typeof v === 'number');

function targetFrom(value: unknown): CurveTarget | null {
  if (!isObject(value) || text(value.id) === '') return null;
  const about = isObject(value.about) ? value.about : null;
  const cost = isObject(value.cost) ? value.cost : null;
  return {
    id: text(value.id),
    about: about && {
      library: text(about.library),
      version: text(about.version),
      backend: text(about.backend),
      threads: amount(about.threads),
      device: text(about.device),
      software: about.software !== false, // what does not say that it is a GPU is none
      notes: list(about.notes).map(text),
    },
    error: text(value.error),
    peak_gflops: positive(value.peak_gflops),
    peak_gbytes_per_s: positive(value.peak_gbytes_per_s),
    cost: cost && {
      overhead_us: amount(cost.overhead_us),
      gflops: amount(cost.gflops),
      gbytes_per_s: amount(cost.gbytes_per_s),
      half_mflop: amount(cost.half_mflop),
      rows: list(cost.rows)
        .filter(isObject)
        .map((row) => ({
          preset: text(row.preset),
          ms: amount(row.ms),
          predicted_ms: amount(row.predicted_ms),
          left_out_ms: positive(row.left_out_ms),
        })),
    },
  };
}

function rowFrom(value: unknown): CurveRow | null {
  if (!isObject(value)) return null;
  const ms = isObject(value.ms) ? value.ms : {};
  const median = positive(ms.median);
  const speedup = isObject(value.speedup) ? value.speedup : {};
  const ratio = positive(speedup.ratio);
  const parity = isObject(value.parity) ? value.parity : {};
  const gradient = typeof parity.gradient_error === 'number' ? parity.gradient_error : null;
  return {
    preset: text(value.preset),
    target: text(value.target),
    parameters: amount(value.parameters),
    flops: amount(value.flops),
    tokens: amount(value.tokens),
    launches: [],
    setup_ms: amount(value.setup_ms),
    first_ms: amount(value.first_ms),
    ms: median === null ? null : { median, p10: amount(ms.p10), p90: amount(ms.p90), n: amount(ms.n) },
    samples_ms: numbers(value.samples_ms),
    tokens_per_s: amount(value.tokens_per_s),
    gflops: amount(value.gflops),
    of_peak: positive(value.of_peak),
    speedup:
      ratio === null ? null : { ratio, low: positive(speedup.low) ?? ratio, high: positive(speedup.high) ?? ratio },
    parity: {
      gradient_error: gradient,
      gradient_reference: text(parity.gradient_reference),
      loss_steps: amount(parity.loss_steps),
      loss_largest: amount(parity.loss_largest),
      loss_mean: amount(parity.loss_mean),
    },
    parity_failed: value.parity_failed !== false,
    parameters_hash: text(value.parameters_hash),
    batches_hash: text(value.batches_hash),
    losses: numbers(value.losses),
    error: text(value.error),
  };
}

/** Throws Error whose text is meant for people; `source` names the file or link. */
export function curveFrom(json: string, source: string): Curve {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error(`${source} is no result: it is not JSON.`);
  }
  if (!isObject(value) || value.schema !== kCurveSchema) {
    const schema = isObject(value) ? text(value.schema) : '';
    throw new Error(
      `${source} is no speed result of this version (${kCurveSchema})${schema ? `, but ${schema}` : ''}. ` +
        'Results come from this page, npm run bench:curve and tabgrad bench curve.',
    );
  }
  const targets = list(value.targets)
    .map(targetFrom)
    .filter((target) => target !== null);
  const known = new Set(targets.map(({ id }) => id));
  const rows = list(value.rows)
    .map(rowFrom)
    .filter((row) => row !== null && known.has(row.target)) as CurveRow[];
  if (rows.length === 0) throw new Error(`${source} has no rows.`);
  const gpu = value.gpu === 'none' || value.gpu === 'hardware' ? value.gpu : 'software';
  return {
    schema: kCurveSchema,
    date: text(value.date),
    runtime: text(value.runtime),
    cpu: text(value.cpu),
    cores: amount(value.cores),
    isolated: typeof value.isolated === 'boolean' ? value.isolated : null,
    timer_resolution_ms: amount(value.timer_resolution_ms),
    gpu,
    power: text(value.power),
    load: null,
    outside: null,
    step: text(value.step),
    baseline: text(value.baseline),
    targets,
    rows,
  };
}

/** What a link can hold: all but single steps, losses and launches. */
function short(curve: Curve): Curve {
  // So many that what is shown, with three of them at most, is nearly always the same.
  const digits = (value: number) => Number(value.toPrecision(6));
  const rounded = JSON.parse(
    JSON.stringify(curve, (_, v: unknown) => (typeof v === 'number' ? digits(v) : v)),
  ) as Curve;
  return { ...rounded, rows: rounded.rows.map((row) => ({ ...row, samples_ms: [], losses: [], launches: [] })) };
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  transform: GenericTransformStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = (
    new Blob([bytes]).stream().pipeThrough(transform) as ReadableStream<Uint8Array<ArrayBuffer>>
  ).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > kMostBytes) throw new Error('too large');
    parts.push(next.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** For an address: letters, digits, - and _. */
export async function packed(curve: Curve): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(short(curve)));
  const bytes = await through(json, new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export async function unpacked(words: string): Promise<Curve> {
  let json: string;
  try {
    const binary = atob(words.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
    json = new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')));
  } catch {
    throw new Error('The result in this link is damaged or cut short.');
  }
  return curveFrom(json, 'This link');
}

export async function fromFile(file: File): Promise<Curve> {
  if (file.size > kMostBytes) throw new Error(`${file.name} is too large for a result.`);
  return curveFrom(await file.text(), file.name);
}
