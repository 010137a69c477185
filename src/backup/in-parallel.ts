/** Works on several things at a time, and never on more than a bound. */

/**
 * Calls `work` for each item, in their order, `most` at a time. After a failure nothing else is begun.
 * @throws what the first call that failed threw, once none is under way
 */
export async function inParallel<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  async function worker(): Promise<void> {
    for (let next = left.next(); next.done !== true && failures.length === 0; next = left.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failures.push(error);
      }
    }
  }
  await Promise.all(Array.from({ length: most }, worker));
  if (failures.length > 0) throw failures[0];
}
