// Turns at something that only one may use at a time: in the order of asking, each until its work is done.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** When all who have asked by now are done. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
