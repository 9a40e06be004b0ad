// The worker's part for language models: answers the calls "lm.…", one after another.
//
// Does: keeps the texts, has them put into tokens, starts, restores and lets go of runs, opens models. Does not: train
// (lm/run.ts), write (lm/writer.ts), store (runs/store.ts) or compute.

import type { StepCost } from '../device.ts';
import type { Device, DeviceChoice, DeviceUse, Event } from '../protocol.ts';
import { lockRun, newRunId, RunStore, storeFailure } from '../runs/store.ts';
import { Turns } from '../runs/turns.ts';
import { zip, type ZipFile } from '../runs/zip.ts';
import { type Engine, UserError } from '../wasm/engine.ts';
import type { CorpusInfo, LmCalls, LmPlan, LmRunFacts, ModelInfo, TextInfo, TokenizerChoice } from './protocol.ts';
import { type LmAdvance, LmRun, type LmRunState, numbersOf } from './run.ts';
import { checkText, chunksOf, type TextFile, titleOf } from './text.ts';
import { unzip } from './unzip.ts';
import { Writer } from './writer.ts';

export type LmHandlers = { [K in keyof LmCalls]: (args: LmCalls[K][0]) => LmCalls[K][1] | Promise<LmCalls[K][1]> };

export interface LmHost {
  /** Throws while it is not loaded. */
  engine(): Engine;
  post(event: Event): void;
  autosaveSeconds(): number;
  deviceFor(choice: DeviceChoice, cost: (device: Device) => Promise<StepCost>): Promise<DeviceUse>;
}

type Settings = LmCalls['lm.plan'][0];

const kModelFiles = ['config.json', 'model.safetensors', 'tokenizer.json'];
const kTokenizerFile = 'tokenizer.json';
const kTextPrefix = 'text-';
const kTokensFile = 'tokens.safetensors';

export class LanguageModels {
  readonly #host: LmHost;
  readonly #turns = new Turns();
  #writer: Writer | null = null;
  #store: Promise<RunStore<LmRunState> | null> | null = null;
  #texts: TextFile[] = [];
  #tokenizerFile: TextFile | null = null;
  /** What the engine's tokenizer was learned from, so that it is not learned twice. */
  #learned: { texts: TextFile[]; tokenizer: TokenizerChoice } | null = null;
  #corpus: CorpusInfo | null = null;
  #modelName = '';
  #run: LmRun | null = null;
  #stage: 'reading' | 'learning' | 'encoding' = 'reading';

  constructor(host: LmHost) {
    this.#host = host;
  }

  /** Of a long call of the engine. */
  progress(done: number, all: number): void {
    this.#host.post({ event: 'lm.preparing', stage: this.#stage, done, all });
  }

  readonly handlers: LmHandlers = {
    'lm.presets': () => this.#ask('lm.presets'),
    'lm.defaults': (args) => this.#ask('lm.defaults', args),
    'lm.text': ({ files }) => this.#takeText(files),
    'lm.tokenizerFile': async ({ name, file }) => {
      const { vocabulary } = await this.#readTokenizer({ name, file });
      this.#tokenizerFile = { name, file };
      return { vocabulary };
    },
    'lm.prepare': ({ tokenizer, validation }) => this.#prepare(tokenizer, validation),
    'lm.plan': ({ device, ...settings }) => this.#plan(settings, device),
    'lm.train': (args) => this.#train(args),
    'lm.pause': () => (this.#active().pause(), null),
    'lm.resume': () => (this.#active().start(), null),
    'lm.stop': () => (this.#active().stop(), null),
    'lm.close': async () => {
      await this.#leave();
      return this.#ask('lm.close');
    },
    'lm.runs': async () => (await this.#opened())?.list() ?? [],
    'lm.restore': (args) => this.#restore(args),
    'lm.forget': ({ run }) => this.#forget(run),
    'lm.openModel': ({ name, files }) => this.#openModel(name, files),
    'lm.closeModel': async () => {
      await this.#quiet();
      return this.#ask('lm.model.close');
    },
    'lm.write': ({ id, request }) => {
      const { post } = this.#host;
      this.#writing()
        .write(request, (tokens) => post({ event: 'lm.written', id, tokens }))
        .then(
          (end) => post({ event: 'lm.writeEnded', id, end }),
          (error: unknown) => post({ event: 'lm.writeFailed', id, error: textOf(error) }),
        );
      return null;
    },
    'lm.stopWriting': () => (this.#writing().stop(), null),
    'lm.attention': (args) => this.#turns.take(() => this.#ask('lm.attention', args)),
    'lm.download': async ({ source }) => {
      const { kind, files } = await this.#ask<{ kind: string; files: ZipFile[] }>('lm.download', { source });
      const base = source === 'model' ? this.#modelName : titleOf(this.#texts);
      return { name: `${stem(base) || 'language-model'}-${kind}.zip`, type: 'application/zip', bytes: zip(files) };
    },
  };

  async #ask<T = null>(name: string, args: object = {}, data?: Uint8Array): Promise<T> {
    return (await this.#host.engine().request(name, args, data)) as T;
  }

  #writing(): Writer {
    return (this.#writer ??= new Writer(this.#host.engine(), this.#turns));
  }

  #opened(): Promise<RunStore<LmRunState> | null> {
    return (this.#store ??= RunStore.open<LmRunState>('lm'));
  }

  #active(): LmRun {
    if (!this.#run) throw new UserError('There is no run.');
    return this.#run;
  }

  /** Nobody is writing any more. */
  async #quiet(): Promise<void> {
    this.#writer?.stop();
    await this.#turns.settled();
  }

  async #leave(): Promise<void> {
    await this.#quiet();
    const left = this.#run;
    this.#run = null;
    left?.checkpoint();
    await left?.leave();
  }

  async #takeText(files: TextFile[]): Promise<TextInfo> {
    if (files.length === 0) throw new UserError('There is no file.');
    for (const file of files) await checkText(file);
    this.#texts = files;
    this.#corpus = null;
    return textInfo(files);
  }

  async #readTokenizer({ name, file }: TextFile): Promise<{ vocabulary: number }> {
    this.#corpus = null;
    this.#learned = null;
    const json = new Uint8Array(await file.arrayBuffer());
    return this.#ask('lm.tokenizer', { kind: 'json', file: name }, json);
  }

  async #feed(call: string, stage: 'reading' | 'encoding', after?: () => Promise<unknown>): Promise<void> {
    this.#stage = stage;
    const all = textInfo(this.#texts).bytes;
    let done = 0;
    for (const text of this.#texts) {
      for await (const chunk of chunksOf(text)) {
        await this.#ask(call, {}, chunk);
        this.progress((done += chunk.length), all);
      }
      await after?.();
    }
  }

  async #prepare(tokenizer: TokenizerChoice, validation: number): Promise<CorpusInfo> {
    if (this.#texts.length === 0) throw new UserError('There is no text yet: open one first.');
    this.#corpus = null;
    if (this.#learned?.texts !== this.#texts || this.#learned.tokenizer !== tokenizer) {
      await this.#useTokenizer(tokenizer);
      this.#learned = { texts: this.#texts, tokenizer };
    }
    return (this.#corpus = await this.#encode(tokenizer, validation));
  }

  async #useTokenizer(tokenizer: TokenizerChoice): Promise<void> {
    this.#learned = null;
    const [kind, size] = tokenizer.split(':');
    if (kind === 'file') {
      if (!this.#tokenizerFile) throw new UserError('There is no tokenizer file: choose a tokenizer.json first.');
      await this.#readTokenizer(this.#tokenizerFile);
    } else if (kind === 'bpe') {
      await this.#ask('lm.learn');
      await this.#feed('lm.learn.feed', 'reading');
      this.#stage = 'learning';
      await this.#ask('lm.learn.end', { vocabulary: Number(size) });
    } else {
      await this.#ask('lm.tokenizer', { kind });
    }
  }

  /** kept: the tokens of an earlier time, if any. */
  async #encode(tokenizer: TokenizerChoice, validation: number, kept?: Blob): Promise<CorpusInfo> {
    if (kept) {
      await this.#ask('lm.read', { onlyCheck: true });
      await this.#feed('lm.read.feed', 'reading', () => this.#ask('lm.read.next'));
      const bytes = new Uint8Array(await kept.arrayBuffer());
      const info = await this.#ask<Omit<CorpusInfo, 'tokenizer'> | null>('lm.read.kept', { validation }, bytes);
      if (info) return { tokenizer, ...info };
    }
    await this.#ask('lm.read');
    await this.#feed('lm.read.feed', 'encoding', () => this.#ask('lm.read.next'));
    return { tokenizer, ...(await this.#ask<Omit<CorpusInfo, 'tokenizer'>>('lm.read.end', { validation })) };
  }

  #prepared(): CorpusInfo {
    if (!this.#corpus) throw new UserError('There is no text yet: open one first.');
    return this.#corpus;
  }

  #plan({ settings, from }: Settings, device: Device = 'wasm'): Promise<LmPlan> {
    this.#prepared();
    return this.#ask('lm.plan', { settings, from, device });
  }

  async #train({
    settings,
    from,
    device: choice,
    sampleSeconds,
  }: LmCalls['lm.train'][0]): Promise<LmCalls['lm.train'][1]> {
    const corpus = this.#prepared();
    const texts = this.#texts;
    await this.#plan({ settings, from }); // what cannot be trained must not end the run before
    const device = await this.#host.deviceFor(choice, (on) => this.#plan({ settings, from }, on));
    await this.#leave();
    // The tokenizer of a file or of a model is kept with the run, as a file.
    const kept = corpus.tokenizer === 'model' ? 'file' : corpus.tokenizer;
    const args = { settings: { ...settings, tokenizer: kept }, from, device: device.device };
    const { initialHash, ...plan } = await this.#ask<LmPlan & { initialHash: string }>('lm.train', args);
    const facts: LmRunFacts = {
      run: newRunId(),
      texts: texts.map(({ name }) => name),
      ...factsOf(plan),
      device: device.device,
      corpus: { ...corpus, tokenizer: kept },
    };
    const store = await this.#opened();
    const unlock = store ? await lockRun(facts.run) : () => {};
    const host = { engine: this.#host.engine(), store: await this.#keep(facts.run, kept, store), unlock };
    this.#begin(facts, host, { seconds: 0, msPerStep: 0 }, sampleSeconds, null).start();
    return { facts, plan, device, initialHash };
  }

  #begin(
    facts: LmRunFacts,
    host: { engine: Engine; store: RunStore<LmRunState> | null; unlock: () => void },
    clock: { seconds: number; msPerStep: number },
    sampleSeconds: number,
    before: LmAdvance | null,
  ): LmRun {
    const parts = { facts, post: this.#host.post, writer: this.#writing(), turns: this.#turns, sampleSeconds, before };
    const runHost = { ...host, autosaveSeconds: this.#host.autosaveSeconds() };
    return (this.#run = new LmRun(runHost, { run: facts.run, device: facts.device, ...clock }, parts));
  }

  /** A store that has this run's text and tokenizer, or null with a notice. */
  async #keep(
    run: string,
    tokenizer: TokenizerChoice,
    store: RunStore<LmRunState> | null,
  ): Promise<RunStore<LmRunState> | null> {
    const file = async (call: string): Promise<Blob> =>
      new Blob([(await this.#ask<{ bytes: Uint8Array<ArrayBuffer> }>(call)).bytes]);
    const files = new Map(this.#texts.map(({ file }, i): [string, Blob] => [`${kTextPrefix}${i}`, file]));
    files.set(kTokenizerFile, await file('lm.tokenizer.json'));
    // Bytes are their own tokens: keeping them would save nothing.
    if (tokenizer !== 'byte') files.set(kTokensFile, await file('lm.tokens'));
    try {
      await store?.create(run, files);
      return store;
    } catch (error) {
      const text = `This run cannot be kept over a reload: ${storeFailure(error)}.`;
      this.#host.post({ event: 'lm.notice', text });
      return null;
    }
  }

  async #restore({
    run: id,
    device: choice,
    sampleSeconds,
  }: LmCalls['lm.restore'][0]): Promise<LmCalls['lm.restore'][1]> {
    const store = await this.#opened();
    if (!store) throw new UserError('The browser gives this page no storage, so there are no saved runs.');
    if (this.#run?.id === id) await this.#leave();
    const unlock = await lockRun(id);
    try {
      const { state, files, checkpoint } = await store.load(id);
      const texts = state.texts.flatMap((name, i) => {
        const file = files.get(`${kTextPrefix}${i}`);
        return file ? [{ name, file }] : [];
      });
      const tokenizer = files.get(kTokenizerFile);
      if (texts.length !== state.texts.length || !tokenizer)
        throw new UserError('The saved run is damaged: its text or its tokenizer is missing.');
      await this.#leave();
      this.#texts = texts;
      if (state.corpus.tokenizer === 'file') this.#tokenizerFile = { name: kTokenizerFile, file: tokenizer };
      await this.#readTokenizer({ name: kTokenizerFile, file: tokenizer });
      this.#learned = { texts, tokenizer: state.corpus.tokenizer };
      const kept = files.get(kTokensFile);
      const corpus = await this.#encode(state.corpus.tokenizer, state.settings.validation, kept);
      this.#corpus = corpus;
      const ended = state.state === 'finished';
      // Where it was, unless that is gone or something else is wanted; one that has ended needs no GPU.
      const wanted = ended ? 'wasm' : choice === 'auto' ? state.device : choice;
      const device = await this.#host.deviceFor(wanted, () => Promise.reject(new Error('the device is named')));
      const plan = await this.#ask<LmPlan>('lm.restore', { ended, device: device.device }, checkpoint);
      const numbers = await this.#ask<LmAdvance>('lm.history');
      const facts: LmRunFacts = { run: id, texts: state.texts, ...factsOf(plan), device: device.device, corpus };
      const host = { engine: this.#host.engine(), store, unlock };
      const run = this.#begin(facts, host, state, sampleSeconds, numbers);
      if (!ended) run.start();
      return { facts, plan, device, text: textInfo(texts), numbers: numbersOf(numbers), result: run.result };
    } catch (error) {
      unlock();
      throw error;
    }
  }

  async #forget(id: string): Promise<null> {
    if (this.#run?.id === id) {
      if (!this.#run.ended) throw new UserError('This run is under way: stop it first.');
      await this.#leave();
    }
    const unlock = await lockRun(id);
    try {
      await (await this.#opened())?.forget(id);
    } finally {
      unlock();
    }
    return null;
  }

  async #openModel(name: string, given: TextFile[]): Promise<ModelInfo> {
    const files: ZipFile[] = [];
    for (const { name: path, file } of given) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if (path.toLowerCase().endsWith('.zip')) files.push(...(await unzip(path, bytes)));
      else files.push({ name: path, bytes });
    }
    await this.#quiet();
    for (const { name: path, bytes } of files) {
      const base = path.slice(path.lastIndexOf('/') + 1);
      if (kModelFiles.includes(base)) await this.#ask('lm.model.file', { name: base }, bytes);
    }
    const info = await this.#ask<ModelInfo>('lm.model.open', { where: name });
    if (this.#learned?.tokenizer === 'model') this.#learned = null;
    this.#modelName = name;
    return info;
  }
}

function factsOf({ settings, parameters, stepTokens, flopsPerStep }: LmPlan) {
  return { settings, parameters, stepTokens, flopsPerStep };
}

function textInfo(texts: TextFile[]): TextInfo {
  const files = texts.map(({ name, file }) => ({ name, bytes: file.size }));
  return { files, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A file's name without its ending. */
function stem(name: string): string {
  return name.replace(/\.[^.]*$/, '');
}
