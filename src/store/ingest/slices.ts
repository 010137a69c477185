/** Long work in small transactions, so that the node's events come in between. */
import type { Clock } from '../../base/clock.ts';
import { isStorageError } from '../files/store-failure.ts';
import type { Write } from './ingest.ts';

/** Milliseconds of a slice. */
const SLICE_MS = 10;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What takes long work step by step. */
export function slices(write: Write, clock: Clock) {
  function slice(step: () => boolean): Promise<boolean> {
    return write(() => {
      const end = clock.monotonic() + SLICE_MS;
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
  return async (step: () => boolean, failed: (reason: string, error: unknown) => void): Promise<boolean> => {
    try {
      return await slice(step);
    } catch (error) {
      if (isStorageError(error)) throw error;
      await write(() => failed(messageOf(error), error));
      return true;
    }
  };
}
