// A curve as text for people: targets, rows, cost models.
import type { Curve } from '../../../packages/tabgrad/src/bench/curve.ts';

export function curveTable(curve: Curve): string {
  const out = [
    `${curve.runtime}, ${curve.cpu}, ${curve.cores} cores, timer ${(curve.timer_resolution_ms * 1000).toFixed(0)} µs, ` +
      `load before ${curve.load ? curve.load[0].toFixed(2) : 'unknown'}, ${curve.date}`,
    `step: ${curve.step}; baseline: ${curve.baseline}`,
  ];
  for (const { id, about, error, peak_gflops: peak } of curve.targets) {
    const device = about && `${about.device}${about.software ? ' (SOFTWARE GPU: not a GPU figure)' : ''}`;
    out.push(`- ${id}: ${about ? `${device}, peak ${peak ? `${peak.toFixed(1)} GFLOP/s` : 'not measured'}` : error}`);
  }
  const columns = ['preset', 'target', 'median ms', 'p10', 'p90', 'n', 'GFLOP/s', 'of peak', 'speedup [95 %]'];
  columns.push('gradients', 'loss: largest, mean (steps)');
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
  out.push('', line(columns), line(columns.map(() => '---')));
  for (const row of curve.rows) {
    const software = curve.targets.find((target) => target.id === row.target)?.about?.software;
    const { gradient_error: gradient, loss_steps: steps, loss_largest: largest, loss_mean: mean } = row.parity;
    const speedup = row.speedup;
    const ratio = speedup && `${speedup.ratio.toFixed(2)} [${speedup.low.toFixed(2)}, ${speedup.high.toFixed(2)}]`;
    const cells = row.ms
      ? [
          ...[row.ms.median, row.ms.p10, row.ms.p90].map((t) => t.toPrecision(3)),
          row.ms.n,
          row.gflops.toFixed(1),
          row.of_peak ? `${(100 * row.of_peak).toFixed(0)} %` : '–',
          software ? 'software GPU' : (ratio ?? 'baseline'),
          gradient === null ? '–' : gradient.toExponential(1),
          `${row.parity_failed ? '**FAILED** ' : ''}${steps ? `${largest.toExponential(1)}, ${mean.toExponential(1)} (${steps})` : '–'}`,
        ]
      : [row.error.split('\n')[0]!, ...columns.slice(3).map(() => '')];
    out.push(line([row.preset, row.target, ...cells]));
  }
  for (const { id, cost } of curve.targets) {
    if (!cost) continue;
    const number = (value: number) => value.toPrecision(3);
    out.push(
      '',
      `cost model of ${id}: ${number(cost.overhead_us)} µs a launch at least, ${number(cost.gflops)} GFLOP/s ` +
        `(half of it at ${number(cost.half_mflop)} MFLOP a launch), ${number(cost.gbytes_per_s)} GB/s`,
    );
    const off = (ms: number | null, of: number) => (ms === null ? '–' : `${(100 * (ms / of - 1)).toFixed(0)} %`);
    for (const { preset, ms, predicted_ms, left_out_ms } of cost.rows)
      out.push(`- ${preset}: fitted ${off(predicted_ms, ms)}, foretold from the others ${off(left_out_ms, ms)}`);
  }
  return out.join('\n');
}
