/**
 * The order of all writes to the index: one job at a time, first come, first served. An event of a host that shares a log
 * keeps its transaction open until the log answers, and no other job may write or end a transaction meanwhile.
 */
export class WriterQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /**
   * Runs a job after those before it. It begins at once if no job is under way; if it also returns no promise, it is done
   * before this function returns.
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
