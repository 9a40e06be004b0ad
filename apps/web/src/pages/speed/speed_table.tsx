// The rows of a result with what makes them trustworthy: spread, rate, part of the peak, parity.

import type { Curve, CurveRow } from 'tabgrad/bench';
import { percent, roundNumber } from '../../lib/format';

export function SpeedTable({ name, curve }: { name: string; curve: Curve }) {
  const software = new Set(curve.targets.filter(({ about }) => about?.software).map(({ id }) => id));
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`Train steps, ${name}`}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="text">
              size
            </th>
            <th scope="col" class="text">
              target
            </th>
            <th scope="col">ms a step</th>
            <th scope="col">p10 to p90</th>
            <th scope="col">GFLOP/s</th>
            <th scope="col">of peak</th>
            <th scope="col">speedup</th>
            <th scope="col">95 % interval</th>
            <th scope="col">gradients off</th>
            <th scope="col">losses off</th>
          </tr>
        </thead>
        <tbody>
          {curve.rows.map((row) => (
            <tr key={`${row.preset} ${row.target}`}>
              <th scope="row" class="text">
                {row.preset}
              </th>
              <td class="text">{row.target}</td>
              <Cells row={row} software={software.has(row.target)} baseline={row.target === curve.baseline} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cells({ row, software, baseline }: { row: CurveRow; software: boolean; baseline: boolean }) {
  const { ms, speedup, parity } = row;
  if (!ms)
    return (
      <td class="text" colSpan={8}>
        {row.error.split('\n')[0]}
      </td>
    );
  return (
    <>
      <td>{roundNumber(ms.median)}</td>
      <td>
        {roundNumber(ms.p10)} to {roundNumber(ms.p90)}
      </td>
      <td>{roundNumber(row.gflops)}</td>
      <td>{row.of_peak === null ? '–' : percent(Number(row.of_peak.toFixed(2)))}</td>
      <td>
        {software ? (
          <span class="wrong">no GPU</span>
        ) : speedup ? (
          roundNumber(speedup.ratio)
        ) : baseline ? (
          'baseline'
        ) : (
          '–'
        )}
      </td>
      <td>{software || !speedup ? '' : `${roundNumber(speedup.low)} to ${roundNumber(speedup.high)}`}</td>
      <td>{parity.gradient_error === null ? '–' : parity.gradient_error.toExponential(1)}</td>
      <td>
        {row.parity_failed && <span class="wrong">failed </span>}
        {parity.loss_steps === 0 ? '–' : `${parity.loss_largest.toExponential(1)} in ${parity.loss_steps}`}
      </td>
    </>
  );
}
