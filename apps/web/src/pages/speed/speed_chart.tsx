// The curve: speed against the first target over model size, one line a target and result. Software GPUs are never drawn.

import type { Curve } from 'tabgrad/bench';
import type { ChartSpec, Line } from '../../charts/options';
import { Plot } from '../../charts/plot';
import type { Ink } from '../../charts/theme';
import { roundNumber } from '../../lib/format';

export interface Shown {
  name: string;
  curve: Curve;
}

const kInks: Ink[] = ['model', 'second', 'run1', 'run2', 'run3', 'run4', 'truth', 'muted'];
const kDashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

export function SpeedChart({ results }: { results: Shown[] }) {
  const sizes = new Map<number, string>();
  for (const { curve } of results) for (const row of curve.rows) if (row.ms) sizes.set(row.parameters, row.preset);
  const parameters = [...sizes.keys()].sort((a, b) => a - b);
  const lines: Line[] = [];
  const columns: (number | null)[][] = [];
  results.forEach(({ name, curve }, result) => {
    for (const { id, about } of curve.targets) {
      if (id === curve.baseline || about?.software !== false) continue;
      const rows = curve.rows.filter((row) => row.target === id && row.speedup);
      if (rows.length === 0) continue;
      columns.push(parameters.map((size) => rows.find((row) => row.parameters === size)?.speedup?.ratio ?? null));
      const label = results.length > 1 ? `${id}, ${name}` : id;
      const ink = kInks[lines.length % kInks.length]!;
      lines.push({ label, ink, width: 2, points: true, spanGaps: true, dash: kDashes[result % kDashes.length]! });
    }
  });
  if (lines.length === 0 || parameters.length < 2)
    return <p class="hint">A curve needs two sizes and a second target that is no software GPU.</p>;
  lines.push({ label: 'as fast', ink: 'muted', width: 1 });
  columns.push(parameters.map(() => 1));
  const x = parameters.map((size) => Math.log10(size));
  const spec: ChartSpec = {
    x: 'number',
    logY: true,
    lines,
    ticks: x.map((at, i) => ({ at, label: sizes.get(parameters[i]!)! })),
  };
  const nameX = (at: number) => `${sizes.get(parameters[x.indexOf(at)]!) ?? ''}`;
  const best = lines.slice(0, -1).map(({ label }, i) => {
    const last = columns[i]!.findLast((ratio) => ratio !== null);
    return `${label} ${roundNumber(last!)} times at its largest size`;
  });
  return (
    <Plot
      spec={spec}
      data={[x, ...columns]}
      height={300}
      nameX={nameX}
      summary={`Training speed against ${results[0]!.curve.baseline} over model size: ${best.join('; ')}.`}
    />
  );
}
