// The worker that trains: answers the page's calls (protocol.ts), one after another.
//
// Does: loads the engine, keeps the table's bytes, starts, restores and lets go of runs. Does not: train (runs/training_run.ts),
// store (runs/store.ts), compute, or know language models (lm/language_models.ts).

import { benchHandlers } from './bench/handlers.ts';
import { type ForecastState, Run, type RunSetup } from './forecast/run.ts';
import { chooseDevice, findGpus, gpuFor, type StepCost } from './device.ts';
import { LanguageModels } from './lm/language_models.ts';
import { blobChunks, lockRun, newRunId, RunStore, storeFailure } from './runs/store.ts';
import { zip, type ZipFile } from './runs/zip.ts';
import type {
  CallName,
  Calls,
  DeepPartial,
  Device,
  DeviceChoice,
  DeviceUse,
  Event,
  ForecastSettings,
  Reply,
  Request,
  RunPlan,
  RuntimeInfo,
  TableInfo,
} from './protocol.ts';
import { Engine, UserError } from './wasm/engine.ts';
import { type BuildName, chooseBuild, environment } from './wasm/features.ts';
import { Page } from './wasm/page.ts';
import { startBuild } from './wasm/start.ts';

// Written out, so that bundlers find the files.
const kBuilds: Record<BuildName, { glue: URL; code: URL }> = {
  relaxed: {
    glue: new URL('./engine/relaxed.mjs', import.meta.url),
    code: new URL('./engine/relaxed.wasm', import.meta.url),
  },
  threads: {
    glue: new URL('./engine/threads.mjs', import.meta.url),
    code: new URL('./engine/threads.wasm', import.meta.url),
  },
  single: {
    glue: new URL('./engine/single.mjs', import.meta.url),
    code: new URL('./engine/single.wasm', import.meta.url),
  },
};

/** In the folder of the run, the table's bytes. */
const kDataFile = 'data.csv';
const kTitles = { lstm: 'LSTM', gru: 'GRU', transformer: 'Transformer' } as const;

type Handlers = { [K in CallName]: (args: Calls[K][0]) => Calls[K][1] | Promise<Calls[K][1]> };
/** An engine's file to download. */
interface EngineFile extends ZipFile {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

const post = (event: Event): void => postMessage(event);

let engine: Engine | null = null;
let info: RuntimeInfo | null = null;
let store: RunStore<ForecastState> | null = null;
let autosaveSeconds = 5;
let table: { name: string; data: Blob } | null = null;
let run: Run | null = null;
const languageModels = new LanguageModels({
  engine: loaded,
  post,
  autosaveSeconds: () => autosaveSeconds,
  deviceFor,
});
/** What the test of each way to the GPU said; made before its first run. */
const selfTests = new Map<Device, Promise<string>>();

function loaded(): Engine {
  if (!engine) throw new UserError('The engine is not loaded yet.');
  return engine;
}

async function init(threads: number, wanted?: BuildName): Promise<RuntimeInfo> {
  const started = await startBuild(chooseBuild(threads, environment(), wanted), ({ build, threads }) =>
    Engine.load({
      glue: kBuilds[build].glue.href,
      code: kBuilds[build].code.href,
      threads,
      shared: build !== 'single',
      ...(Page.supported && { page: new Page() }),
      progress: (done, all) => languageModels.progress(done, all),
    }),
  );
  engine = started.engine;
  const { choice } = started;
  store = await RunStore.open<ForecastState>('forecast');
  const fused = choice.build === 'relaxed' ? ' with fused multiply-add' : '';
  return {
    backend: 'wasm',
    threads: choice.threads,
    description: `${choice.threads} ${choice.threads === 1 ? 'thread' : 'threads'}, WebAssembly SIMD${fused}`,
    reason: [choice.reason, store ? '' : 'Runs are not kept: the browser gives this page no storage.']
      .filter(Boolean)
      .join(' '),
    storage: store !== null,
    ...(await findGpus()),
  };
}

/** Where a run will be computed. A GPU whose results are wrong is found out here, and not used: the next way to it is tried. */
async function deviceFor(choice: DeviceChoice, cost: (device: Device) => Promise<StepCost>): Promise<DeviceUse> {
  if (!info) throw new UserError('The engine is not loaded yet.');
  const gpu = gpuFor(choice, info);
  const asked = choice === 'auto' && gpu && !gpu.software;
  const use = chooseDevice(choice, info, asked ? await cost(gpu.device) : null);
  if (use.device === 'wasm') return use;
  let test = selfTests.get(use.device);
  if (!test)
    selfTests.set(use.device, (test = loaded().request('selftest', { device: use.device }) as Promise<string>));
  const problem = await test;
  if (problem === '') return use;
  const gpus = info.gpus.filter(({ device }) => device !== use.device);
  info = { ...info, gpus, gpuReason: `${use.description} is not used: ${problem}.` };
  return deviceFor(choice, cost);
}

async function plan(settings: DeepPartial<ForecastSettings>, device: Device = 'wasm'): Promise<RunPlan> {
  return (await loaded().request('plan', { settings, device })) as RunPlan;
}

/** Reads a file as the current table. Until it is read whole, the table and the run before stay, and the run trains on. */
async function open(name: string, data: Blob): Promise<TableInfo> {
  await loaded().request('open', { name });
  try {
    for await (const chunk of blobChunks(data)) await loaded().request('feed', {}, chunk);
  } catch (error) {
    if (error instanceof DOMException)
      throw new UserError(`${name} cannot be read: it was moved or changed. Choose it again.`);
    throw error;
  }
  run?.checkpoint(); // the engine lets its job go with the old table
  const read = (await loaded().request('close')) as TableInfo;
  table = { name, data };
  const left = run;
  run = null;
  await left?.leave();
  return read;
}

async function leaveRun(): Promise<void> {
  const left = run;
  run = null;
  left?.checkpoint();
  await left?.leave();
}

/** A store that has this run's data, or null with a notice. */
async function keepData(id: string, data: Blob): Promise<RunStore<ForecastState> | null> {
  try {
    await store?.create(id, new Map([[kDataFile, data]]));
    return store;
  } catch (error) {
    post({ event: 'notice', text: `This run cannot be kept over a reload: ${storeFailure(error)}.` });
    return null;
  }
}

function setupOf(id: string, file: string, plan: RunPlan, device: Device): RunSetup {
  const { target, model } = plan.settings;
  return { run: id, file, title: kTitles[model.kind], target, steps: plan.steps, seconds: 0, msPerStep: 0, device };
}

function activeRun(id?: string): Run {
  if (!run || (id !== undefined && run.id !== id))
    throw new UserError('That run is not open: choose it from the saved runs.');
  return run;
}

const handlers: Handlers = {
  ...languageModels.handlers,
  ...benchHandlers(() => {
    if (!info) throw new UserError('The engine is not loaded yet.');
    return { engine: loaded(), info };
  }),
  async init({ threads, autosaveSeconds: seconds, build }) {
    autosaveSeconds = seconds;
    return (info ??= await init(threads, build));
  },
  open: ({ name, file }) => open(name, file),
  defaults: ({ kind }) => loaded().request('defaults', { kind }) as Promise<Calls['defaults'][1]>,
  plan: ({ settings }) => plan(settings),
  async train({ settings, device: choice = 'auto' }) {
    const data = table;
    if (!data) throw new UserError('There is no data yet: open a CSV file first.');
    await plan(settings); // what cannot be trained must not end the run before
    const device = await deviceFor(choice, (on) => plan(settings, on));
    await leaveRun();
    const planned = (await loaded().request('train', { settings, device: device.device })) as RunPlan;
    const id = newRunId();
    const unlock = store ? await lockRun(id) : () => {};
    const kept = await keepData(id, data.data);
    const host = { engine: loaded(), store: kept, autosaveSeconds, unlock };
    run = new Run(host, post, setupOf(id, data.name, planned, device.device));
    run.start();
    return { run: id, plan: planned, device };
  },
  pause: () => (activeRun().pause(), null),
  resume: () => (activeRun().start(), null),
  stop: () => (activeRun().stop(), null),
  runs: () => store?.list() ?? [],
  async restore({ run: id, device: choice = 'auto' }) {
    if (!store) throw new UserError('The browser gives this page no storage, so there are no saved runs.');
    if (run?.id === id) await leaveRun();
    const unlock = await lockRun(id);
    try {
      const saved = await store.load(id);
      const data = saved.files.get(kDataFile);
      if (!data) throw new UserError('The saved run is damaged: its table is missing.');
      await leaveRun();
      const opened = await open(saved.state.file, data);
      const ended = saved.state.state === 'finished';
      // Where it was, unless that is gone or something else is wanted; one that has ended needs no GPU.
      const wanted = ended ? 'wasm' : choice === 'auto' ? (saved.state.device ?? 'wasm') : choice;
      const device = await deviceFor(wanted, () => Promise.reject(new Error('the device is named')));
      const args = { ended, device: device.device };
      const planned = (await loaded().request('restore', args, saved.checkpoint)) as RunPlan;
      const before = { ...saved.state, device: device.device, steps: planned.steps };
      const setup = { ...setupOf(id, saved.state.file, planned, device.device), ...before };
      run = new Run({ engine: loaded(), store, autosaveSeconds, unlock }, post, setup);
      const result = ended ? await run.judge() : null;
      if (!ended) run.start();
      return { run: id, table: opened, plan: planned, device, result };
    } catch (error) {
      unlock();
      throw error;
    }
  },
  async forget({ run: id }) {
    if (run?.id === id) {
      if (!run.ended) throw new UserError('This run is under way: stop it first.');
      await leaveRun();
    }
    const unlock = await lockRun(id);
    try {
      await store?.forget(id);
    } finally {
      unlock();
    }
    return null;
  },
  async download({ run: id, kind }) {
    const of = activeRun(id);
    const { files } = (await loaded().request('download', { kind })) as { files: EngineFile[] };
    const base = of.file.replace(/\.[^.]*$/, '') || 'series';
    const [first, ...more] = files;
    if (!first) throw new Error('The engine gave no file.');
    if (more.length > 0) return { name: `${base}-model.zip`, type: 'application/zip', bytes: zip(files) };
    return { name: `${base}-${first.name}`, type: first.type, bytes: first.bytes };
  },
  async memory() {
    const { used } = (await loaded().request('memory')) as { used: number };
    return { wasmBytes: loaded().memoryBytes, used };
  },
};

async function answer(request: Request): Promise<Reply> {
  const { id, call } = request;
  try {
    const handler = handlers[call] as (args: unknown) => unknown;
    return { id, ok: true, value: await handler(request.args) };
  } catch (error) {
    return { id, ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

let queue: Promise<void> = Promise.resolve();
onmessage = ({ data }: MessageEvent<Request>) => {
  queue = queue.then(async () => postMessage(await answer(data)));
};
