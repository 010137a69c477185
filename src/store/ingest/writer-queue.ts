/**
 * The order of all that writes to the index: one job at a time, first come, first served. The event of a host that shares a
 * log keeps its transaction open while the log takes it, and nobody else may write or end a transaction meanwhile.
 */
export class WriterQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /**
   * Runs a job when those before it are done. A job begins at once where none is under way, and one that returns no promise
   * is done then: where nothing waits for others, this is a call.
   * @throws what the job throws
   */
  async run<T>(job: () => T | Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#isBusy = true;
    try {
      const result = job();
      return result instanceof Promise ? await result : result;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isBusy = false;
      else next();
    }
  }
}
