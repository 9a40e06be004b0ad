// Steps per second over the last seconds of training, pauses left out.

const kWindowMs = 3000;

export class RateMeter {
  /** (milliseconds of training, steps) at the end of each slice, the oldest first. */
  #samples: { at: number; steps: number }[] = [{ at: 0, steps: 0 }];

  add(milliseconds: number, steps: number): void {
    const last = this.#samples.at(-1)!;
    this.#samples.push({ at: last.at + milliseconds, steps: last.steps + steps });
    // One sample before the window's start stays, so that slow steps have a rate too.
    while (this.#samples.length > 2 && this.#samples[1]!.at < this.#samples.at(-1)!.at - kWindowMs)
      this.#samples.shift();
  }

  /** 0 before the first step. */
  get perSecond(): number {
    const first = this.#samples[0]!;
    const last = this.#samples.at(-1)!;
    return last.at > first.at ? (1000 * (last.steps - first.steps)) / (last.at - first.at) : 0;
  }
}
