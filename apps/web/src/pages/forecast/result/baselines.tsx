// The model beside simple methods, on the same held-out points.

import type { RunResult } from '../../../engine/types';
import { shortNumber } from '../../../lib/format';

const kMeaning: Record<string, string> = {
  'last value': 'what was seen last comes again',
  'seasonal naive': 'the value one season earlier comes again',
  'linear AR': 'a linear autoregression, fitted by least squares on the same windows',
};

export function Baselines({ result }: { result: RunResult }) {
  const worst = Math.max(...result.metrics.map((row) => row.rmse).filter(Number.isFinite));
  const known = result.metrics.filter((row) => kMeaning[row.name]);
  return (
    <div class="figure">
      <h3>Beside honest baselines</h3>
      <div class="wide" tabIndex={0} role="region" aria-label="Errors of model and baselines">
        <table>
          <thead>
            <tr>
              <th scope="col" class="text">
                method
              </th>
              <th scope="col">RMSE</th>
              <th scope="col">MAE</th>
              <th scope="col">sMAPE</th>
              <th scope="col">MASE</th>
              <td class="bar" />
            </tr>
          </thead>
          <tbody>
            {result.metrics.map((row, i) => (
              <tr key={row.name} class={i === 0 ? 'model' : ''}>
                <th scope="row">{row.name}</th>
                <td>{shortNumber(row.rmse)}</td>
                <td>{shortNumber(row.mae)}</td>
                <td>{shortNumber(row.smape)} %</td>
                <td>{shortNumber(row.mase)}</td>
                <td class="bar" aria-hidden="true">
                  <span style={{ width: `${worst > 0 ? (100 * row.rmse) / worst : 0}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        Errors on the test part, which neither training nor the choice of weights saw, in the unit of{' '}
        {result.settings.target}; lower is better.{' '}
        {known.map((row) => `${row.name[0]!.toUpperCase()}${row.name.slice(1)}: ${kMeaning[row.name]}.`).join(' ')} MASE
        below 1 beats a naive forecast within the training part.
      </p>
    </div>
  );
}
