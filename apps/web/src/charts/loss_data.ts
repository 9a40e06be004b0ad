// The losses of a run as lines to draw: every step's, thinned so that a long run costs no more than a short one, and the epochs'.

/** Points of the step line at most; beyond, neighbours are averaged two by two. */
const kMaxPoints = 1024;

export interface LossLines {
  /** Steps from 1; the middle of those that were averaged. */
  steps: number[];
  losses: number[];
}

export class LossHistory {
  private sums: number[] = [];
  private counts: number[] = [];
  /** Steps a point stands for. */
  private width = 1;
  private start = 0;
  private last = Number.NaN;
  private seen = 0;

  /** first: the number of the first of these steps, from 0. Steps that were seen before (after a restore) are passed over. */
  add(first: number, losses: ArrayLike<number>): void {
    if (this.seen === 0) this.start = first;
    for (let i = Math.max(0, this.start + this.seen - first); i < losses.length; i++) {
      const index = Math.floor(this.seen / this.width);
      this.sums[index] = (this.sums[index] ?? 0) + losses[i]!;
      this.counts[index] = (this.counts[index] ?? 0) + 1;
      this.last = losses[i]!;
      this.seen++;
      if (this.sums.length > kMaxPoints) this.halve();
    }
  }

  get latest(): number {
    return this.last;
  }

  lines(): LossLines {
    const steps: number[] = [];
    let before = this.start;
    for (const count of this.counts) {
      steps.push(before + (count + 1) / 2);
      before += count;
    }
    return { steps, losses: this.sums.map((sum, i) => sum / this.counts[i]!) };
  }

  private halve(): void {
    const pairs = (values: number[]) =>
      Array.from({ length: Math.ceil(values.length / 2) }, (_, i) => values[2 * i]! + (values[2 * i + 1] ?? 0));
    this.sums = pairs(this.sums);
    this.counts = pairs(this.counts);
    this.width *= 2;
  }
}

/** Values at rising x of several lines on one x axis; null where a line has none. */
export function align(lines: { x: ArrayLike<number>; y: ArrayLike<number> }[]): [number[], ...(number | null)[][]] {
  const all = new Set<number>();
  for (const line of lines) for (let i = 0; i < line.x.length; i++) all.add(line.x[i]!);
  const x = [...all].sort((a, b) => a - b);
  const position = new Map(x.map((value, i) => [value, i]));
  const columns = lines.map((line) => {
    const column = new Array<number | null>(x.length).fill(null);
    for (let i = 0; i < line.x.length; i++) {
      const value = line.y[i]!;
      column[position.get(line.x[i]!)!] = Number.isFinite(value) ? value : null;
    }
    return column;
  });
  return [x, ...columns];
}

/** A loss that falls by more than this is drawn on a logarithmic axis, as in the report (src/train/report.cc). */
const kLogRatio = 4;

export function wantsLog(values: Iterable<number | null>): boolean {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low > 0 && high / low > kLogRatio;
}

/** Single steps may leave the picture at either end: this part of them. */
const kOutside = 0.02;

/** The range of a y axis: all of the steady lines, and of a noisy one all but its outliers. Null without a value. */
export function steadyRange(
  noisy: readonly (number | null)[],
  steady: readonly (readonly (number | null)[])[],
): [number, number] | null {
  const sorted = noisy.filter((value) => value !== null).sort((a, b) => a - b);
  const cut = Math.floor(sorted.length * kOutside);
  const ends = sorted.length > 0 ? [sorted[cut]!, sorted[sorted.length - 1 - cut]!] : [];
  const all = [...steady.flat().filter((value) => value !== null), ...ends];
  return all.length > 0 ? [Math.min(...all), Math.max(...all)] : null;
}
