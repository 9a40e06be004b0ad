// Ticks of a logarithmic axis: round numbers, few of them, also where the axis spans less than a decade.

/** Digits of a decade, from the sparsest set on. */
const kDigits = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];

/** The densest set of ticks in [low, high] that has at most `most` of them. */
export function logTicks(low: number, high: number, most: number): number[] {
  let best: number[] = [];
  for (const digits of kDigits) {
    const ticks: number[] = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade++) {
      for (const digit of digits) {
        const tick = Number(`${digit}e${decade}`); // exact, which digit * 10 ** decade is not
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    if (ticks.length > most && best.length > 1) break;
    best = ticks;
  }
  return best;
}
