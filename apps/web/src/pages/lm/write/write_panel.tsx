// The box in which the model writes: a prompt, how to draw, and the text with each token's probability.

import { useSignal } from '@preact/signals';
import { Alert } from '../../../components/alert';
import { NumberInput, TextInput } from '../../../components/fields';
import { LiveText } from '../../../components/live_text';
import { count, roundNumber, shortNumber } from '../../../lib/format';
import { training } from '../run/run';
import { options, source, stopWriting, write, writeError, type WriteOptions, writing, written } from './write';
import { Piece } from './piece';
import { Tokens } from './tokens';

type Range = { min: number; max?: number; step: number };

/** The numbers by which it draws; those in steps of 1 are whole. */
const kNumbers: [key: keyof WriteOptions, label: string, range: Range, help?: string][] = [
  ['temperature', 'Temperature', { min: 0, max: 100, step: 0.1 }, '0: always the likeliest.'],
  ['topK', 'Top k', { min: 0, step: 1 }, 'Only the k likeliest. 0: all.'],
  ['topP', 'Top p', { min: 0.001, max: 1, step: 0.05 }, 'Only those that have this probability together.'],
  ['repetitionPenalty', 'Repetition penalty', { min: 1, max: 100, step: 0.1 }, '1: none.'],
  ['maxTokens', 'Tokens to write', { min: 1, step: 1 }],
  ['seed', 'Seed', { min: 0, step: 1 }],
];

export function WritePanel() {
  const from = source.value;
  const shown = written.value;
  if (!from) return null;
  const set = (key: keyof WriteOptions) => (value: string) => (options.value = { ...options.peek(), [key]: value });
  const o = options.value;
  return (
    <section class="write" aria-labelledby="write-title">
      <h2 id="write-title">Let it write</h2>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void (writing.peek() ? stopWriting() : write());
        }}
      >
        <label class="prompt">
          <span class="prompt-label">It goes on from</span>
          <textarea
            rows={3}
            value={o.prompt}
            onInput={(e) => set('prompt')(e.currentTarget.value)}
            spellcheck={false}
          />
        </label>
        <details>
          <summary>How it draws</summary>
          <div class="field-grid draw">
            {kNumbers.map(([key, label, range, help]) => (
              <NumberInput
                key={key}
                label={label}
                {...range}
                whole={range.step === 1}
                help={help}
                value={o[key]}
                onChoose={set(key)}
              />
            ))}
            <TextInput label="Stop before" value={o.stop} help="A text; \n is a line’s end." onChoose={set('stop')} />
          </div>
        </details>
        <div class="actions">
          <button type="submit" class={writing.value ? '' : 'primary'}>
            {writing.value ? 'Stop writing' : 'Write'}
          </button>
          {training.value && <p class="note">Training waits while it writes.</p>}
        </div>
      </form>
      {writeError.value && <Alert tone="error">{writeError.value}</Alert>}
      {shown && (
        <>
          <Output />
          <LiveText text={shown.end ? `It has written ${count(shown.tokens.length, 'token')}.` : 'It is writing.'} />
        </>
      )}
    </section>
  );
}

function Output() {
  const shown = written.value!;
  const table = useSignal(false);
  const { end, tokens } = shown;
  const speed = end && end.seconds > 0 ? end.tokens / end.seconds : null;
  return (
    <div class="output">
      <Tokens key={shown.id} written={shown} />
      <p class="note">
        {end ? `Ended: ${kEnds[end.why]}. ${count(tokens.length, 'token')}` : count(tokens.length, 'token')}
        {speed !== null && `, ${shortNumber(Math.round(speed))} a second`}.{' '}
        <button type="button" class="link" onClick={() => (table.value = !table.value)}>
          {table.value ? 'Hide the table' : 'Show all probabilities as a table'}
        </button>
      </p>
      {table.value && (
        <div class="wide token-table" tabIndex={0} role="region" aria-label="Tokens and their probabilities">
          <table>
            <thead>
              <tr>
                <th scope="col" class="text">
                  token
                </th>
                <th scope="col">probability</th>
                <th scope="col" class="text">
                  likeliest
                </th>
              </tr>
            </thead>
            <tbody>
              {tokens.map((token, i) => (
                <tr key={i}>
                  <th scope="row">
                    <Piece text={token.piece} />
                  </th>
                  <td>{roundNumber(100 * token.probability)} %</td>
                  <td class="text">
                    {token.candidates.map((c) => (
                      <span key={c.text} class="candidate">
                        <Piece text={c.text} /> {shortNumber(Number((100 * c.probability).toPrecision(2)))} %
                      </span>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

const kEnds = {
  'all tokens': 'all tokens are written',
  'end of text': 'the model ended the text',
  'stop text': 'the stop text came',
  stopped: 'stopped on request',
};
