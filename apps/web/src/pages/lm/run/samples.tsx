// What the model wrote while it learned, the newest first.

import type { Sample } from './run';

/** Older ones are folded away. */
const kShown = 2;

export function Samples({ samples }: { samples: Sample[] }) {
  if (samples.length === 0) return null;
  const older = samples.slice(kShown);
  return (
    <div class="figure samples">
      <h3>What it writes by itself</h3>
      {samples.slice(0, kShown).map((sample) => (
        <One key={sample.step} sample={sample} />
      ))}
      {older.length > 0 && (
        <details>
          <summary>Earlier ones</summary>
          {older.map((sample) => (
            <One key={sample.step} sample={sample} />
          ))}
        </details>
      )}
    </div>
  );
}

function One({ sample }: { sample: Sample }) {
  return (
    <figure class="sample">
      <figcaption>after step {sample.step.toLocaleString('en-US')}</figcaption>
      <p class="prose">
        {sample.text.replace(/^\s+/, '')}
        {sample.goesOn && <span class="caret" aria-hidden="true" />}
      </p>
    </figure>
  );
}
