// What came out: the verdict, forecasts against the held-out truth, the steps to come, the baselines, and files to keep.

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Alert, Notices } from '../../../components/alert';
import { ForecastChart } from '../../../charts/forecast_chart';
import { Stats, type Stat } from '../../../components/stats';
import type { BandSeries, RunResult } from '../../../engine/types';
import { count, percent, shortNumber } from '../../../lib/format';
import { hasClock, spanOf } from '../../../lib/time_step';
import { Baselines } from './baselines';
import { Downloads } from './downloads';
import { fromLastKnown, lastOf, tailOf } from './tail';

/** Points of the close view of the test part, as in the report. */
const kClosePoints = 120;
/** A longer table of values begins folded. */
const kOpenRows = 7;
/** Shown before the steps to come. */
const kHistoryPoints = 90;

export function Result({ result }: { result: RunResult }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.scrollIntoView({ block: 'nearest' });
    // The commands of the run, which may have had the focus, are gone.
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, [result.run]);
  const won = beatsAll(result);
  const { target } = result.settings;
  return (
    <section class="result" aria-labelledby="result-title">
      <h2 id="result-title" ref={heading} tabIndex={-1}>
        {target}: forecast by {result.title}
      </h2>
      {result.ended === 'diverged' && (
        <Alert tone="error" title="Training went wrong">
          {result.message}
        </Alert>
      )}
      <p class={`verdict ${won ? 'verdict-good' : 'verdict-bad'}`}>{result.verdict}</p>
      <Stats stats={figures(result)} />
      <HeldOut result={result} />
      <Next result={result} />
      <Baselines result={result} />
      <Downloads run={result.run} />
      <Notices notices={result.notices} />
    </section>
  );
}

function beatsAll({ metrics: [model, ...baselines] }: RunResult): boolean {
  return model !== undefined && baselines.every((baseline) => model.rmse < baseline.rmse);
}

function figures(result: RunResult): Stat[] {
  const [model, ...baselines] = result.metrics;
  const best = Math.min(...baselines.map((baseline) => baseline.rmse));
  const ratio = (model?.rmse ?? Number.NaN) / best;
  const stats: Stat[] = [
    { name: 'RMSE, held-out data', value: shortNumber(model?.rmse) },
    { name: 'best baseline', value: shortNumber(best) },
  ];
  if (Number.isFinite(ratio))
    stats.push({ name: ratio < 1 ? 'better by' : 'worse by', value: percent(Math.abs(1 - ratio)) });
  if (result.bandCoverage !== null) stats.push({ name: 'truth inside the band', value: percent(result.bandCoverage) });
  return stats;
}

function HeldOut({ result }: { result: RunResult }) {
  const { test, title, step, settings } = result;
  const whole = useSignal(false);
  const points = whole.value ? test.times.length : Math.min(kClosePoints, test.times.length);
  const [part, known] = useMemo(() => {
    const tail = tailOf(test, points);
    return [tail, { times: tail.times, values: test.truth.slice(-points) }];
  }, [test, points]);
  return (
    <div class="figure">
      <h3>Against the held-out truth</h3>
      <p class="note">
        {whole.value ? 'All' : 'The last'} {count(points, 'point')} of the test part, each forecast one step ahead from
        the values before it.{' '}
        {test.times.length > kClosePoints && (
          <button type="button" class="link" onClick={() => (whole.value = !whole.value)}>
            {whole.value ? `Show the last ${kClosePoints}` : `Show all ${test.times.length.toLocaleString('en-US')}`}
          </button>
        )}
      </p>
      <ForecastChart
        forecast={part}
        known={known}
        knownLabel="truth"
        title={title}
        step={step}
        summary={`Truth and forecasts of ${settings.target}, ${part.labels[0]} to ${part.labels.at(-1)}. Root mean squared error ${shortNumber(result.metrics[0]?.rmse)}.`}
      />
    </div>
  );
}

function Next({ result }: { result: RunResult }) {
  const { next, horizon, step, title, settings } = result;
  const known = useMemo(() => lastOf(result.history, Math.max(kHistoryPoints, 2 * horizon)), [result]);
  const joined = useMemo(() => fromLastKnown(next, known), [known]);
  const span =
    horizon === 1
      ? hasClock(step)
        ? step.replace(/^1 /, '')
        : 'step'
      : spanOf(horizon, step) || count(horizon, 'step');
  return (
    <div class="figure">
      <h3>The next {span}</h3>
      <ForecastChart
        forecast={joined}
        known={known}
        knownLabel="known"
        title={title}
        step={step}
        summary={`Forecast of ${settings.target} from ${next.labels[0]}: ${shortNumber(next.middle[0])}, to ${next.labels.at(-1)}: ${shortNumber(next.middle.at(-1))}.`}
      />
      <details open={horizon <= kOpenRows}>
        <summary>Values</summary>
        <NextTable next={next} />
      </details>
    </div>
  );
}

function NextTable({ next }: { next: BandSeries }) {
  const banded = next.low.length > 0;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Forecast values">
      <table>
        <thead>
          <tr>
            <th scope="col" class="text">
              when
            </th>
            {banded && <th scope="col">P10</th>}
            <th scope="col">forecast</th>
            {banded && <th scope="col">P90</th>}
          </tr>
        </thead>
        <tbody>
          {next.labels.map((label, i) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {banded && <td>{shortNumber(next.low[i])}</td>}
              <td>
                <strong>{shortNumber(next.middle[i])}</strong>
              </td>
              {banded && <td>{shortNumber(next.high[i])}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
