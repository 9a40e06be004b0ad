// The picture of a tabgrad-curve/2 result: speedup over the baseline against model size, both axes logarithmic, one line a
// target, bars for the 95 % intervals. Software GPUs are left out and named.
import type { Curve, CurveRow } from '../../../packages/tabgrad/src/bench/curve.ts';

const kWidth = 720;
const kHeight = 400;
const kMargin = { left: 56, right: 120, top: 56, bottom: 56 };
// Okabe and Ito's colours, told apart by most colour-blind readers, and dashes for the rest.
const kStyles = [
  ['#0072b2', ''],
  ['#d55e00', '6 3'],
  ['#009e73', '2 3'],
  ['#cc79a7', '8 3 2 3'],
] as const;
const kCss = `text { font: 13px system-ui, sans-serif; fill: #1f2328; } .quiet { fill: #59636e; font-size: 12px; }
.grid { stroke: #d1d9e0; } .base { stroke: #59636e; }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; } .base { stroke: #9198a1; } }`;

const escape = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const count = (n: number) => (n >= 1e6 ? `${(n / 1e6).toPrecision(2)} M` : `${Math.round(n / 1e3)} k`);

/** From [low, high], logarithmic, to [from, to]. */
function logScale(low: number, high: number, from: number, to: number): (value: number) => number {
  return (value) => from + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (to - from);
}

/** 1, 2, 5 times powers of ten between the two. */
function ticks(low: number, high: number): number[] {
  const out: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const digit of [1, 2, 5]) {
      const value = digit * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) out.push(value);
    }
  return out;
}

export function curveSvg(curve: Curve): string {
  const software = curve.targets.filter((t) => t.about?.software).map((t) => t.id);
  const targets = curve.targets.map((t) => t.id).filter((id) => id !== curve.baseline && !software.includes(id));
  const rows = curve.rows.filter((row) => row.speedup && targets.includes(row.target));
  const sizes = curve.rows.filter((row) => row.target === curve.baseline && row.ms);
  if (rows.length === 0 || sizes.length < 2)
    throw new Error('no curve: two presets and a target beside the baseline are needed');
  const low = Math.min(0.5, ...rows.map((row) => row.speedup!.low)) / 1.1;
  const high = Math.max(2, ...rows.map((row) => row.speedup!.high)) * 1.1;
  const x = logScale(
    Math.min(...sizes.map((row) => row.parameters)) / 1.3,
    Math.max(...sizes.map((row) => row.parameters)) * 1.3,
    kMargin.left,
    kWidth - kMargin.right,
  );
  const y = logScale(low, high, kHeight - kMargin.bottom, kMargin.top);
  const right = kWidth - kMargin.right;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${kWidth} ${kHeight}" role="img">`,
    `<title>Train-step speed over ${escape(curve.baseline)} against model size</title><style>${kCss}</style>`,
    `<text x="${kMargin.left}" y="22" font-weight="600">Train step: times as fast as ${escape(curve.baseline)}</text>`,
    `<text class="quiet" x="${kMargin.left}" y="40">${escape(`${curve.runtime}, ${curve.cpu}, ${curve.cores} cores, ${curve.date.slice(0, 10)}`)}</text>`,
  ];
  for (const value of ticks(low, high)) {
    const at = y(value).toFixed(1);
    const kind = value === 1 ? 'base' : 'grid';
    out.push(`<line class="${kind}" x1="${kMargin.left}" x2="${right}" y1="${at}" y2="${at}"/>`);
    out.push(`<text class="quiet" x="${kMargin.left - 8}" y="${at}" dy="4" text-anchor="end">${value}×</text>`);
  }
  for (const row of sizes) {
    const at = x(row.parameters).toFixed(1);
    out.push(`<text x="${at}" y="${kHeight - 34}" text-anchor="middle">${escape(row.preset)}</text>`);
    out.push(`<text class="quiet" x="${at}" y="${kHeight - 18}" text-anchor="middle">${count(row.parameters)}</text>`);
  }
  targets.forEach((target, i) => {
    const [colour, dash] = kStyles[i % kStyles.length]!;
    out.push(
      ...lineOf(
        target,
        rows.filter((row) => row.target === target),
        colour,
        dash,
        x,
        y,
      ),
    );
  });
  if (software.length)
    out.push(
      `<text class="quiet" x="${kMargin.left}" y="${kHeight - 2}">Not drawn, a software adapter and no GPU: ${escape(software.join(', '))}</text>`,
    );
  return `${out.join('\n')}\n</svg>\n`;
}

function lineOf(
  target: string,
  rows: CurveRow[],
  colour: string,
  dash: string,
  x: (v: number) => number,
  y: (v: number) => number,
): string[] {
  const points = rows.map((row) => [x(row.parameters), y(row.speedup!.ratio)] as const);
  const last = points.at(-1);
  if (!last) return [];
  const out = [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}" points="${points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(' ')}"/>`,
  ];
  rows.forEach(({ parameters, speedup }) => {
    const at = x(parameters).toFixed(1);
    const { ratio, low, high } = speedup!;
    out.push(`<line stroke="${colour}" x1="${at}" x2="${at}" y1="${y(low).toFixed(1)}" y2="${y(high).toFixed(1)}"/>`);
    out.push(`<circle fill="${colour}" cx="${at}" cy="${y(ratio).toFixed(1)}" r="3.5"/>`);
  });
  out.push(
    `<text x="${(last[0] + 10).toFixed(1)}" y="${last[1].toFixed(1)}" dy="4" style="fill:${colour}">${escape(target)}</text>`,
  );
  return out;
}
