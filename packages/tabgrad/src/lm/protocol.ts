// The messages about language models, beside those of protocol.ts: plain data, typed on both sides.
//
// Losses are mean negative log-likelihoods in nats a token; nats a byte are these divided by the text's bytes a token.

import type { Launches } from '../bench/protocol.ts';
import type { DeepPartial, Device, DeviceChoice, DeviceUse } from '../protocol.ts';

export type LmKind = 'gpt' | 'lstm' | 'gru';
export type PositionKind = 'learned' | 'sinusoidal' | 'rope' | 'alibi' | 'none';
export type NormKind = 'layer_norm' | 'rms_norm';
export type MlpKind = 'gelu' | 'gelu_tanh' | 'swiglu' | 'relu2';
export type OptimizerKind = 'adamw' | 'adam' | 'sgd' | 'lion' | 'muon';

/** As LmSettings of the engine writes itself (src/lm/lm_settings.cc); absent fields take the preset's defaults. */
export interface LmSettings {
  model: {
    /** LSTM and GRU have no use for heads, kv_heads, mlp_width, positions, norm, mlp, norm_eps, qk_norm. */
    kind: LmKind;
    /** The preset that the sizes began with. */
    name: string;
    layers: number;
    /** Of a recurrent layer: its units. */
    width: number;
    heads: number;
    /** 0: as many as heads. */
    kv_heads: number;
    context: number;
    batch: number;
    vocabulary: number;
    /** 0: four times the width. */
    mlp_width: number;
    positions: PositionKind;
    norm: NormKind;
    mlp: MlpKind;
    norm_eps: number;
    tied: boolean;
    qk_norm: boolean;
    dropout: number;
    label_smoothing: number;
  };
  tokenizer: string;
  /** Part of the text, its end. */
  validation: number;
  training: {
    steps: number;
    accumulate: number;
    eval_every: number;
    eval_batches: number;
    schedule: 'constant' | 'linear' | 'cosine' | 'step';
    learning_rate: number;
    warmup: number;
    /** Part of the learning rate at which linear and cosine end. */
    lr_floor: number;
    /** Decimal digits: a seed has 64 bits. */
    seed: string | number;
    optimizer: {
      kind: OptimizerKind;
      beta1: number;
      beta2: number;
      eps: number;
      weight_decay: number;
      momentum: number;
      nesterov: boolean;
    };
  };
  clip: number;
  /** Layers' activations are computed again in the backward pass: less memory, more work. */
  recompute: boolean;
}

export interface LmPreset {
  name: string;
  /** With bytes as tokens. */
  parameters: Record<LmKind, number>;
}

export interface TextInfo {
  files: { name: string; bytes: number }[];
  bytes: number;
}

/** 'byte', 'bpe:4096', 'file' (the tokenizer.json that was opened last), 'model' (the opened model's). */
export type TokenizerChoice = string;

/** The text as the model will see it. */
export interface CorpusInfo {
  tokenizer: TokenizerChoice;
  vocabulary: number;
  bytes: number;
  tokens: number;
  trainingTokens: number;
  validationTokens: number;
  bytesPerToken: number;
  /** What guessers without a model lose on the validation part. */
  baselines: { uniform: number; unigram: number; bigram: number };
}

/** What a run will be, found without training. */
export interface LmPlan {
  settings: LmSettings;
  parameters: number;
  steps: number;
  /** Seen in one step. */
  stepTokens: number;
  flopsPerStep: number;
  launchesPerStep: number;
  /** Equal ones together: what a cost model foretells the time of a step from. */
  launches: Launches;
  peakBytes: number;
  notices: string[];
}

/** Numbers of steps, the first of which is firstStep counted from 0; and of all validations so far. */
export interface LmNumbers {
  firstStep: number;
  losses: Float32Array;
  /** Before clipping. */
  gradNorms: Float32Array;
  learningRates: Float32Array;
  validationStep: number[];
  validationLoss: number[];
  bestStep: number;
}

export interface LmProgress extends LmNumbers {
  run: string;
  state: 'training' | 'paused';
  step: number;
  steps: number;
  /** A validation is under way: steps wait. */
  validating: boolean;
  stepsPerSecond: number;
  secondsLeft: number;
  /** Training so far, over all sessions. */
  seconds: number;
}

export interface LmResult {
  run: string;
  ended: 'epochs' | 'stopped' | 'diverged';
  message: string;
  step: number;
  seconds: number;
  msPerStep: number;
}

/** What a run was, for lists and comparisons. */
export interface LmRunFacts {
  run: string;
  /** Names of the texts. */
  texts: string[];
  settings: LmSettings;
  parameters: number;
  stepTokens: number;
  flopsPerStep: number;
  device: Device;
  corpus: CorpusInfo;
}

/** A run kept in the browser's storage. */
export interface SavedLmRun extends LmRunFacts {
  state: 'unfinished' | 'finished';
  step: number;
  steps: number;
  seconds: number;
  msPerStep: number;
  validationStep: number[];
  validationLoss: number[];
  /** Milliseconds since 1970. */
  savedAt: number;
  bytes: number;
}

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  repetitionPenalty: number;
  /** Decimal digits. */
  seed: string;
}

/** Which weights write: the run's as they stand, or the opened model's. */
export type WeightSource = 'run' | 'model';

export interface WriteRequest {
  source: WeightSource;
  prompt: string;
  sampling: Sampling;
  maxTokens: number;
  stop: string[];
}

export interface Candidate {
  text: string;
  /** The model's own. */
  probability: number;
  /** With temperature and the other options: what it was drawn by. */
  drawn: number;
}

export interface WrittenToken {
  /** What it adds to the text: '' while a character is not whole. */
  text: string;
  /** The token itself; bytes that are no text in hexadecimal. */
  piece: string;
  probability: number;
  /** The likeliest ones that could be drawn, likeliest first. */
  candidates: Candidate[];
}

export interface ModelInfo {
  name: string;
  model: LmSettings['model'];
  parameters: number;
  vocabulary: number;
}

export interface AttentionInfo {
  tokens: string[];
  layers: number;
  heads: number;
  /** (heads, tokens, tokens): row i is what token i looks at. */
  weights: Float32Array;
}

/** name → what the page sends → what it gets. */
export interface LmCalls {
  'lm.presets': [Record<string, never>, LmPreset[]];
  'lm.defaults': [{ kind: LmKind; preset: string; optimizer: OptimizerKind }, LmSettings];
  /** Takes these files as the text. They must be UTF-8. */
  'lm.text': [{ files: { name: string; file: Blob }[] }, TextInfo];
  /** Reads a tokenizer.json, for the choice 'file'. */
  'lm.tokenizerFile': [{ name: string; file: Blob }, { vocabulary: number }];
  /** Puts the text into tokens; preparing events come meanwhile. */
  'lm.prepare': [{ tokenizer: TokenizerChoice; validation: number }, CorpusInfo];
  /** device: for which launches are counted (default wasm). */
  'lm.plan': [{ settings: DeepPartial<LmSettings>; from: boolean; device?: Device }, LmPlan];
  /** from: goes on from the opened model's weights. Replies when the run is set up. */
  'lm.train': [
    { settings: DeepPartial<LmSettings>; from: boolean; device: DeviceChoice; sampleSeconds: number },
    /** initialHash: of the weights before the first step, the same on every target for a seed. */
    { facts: LmRunFacts; plan: LmPlan; device: DeviceUse; initialHash: string },
  ];
  'lm.pause': [Record<string, never>, null];
  'lm.resume': [Record<string, never>, null];
  /** Ends the run with its best weights. */
  'lm.stop': [Record<string, never>, null];
  /** Lets go of the run; what was saved is kept. */
  'lm.close': [Record<string, never>, null];
  'lm.runs': [Record<string, never>, SavedLmRun[]];
  /** Restores a saved run with its text; an unfinished one trains on. */
  'lm.restore': [
    { run: string; device: DeviceChoice; sampleSeconds: number },
    {
      facts: LmRunFacts;
      plan: LmPlan;
      device: DeviceUse;
      text: TextInfo;
      numbers: LmNumbers;
      result: LmResult | null;
    },
  ];
  'lm.forget': [{ run: string }, null];
  /** A ZIP file, or its files; three are needed: config.json, model.safetensors, tokenizer.json. */
  'lm.openModel': [{ name: string; files: { name: string; file: Blob }[] }, ModelInfo];
  'lm.closeModel': [Record<string, never>, null];
  /** Begins to write; written events follow, then writeEnded. Training waits. */
  'lm.write': [{ id: number; request: WriteRequest }, null];
  /** Ends the writing under way. */
  'lm.stopWriting': [Record<string, never>, null];
  'lm.attention': [{ source: WeightSource; text: string; layer: number }, AttentionInfo];
  'lm.download': [{ source: WeightSource }, { name: string; type: string; bytes: Uint8Array<ArrayBuffer> }];
}

export interface WriteEnd {
  why: 'all tokens' | 'end of text' | 'stop text' | 'stopped';
  tokens: number;
  seconds: number;
}

export interface LmSample {
  run: string;
  step: number;
  text: string;
  /** More of it follows. */
  goesOn: boolean;
}

export type LmEvent =
  | { event: 'lm.preparing'; stage: 'reading' | 'learning' | 'encoding'; done: number; all: number }
  | { event: 'lm.progress'; progress: LmProgress }
  | { event: 'lm.ended'; result: LmResult }
  | { event: 'lm.failed'; run: string; error: string }
  | { event: 'lm.saved'; run: string; step: number }
  | { event: 'lm.notice'; text: string }
  | { event: 'lm.written'; id: number; tokens: WrittenToken[] }
  | { event: 'lm.writeEnded'; id: number; end: WriteEnd }
  | { event: 'lm.writeFailed'; id: number; error: string }
  /** What the run in training writes now and then. */
  | { event: 'lm.sample'; sample: LmSample };
