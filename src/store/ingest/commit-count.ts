import type { Clock } from '../../base/clock.ts';

const INTERVAL_MS = 500;

/** Counts the commits of the writing process, in memory shared with its threads. */
export class CommitCount {
  /**
   * Two numbers. The first counts commits: it is odd during a commit, and each commit adds two. The second is 1 if a thread
   * waits for the next commit.
   */
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

  /** Runs and counts a commit, also a failed one, because it may be durable. @throws errors of `commit` */
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
   * Calls a function after commits by this thread, once for all commits of half a second.
   * @returns a function that stops the calls
   */
  follow({ after }: Pick<Clock, 'after'>, call: () => void): () => void {
    let cancel: (() => void) | null = null;
    const committed = () => {
      cancel ??= after(INTERVAL_MS, () => {
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

  /** Records that a thread has read, and so waits for the next commit. */
  await(): void {
    Atomics.store(this.#shared, 1, 1);
  }

  /** Whether a thread has read since the last commit. */
  isAwaited(): boolean {
    return Atomics.load(this.#shared, 1) === 1;
  }
}
