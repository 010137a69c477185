/** Whether what is to be written can be written: known from the writes themselves. */
import { type StoreFailure, type StoreUnavailableError, unavailable } from '../files/store-failure.ts';
import type { IngestLog } from './event.ts';

export type WriterHealth = ReturnType<typeof writerHealth>;

/** @param log told once when writes begin to fail, and once when they succeed again */
export function writerHealth(log: IngestLog) {
  const failures = new Map<StoreFailure, number>();
  /** The failure of the last write; null where the last one succeeded. */
  let failing: StoreUnavailableError | null = null;
  let failedSince = 0;

  return {
    /**
     * Notes what a write threw.
     * @returns what is to be thrown on: a StoreUnavailableError where the store is to blame
     */
    failed(error: unknown): unknown {
      const failure = unavailable(error);
      if (failure === null || error === failure) return error;
      failures.set(failure.failure, (failures.get(failure.failure) ?? 0) + 1);
      failedSince += 1;
      if (failing === null) log({ event: 'writes_failing', reason: failure.failure, cause: error });
      failing = failure;
      return failure;
    },

    /** What was written to both files is committed. */
    succeeded(): void {
      if (failing === null) return;
      failing = null;
      log({ event: 'writes_resumed', failures: failedSince });
      failedSince = 0;
    },

    /** Why nothing can be written; null where it can. */
    failing: (): StoreUnavailableError | null => failing,
    /** How often writes failed since the start, by reason. */
    failures: (): ReadonlyMap<StoreFailure, number> => failures,
  };
}
