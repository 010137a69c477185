/** Long work in small transactions, so that the node's events come in between. */
import type { Clock } from '../../base/clock.ts';
import { isStorageError } from '../files/store-failure.ts';
import { LogUnavailableError } from '../log/shared-log.ts';
import { takeSlice } from './commands.ts';

/** Writes to a local table when it is its turn, all of it or nothing. @throws what `change` throws, StoreUnavailableError */
export type LocalWrite = <T>(change: () => T) => Promise<T>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Takes a slice of long work.
 * @param slice returns whether the work is done
 * @param failed notes that the work can't go on, such as for lack of a block; others go on
 * @returns whether the work is done
 * @throws what the store or the log of hosts throws where it can't be written or read now
 */
export async function sliceOrFailure(
  slice: () => Promise<boolean>,
  failed: (reason: string, error: unknown) => Promise<unknown>,
): Promise<boolean> {
  try {
    return await slice();
  } catch (error) {
    if (isStorageError(error) || error instanceof LogUnavailableError) throw error;
    await failed(messageOf(error), error);
    return true;
  }
}

/** What takes long work step by step. */
export const slices =
  (write: LocalWrite, clock: Clock) =>
  /** Takes a slice of the steps in a transaction; as {@link sliceOrFailure}, where `failed` is called in a transaction. */
  (step: () => boolean, failed: (reason: string, error: unknown) => void): Promise<boolean> =>
    sliceOrFailure(
      () => write(() => takeSlice(step, clock).done),
      (reason, error) => write(() => failed(reason, error)),
    );
