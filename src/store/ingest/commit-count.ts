/** Counts the commits of the process that writes, in memory that its threads share. */
export class CommitCount {
  /** Odd while a commit is made, and greater by two after it. */
  readonly #count: Int32Array<SharedArrayBuffer>;

  /** @param memory of another thread's count; else memory of its own */
  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#count = new Int32Array(memory);
  }

  /** What another thread makes its count of. */
  get memory(): SharedArrayBuffer {
    return this.#count.buffer;
  }

  /** Counts what commits; one that fails, too, since it may be done all the same. @throws what `commit` throws */
  around(commit: () => void): void {
    Atomics.add(this.#count, 0, 1);
    try {
      commit();
    } finally {
      Atomics.add(this.#count, 0, 1);
    }
  }

  /** Changes with each commit; null while one is made, when nobody can say whether a snapshot has it. */
  now(): number | null {
    const count = Atomics.load(this.#count, 0);
    return count % 2 === 0 ? count : null;
  }
}
