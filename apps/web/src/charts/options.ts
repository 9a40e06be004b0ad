// What a chart shows, and the uPlot options that draw it.

import uPlot from 'uplot';
import { shortNumber } from '../lib/format';
import type { ChartTheme, Ink } from './theme';
import { logTicks } from './log_ticks';
import { steadyRange } from './loss_data';
import { timeLabels } from './time_labels';

export interface Line {
  label: string;
  ink: Ink;
  /** CSS pixels. */
  width?: number;
  /** Draw over missing values (lines that have few of the x). */
  spanGaps?: boolean;
  points?: boolean;
  dash?: number[];
  /** An edge of a band: not drawn, not in the legend. */
  edge?: boolean;
  opacity?: number;
  /** Its outliers do not count for the y axis. */
  noisy?: boolean;
}

/** Between two lines, by their place in `lines`. */
export interface Band {
  label: string;
  low: number;
  high: number;
}

/** A part of the x axis, shaded and named. */
export interface Zone {
  from: number;
  to: number;
  label: string;
  shaded: boolean;
}

export interface ChartSpec {
  x: 'time' | 'number';
  lines: Line[];
  bands?: Band[];
  zones?: Zone[];
  logY?: boolean;
  /** Labels of the x axis at these places, in place of round numbers. */
  ticks?: { at: number; label: string }[];
}

const kAxisGap = 6;
const kRowHeight = 16;

/** Room for the widest label of the y axis. */
function yAxisSize(u: uPlot, values: string[] | null): number {
  if (!values?.length) return 40;
  u.ctx.save();
  u.ctx.font = (u.axes[1]!.font as unknown as [string])[0];
  const widest = Math.max(...values.map((value) => u.ctx.measureText(value).width));
  u.ctx.restore();
  return Math.ceil(widest / devicePixelRatio) + 2 * kAxisGap;
}

function drawZones(u: uPlot, zones: Zone[], theme: ChartTheme): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.font = theme.font.replace('12px', `${12 * devicePixelRatio}px`);
  ctx.textBaseline = 'top';
  for (const zone of zones) {
    const left = Math.max(bbox.left, u.valToPos(zone.from, 'x', true));
    const right = Math.min(bbox.left + bbox.width, u.valToPos(zone.to, 'x', true));
    if (!(right > left)) continue;
    if (zone.shaded) {
      ctx.fillStyle = theme.shade;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    const pad = 6 * devicePixelRatio;
    if (ctx.measureText(zone.label).width + 2 * pad > right - left) continue;
    ctx.fillStyle = theme.text;
    ctx.fillText(zone.label, left + pad, bbox.top + pad);
  }
  ctx.restore();
}

/** A logarithmic axis has a label for about so many pixels. */
const kLogSpace = 32;

function yRange(u: uPlot, spec: ChartSpec, min: number, max: number): [number, number] {
  const noisy = spec.lines.findIndex((line) => line.noisy);
  const columns = u.data.slice(1) as (number | null)[][];
  const steady = columns.filter((_, i) => i !== noisy);
  const [low, high] = (noisy < 0 ? null : steadyRange(columns[noisy]!, steady)) ?? [min, max];
  if (spec.logY) return [low * 0.9, high * 1.1];
  const pad = { min: { pad: 0.08 }, max: { pad: 0.08 } };
  return uPlot.rangeNum(low, high, pad) as [number, number];
}

/** Room beside the first and the last point, for their labels. */
const padded = (min: number, max: number): [number, number] => {
  const pad = 0.08 * (max - min) || 0.5;
  return [min - pad, max + pad];
};

export function optionsFor(spec: ChartSpec, theme: ChartTheme, width: number, height: number): uPlot.Options {
  const axis = { stroke: theme.text, font: theme.font, ticks: { show: false }, gap: kAxisGap };
  return {
    width,
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: {
      x: {
        time: spec.x === 'time',
        ...(spec.ticks ? { range: (_u: uPlot, min: number, max: number) => padded(min, max) } : {}),
      },
      y: {
        ...(spec.logY ? { distr: 3 as const } : {}),
        range: (u, min, max) => yRange(u, spec, min, max),
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: spec.x === 'time' ? 56 : 72,
        size: (spec.x === 'time' ? 2 : 1) * kRowHeight + kAxisGap,
        ...(spec.ticks
          ? {
              splits: spec.ticks.map(({ at }) => at),
              values: spec.ticks.map(({ label }) => label),
            }
          : spec.x === 'time'
            ? {
                values: (_u: uPlot, ticks: number[], _axis: number, _space: number, increment: number) =>
                  timeLabels(ticks, increment),
              }
            : {
                values: (_u: uPlot, ticks: number[]) =>
                  ticks.map((t) => (Number.isInteger(t) ? t.toLocaleString('en-US') : '')),
              }),
      },
      {
        ...axis,
        grid: { stroke: theme.grid, width: 1 },
        size: yAxisSize,
        space: 36,
        values: (_u: uPlot, ticks: number[]) => ticks.map(shortNumber),
        ...(spec.logY
          ? {
              splits: (_u: uPlot, _axis: number, low: number, high: number) => logTicks(low, high, height / kLogSpace),
              filter: (_u: uPlot, ticks: number[]) => ticks,
            }
          : {}),
      },
    ],
    series: [
      {},
      ...spec.lines.map((line) => ({
        label: line.label,
        stroke: line.edge ? 'transparent' : theme.ink[line.ink],
        width: line.edge ? 0 : (line.width ?? 1.5),
        alpha: line.opacity ?? 1,
        spanGaps: line.spanGaps ?? false,
        points: { show: line.points ?? false, size: 5, fill: theme.ink[line.ink] },
        ...(line.dash ? { dash: line.dash } : {}),
      })),
    ],
    bands: (spec.bands ?? []).map((band) => ({
      series: [band.high + 1, band.low + 1] as [number, number],
      fill: theme.band,
    })),
    hooks: { drawClear: [(u) => drawZones(u, spec.zones ?? [], theme)] },
  };
}
