// Runs beside each other: those kept in this browser that learned from the same text. What differed, and how far they came.

import type { CorpusInfo, LmRunFacts, LmSettings } from '../../../engine/types';
import { kRunInks } from '../../../charts/theme';
import { clock, shortNumber } from '../../../lib/format';
import { savedRuns } from '../saved/saved';
import { differences } from '../settings/choices';
import { bitsPerByte, natsPerByte } from './meaning';
import type { Run } from './run';

export interface Comparison {
  id: string;
  title: string;
  settings: LmSettings;
  parameters: number;
  corpus: CorpusInfo;
  step: number;
  seconds: number;
  validationStep: number[];
  validationLoss: number[];
}

/** More lines in one picture tell nothing apart. */
const kMostOthers = 4;

/** Losses on different texts, or different parts of one, do not compare. */
function sameText(a: LmRunFacts, b: LmRunFacts): boolean {
  return (
    a.corpus.bytes === b.corpus.bytes &&
    a.texts.join('\n') === b.texts.join('\n') &&
    a.settings.validation === b.settings.validation
  );
}

export function othersOf(run: Run): Comparison[] {
  return savedRuns.value
    .filter((saved) => saved.run !== run.facts.run && saved.validationLoss.length > 0 && sameText(saved, run.facts))
    .slice(0, kMostOthers)
    .map((saved, i) => ({ ...saved, id: saved.run, title: `run ${i + 2}` }));
}

export function CompareTable({ run, others }: { run: Run; others: Comparison[] }) {
  if (others.length === 0) return null;
  const { facts, history, progress, result } = run;
  const mine: Comparison = {
    ...facts,
    id: facts.run,
    title: 'this run',
    step: result?.step ?? progress?.step ?? 0,
    seconds: result?.seconds ?? progress?.seconds ?? 0,
    validationStep: history.validationStep,
    validationLoss: history.validationLoss,
  };
  return (
    <div class="figure">
      <h3>Runs on the same text</h3>
      <div class="wide" tabIndex={0} role="region" aria-label="Runs on the same text">
        <table>
          <thead>
            <tr>
              <th scope="col" class="text">
                run
              </th>
              <th scope="col" class="text">
                what differed
              </th>
              <th scope="col">parameters</th>
              <th scope="col">steps</th>
              <th scope="col">time</th>
              <th scope="col">best validation, nats a byte</th>
              <th scope="col">bits a byte</th>
            </tr>
          </thead>
          <tbody>
            {[mine, ...others].map((row, i) => (
              <Row key={row.id} row={row} mine={mine} ink={i === 0 ? 'second' : kRunInks[(i - 1) % kRunInks.length]!} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        Validation losses on the way are of the same batches for runs of one size; the last digits of runs with other
        contexts or batches compare only roughly.
      </p>
    </div>
  );
}

function Row({ row, mine, ink }: { row: Comparison; mine: Comparison; ink: string }) {
  const best = row.validationLoss.length > 0 ? Math.min(...row.validationLoss) : Number.NaN;
  const differing = row === mine ? [] : differences(row.settings, mine.settings);
  return (
    <tr class={row === mine ? 'model' : ''}>
      <th scope="row">
        <span class={`key key-${ink}`}>{row.title}</span>
      </th>
      <td class="text differing">{row === mine ? '–' : differing.join(', ') || 'nothing'}</td>
      <td>{row.parameters.toLocaleString('en-US')}</td>
      <td>{row.step.toLocaleString('en-US')}</td>
      <td>{clock(row.seconds)}</td>
      <td>{shortNumber(natsPerByte(best, row.corpus))}</td>
      <td>{shortNumber(bitsPerByte(best, row.corpus))}</td>
    </tr>
  );
}
