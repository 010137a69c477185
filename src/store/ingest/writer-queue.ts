/**
 * Orders all writes to the index: one job at a time, first come, first served. In a cluster, an event keeps its transaction
 * open until the shared log answers. No other job may write or end a transaction during that time.
 */
export class WriterQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /**
   * Runs a job after earlier jobs. If no job is running, the job starts at once, and a synchronous job is done before this
   * function returns.
   * @throws errors of the job
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
