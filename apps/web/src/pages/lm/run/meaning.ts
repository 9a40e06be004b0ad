// What a loss means, in plain sentences: beside guessers that need no training, on the same held-out text.

import type { CorpusInfo } from '../../../engine/types';
import { percent, roundNumber, shortNumber } from '../../../lib/format';

const kNatsPerBit = Math.LN2;

export function natsPerByte(loss: number, corpus: Pick<CorpusInfo, 'bytesPerToken'>): number {
  return loss / corpus.bytesPerToken;
}
export function bitsPerByte(loss: number, corpus: Pick<CorpusInfo, 'bytesPerToken'>): number {
  return natsPerByte(loss, corpus) / kNatsPerBit;
}

/** loss: nats a token, on the validation part. */
export function meaning(loss: number, corpus: CorpusInfo): string {
  const unit = corpus.vocabulary === 256 && corpus.tokenizer === 'byte' ? 'byte' : 'token';
  const { uniform, unigram, bigram } = corpus.baselines;
  const where = corpus.validationTokens > 0 ? 'text it was not trained on' : 'its training text';
  const chance =
    `On ${where} it gives the ${unit} that comes next a probability of ${percent(Math.exp(-loss))} ` +
    `(geometric mean): it is as unsure as between ${roundNumber(Math.exp(loss))} equally likely ones.`;
  const beats: [number, string][] = [
    [bigram, `counting which ${unit} follows which`],
    [unigram, `guessing by how often each ${unit} occurs`],
    [uniform, 'guessing blindly'],
  ];
  const best = beats.find(([baseline]) => loss < baseline);
  if (!best) return `${chance} That is no better than guessing blindly (loss ${shortNumber(uniform)}).`;
  const next = beats[beats.indexOf(best) - 1];
  const but = next ? `, not yet ${next[1]} (${shortNumber(next[0])})` : '';
  return `${chance} That beats ${best[1]} (loss ${shortNumber(best[0])})${but}.`;
}
