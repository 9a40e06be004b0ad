// Where a layer's heads look: a heat map of attention's weights over a text.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Alert } from '../../../components/alert';
import { SelectField } from '../../../components/fields';
import { chartTheme } from '../../../charts/theme';
import { call, textOf } from '../../../engine/engine';
import type { AttentionInfo } from '../../../engine/types';
import { percent } from '../../../lib/format';
import { run } from '../run/run';
import { model } from '../text/text';
import { Piece } from '../write/piece';
import { source } from '../write/write';

/** More tokens are too small to see. */
const kMostTokens = 64;
const kTop = 4;

interface Shown extends AttentionInfo {
  layer: number;
}

export function AttentionPanel() {
  const text = useSignal('The white whale swam before the ship.');
  const layer = useSignal(0);
  const head = useSignal(0);
  const shown = useSignal<Shown | null>(null);
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);
  const from = source.value;
  const config = from === 'run' ? run.value?.plan.settings.model : model.value?.model;
  useEffect(() => {
    shown.value = null; // of other weights
    layer.value = 0;
    head.value = 0;
  }, [from, run.value?.facts.run, model.value]);
  if (!from || config?.kind !== 'gpt') return null;
  const look = async (at: number) => {
    layer.value = at;
    busy.value = true;
    error.value = null;
    try {
      const info = await call('lm.attention', { source: from, text: text.value, layer: at });
      shown.value = { ...info, layer: at };
      head.value = Math.min(head.value, info.heads - 1);
    } catch (failure) {
      error.value = textOf(failure);
    } finally {
      busy.value = false;
    }
  };
  const numbered = (count: number): [string, string][] =>
    Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
  return (
    <section class="attention" aria-labelledby="attention-title">
      <details>
        <summary>
          <h2 id="attention-title">Where it looks</h2>
        </summary>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void look(layer.value);
          }}
        >
          <label class="prompt">
            <span class="prompt-label">In this text</span>
            <textarea
              rows={2}
              value={text.value}
              onInput={(e) => (text.value = e.currentTarget.value)}
              spellcheck={false}
            />
          </label>
          <div class="look">
            <SelectField
              label="Layer"
              value={String(layer.value)}
              options={numbered(config.layers)}
              onChoose={(value) => void look(Number(value))}
            />
            <SelectField
              label="Head"
              value={String(head.value)}
              options={numbered(shown.value?.heads ?? 1)}
              onChoose={(value) => (head.value = Number(value))}
            />
            <button type="submit" disabled={busy.value}>
              Look
            </button>
          </div>
        </form>
        {error.value && <Alert tone="error">{error.value}</Alert>}
        {shown.value && <HeatMap shown={shown.value} head={head.value} />}
      </details>
    </section>
  );
}

function HeatMap({ shown, head }: { shown: Shown; head: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const row = useSignal<number | null>(null);
  const all = shown.tokens.length;
  const count = Math.min(all, kMostTokens);
  const first = head * all * all;
  const weight = (from: number, to: number) => shown.weights[first + from * all + to] ?? 0;
  const theme = chartTheme.value;
  useEffect(() => {
    const element = canvas.current!;
    const context = element.getContext('2d')!;
    element.width = count;
    element.height = count;
    context.clearRect(0, 0, count, count);
    context.fillStyle = theme.ink.model;
    for (let from = 0; from < count; from++)
      for (let to = 0; to <= from; to++) {
        context.globalAlpha = Math.sqrt(weight(from, to)); // small weights show too
        context.fillRect(to, from, 1, 1);
      }
    context.globalAlpha = 1;
  }, [shown, head, theme]);
  const at = row.value ?? count - 1;
  const looks = Array.from({ length: at + 1 }, (_, to) => ({ to, weight: weight(at, to) }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, kTop);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    row.value = Math.min(count - 1, Math.max(0, at + step));
  };
  return (
    <div class="heat">
      <canvas
        ref={canvas}
        role="application"
        aria-roledescription="heat map"
        aria-label={`Attention of layer ${shown.layer + 1}, head ${head + 1}: each row is a token, each column one that it looks at. Up and down arrows choose a row.`}
        tabIndex={0}
        onKeyDown={move}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          row.value = Math.min(count - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * count)));
        }}
      />
      <div aria-live="polite">
        <p class="prose heat-text">
          {shown.tokens.slice(0, count).map((token, i) => (
            <span key={i} class={`token${i === at ? ' token-chosen' : ''}`} onMouseEnter={() => (row.value = i)}>
              {token}
            </span>
          ))}
        </p>
        <p>
          <Piece text={shown.tokens[at] ?? ''} /> looks at:
        </p>
        <ul class="looks">
          {looks.map(({ to, weight: value }) => (
            <li key={to}>
              <Piece text={shown.tokens[to] ?? ''} /> <span class="note">token {to + 1}</span> <meter value={value} />{' '}
              {percent(value)}
            </li>
          ))}
        </ul>
        {all > count && (
          <p class="note">
            The first {count} of {all} tokens are shown.
          </p>
        )}
        <p class="note">
          Each row is a token, each column one before it; the darker, the more of what that one holds flows into the
          row’s. Weights show where information comes from, not why.
        </p>
      </div>
    </div>
  );
}
