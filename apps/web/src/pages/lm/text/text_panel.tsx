// The text and what it is in tokens, or the opened model.

import { Alert } from '../../../components/alert';
import { FileInput } from '../../../components/file_drop';
import { Stats, type Stat } from '../../../components/stats';
import type { CorpusInfo, ModelInfo } from '../../../engine/types';
import { bytes, count, percent, roundNumber } from '../../../lib/format';
import { leaveModel, otherText, saveModel, takeExample, takeFiles } from '../controller';
import { natsPerByte } from '../run/meaning';
import { training } from '../run/run';
import { corpus, prepareError, preparing } from '../settings/plan';
import { kAccept } from './start';
import { kExample, model, type OpenText, opening, text } from './text';

export function TextPanel() {
  const open = text.value;
  return (
    <>
      {model.value && <ModelPanel model={model.value} />}
      {open ? <Opened open={open} /> : <NoText />}
    </>
  );
}

function Opened({ open: { info } }: { open: OpenText }) {
  const found = corpus.value;
  return (
    <section class="data" aria-labelledby="text-title">
      <div class="panel-head">
        <div>
          <h2 id="text-title">{info.files.map(({ name }) => name).join(', ')}</h2>
          <p class="sub">{bytes(info.bytes)}</p>
        </div>
        <button type="button" disabled={training.value} onClick={otherText}>
          Other text
        </button>
      </div>
      {found ? <Stats stats={figures(found)} /> : <Preparing />}
      {found && <p class="note">{guessers(found)}</p>}
      {prepareError.value && <Alert tone="error">{prepareError.value}</Alert>}
    </section>
  );
}

const kStages = { reading: 'Counting words', learning: 'Learning tokens', encoding: 'Putting the text into tokens' };

function Preparing() {
  const now = preparing.value;
  if (!now) return null;
  return (
    <p class="note" role="status">
      {kStages[now.stage]}: {percent(Math.floor(now.part * 100) / 100)}
    </p>
  );
}

function figures(c: CorpusInfo): Stat[] {
  return [
    { name: 'tokens', value: c.tokens.toLocaleString('en-US') },
    { name: 'bytes a token', value: roundNumber(c.bytesPerToken) },
    { name: 'different tokens', value: c.vocabulary.toLocaleString('en-US') },
    { name: 'held out to judge', value: c.validationTokens.toLocaleString('en-US') },
  ];
}

function guessers(c: CorpusInfo): string {
  const { uniform, unigram, bigram } = c.baselines;
  const value = (loss: number) => roundNumber(natsPerByte(loss, c));
  return (
    `What guessers without a model lose there, nats a byte: blindly ${value(uniform)}, by how often each token occurs ` +
    `${value(unigram)}, by the token before ${value(bigram)}.`
  );
}

const kKindTitles = { gpt: 'A GPT', lstm: 'An LSTM', gru: 'A GRU' };

function ModelPanel({ model: { name, model: m, parameters, vocabulary } }: { model: ModelInfo }) {
  return (
    <section class="data" aria-labelledby="model-title">
      <div class="panel-head">
        <div>
          <h2 id="model-title">{name}</h2>
          <p class="sub">
            {kKindTitles[m.kind]} of {count(parameters, 'parameter')}: {count(m.layers, 'layer')},{' '}
            {m.kind === 'gpt' ? `width ${m.width}, ${count(m.heads, 'head')}` : `${m.width} units each`}, context{' '}
            {m.context}, {count(vocabulary, 'token')}
          </p>
        </div>
        <div class="actions">
          <button type="button" onClick={() => void saveModel('model')}>
            Save
          </button>
          <button type="button" disabled={training.value} onClick={() => void leaveModel()}>
            Close
          </button>
        </div>
      </div>
    </section>
  );
}

/** With a model and no text: it can write, and learn more from a text. */
function NoText() {
  const reading = opening.value;
  return (
    <section class="data" aria-labelledby="no-text-title">
      <h2 id="no-text-title">Train it further</h2>
      <p class="note">Give it a text to go on learning from.</p>
      <div class="actions">
        <label class="button">
          <FileInput accept={kAccept} many onFiles={takeFiles} />
          {reading !== null ? `Reading ${reading} …` : 'Choose text files'}
        </label>
        <button type="button" onClick={takeExample} disabled={reading !== null}>
          {kExample.title}
        </button>
      </div>
    </section>
  );
}
