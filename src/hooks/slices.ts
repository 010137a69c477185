/** Long work in small transactions, so that the node's events come in between. */
import type { Clock } from '../base/clock.ts';
import { isStorageError } from '../store/files/store-failure.ts';

/** Milliseconds of a slice. */
const SLICE_MS = 10;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** @param write runs a change in a transaction, all or nothing */
export function slices(write: <T>(change: () => T) => T, clock: Clock) {
  function slice(step: () => boolean): boolean {
    const end = clock.monotonic() + SLICE_MS;
    return write(() => {
      do {
        if (step()) return true;
      } while (clock.monotonic() < end);
      return false;
    });
  }

  /**
   * Takes steps in a transaction until one says that the work is done, or the slice is over.
   * @param failed notes that the work can't go on, such as for lack of a block; others go on
   * @returns whether the work is done
   * @throws what the store throws where it can't be written or read now
   */
  return (step: () => boolean, failed: (reason: string, error: unknown) => void): boolean => {
    try {
      return slice(step);
    } catch (error) {
      if (isStorageError(error)) throw error;
      write(() => failed(messageOf(error), error));
      return true;
    }
  };
}
