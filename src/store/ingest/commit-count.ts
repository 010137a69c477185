import type { Clock } from '../../base/clock.ts';

/** Counts the commits of the writing process, in memory shared with its threads. */
export class CommitCount {
  /** First the count: odd while a commit is under way; greater by two after it. Then 1 if a thread waits for the next commit. */
  readonly #shared: Int32Array<SharedArrayBuffer>;
  readonly #followers = new Set<() => void>();

  /** @param memory of the count of another thread; new memory if omitted */
  constructor(memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.#shared = new Int32Array(memory);
  }

  /** The memory to share with other threads. */
  get memory(): SharedArrayBuffer {
    return this.#shared.buffer;
  }

  /** Counts a commit, also a failed one, since it may be durable all the same. @throws what `commit` throws */
  around(commit: () => void): void {
    Atomics.store(this.#shared, 1, 0);
    Atomics.add(this.#shared, 0, 1);
    try {
      commit();
    } finally {
      Atomics.add(this.#shared, 0, 1);
      for (const follower of this.#followers) follower();
    }
  }

  /**
   * Calls a function after commits by this thread, once for all commits of a time.
   * @param milliseconds from the first of these commits to the call
   * @returns a function that stops the calls
   */
  follow({ after }: Pick<Clock, 'after'>, milliseconds: number, call: () => void): () => void {
    let cancel: (() => void) | null = null;
    const committed = () => {
      cancel ??= after(milliseconds, () => {
        cancel = null;
        call();
      });
    };
    this.#followers.add(committed);
    return () => {
      this.#followers.delete(committed);
      cancel?.();
    };
  }

  /** A number that changes with each commit; null during one, when a new snapshot may or may not include it. */
  now(): number | null {
    const count = Atomics.load(this.#shared, 0);
    return count % 2 === 0 ? count : null;
  }

  /** Notes that a thread reads, so that it waits for the next commit. */
  await(): void {
    Atomics.store(this.#shared, 1, 1);
  }

  /** Whether a thread has read since the last commit. */
  isAwaited(): boolean {
    return Atomics.load(this.#shared, 1) === 1;
  }
}
