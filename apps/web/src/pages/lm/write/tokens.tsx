// Written text, token by token: the less likely a token was, the stronger its underline. Mouse or arrow keys choose one, whose
// probability and alternatives stand below.

import { useSignal } from '@preact/signals';
import type { WrittenToken } from '../../../engine/types';
import { percent } from '../../../lib/format';
import { Piece } from './piece';
import type { Written } from './write';

/** How surprising a token was, in four steps of its probability. */
const kSteps = [0.5, 0.1, 0.02];
function surprise(probability: number): number {
  const step = kSteps.findIndex((bound) => probability >= bound);
  return step < 0 ? kSteps.length : step;
}

export function Tokens({ written: { prompt, tokens } }: { written: Written }) {
  const chosen = useSignal<number | null>(null);
  const token = chosen.value === null ? undefined : tokens[chosen.value];
  const move = (event: KeyboardEvent) => {
    const last = tokens.length - 1;
    const from = chosen.value ?? (event.key === 'ArrowLeft' ? last + 1 : -1);
    const targets: Record<string, number> = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last };
    const target = targets[event.key];
    if (target === undefined || last < 0) return;
    event.preventDefault();
    chosen.value = Math.min(last, Math.max(0, target));
  };
  return (
    <>
      <div
        class="prose tokens"
        role="application"
        aria-roledescription="text by tokens"
        aria-label={`The written text: ${prompt}${tokens.map((t) => t.text).join('')} Arrow keys read single tokens.`}
        tabIndex={0}
        onKeyDown={move}
        onBlur={() => (chosen.value = null)}
        onMouseLeave={() => (chosen.value = null)}
      >
        <span class="prompt-text">{prompt}</span>
        {tokens.map((t, i) => (
          <span
            key={i}
            class={`token surprise-${surprise(t.probability)}${i === chosen.value ? ' token-chosen' : ''}`}
            onMouseEnter={() => (chosen.value = i)}
            onClick={() => (chosen.value = i)}
          >
            {t.text}
          </span>
        ))}
      </div>
      <div class="token-detail" aria-live="polite">
        {token ? <Detail token={token} /> : <p class="note">Point at a token to see what else it could have been.</p>}
      </div>
    </>
  );
}

function Detail({ token }: { token: WrittenToken }) {
  return (
    <>
      <p>
        <Piece text={token.piece} /> had a probability of {percent(token.probability)}.
      </p>
      <ul>
        {token.candidates.map((candidate) => (
          <li key={candidate.text}>
            <Piece text={candidate.text} /> <meter value={candidate.probability} /> {percent(candidate.probability)}
          </li>
        ))}
      </ul>
    </>
  );
}
