/** Records whether writes succeed, and how often they failed. */
import { type StoreFailure, type StoreUnavailableError, unavailable } from '../../base/system-errors.ts';
import type { IngestEvent, IngestLog } from './event.ts';

export type WriterHealth = ReturnType<typeof writerHealth>;

/** Failures with a stack that would show nothing more. */
const explained: ReadonlySet<StoreFailure> = new Set(['full', 'read_only']);

function failingEvent({ failure, message: reason, remedy }: StoreUnavailableError, cause: unknown): IngestEvent {
  const event = { event: 'service_failing', service: 'writes', reason, remedy } as const;
  return explained.has(failure) ? event : { ...event, cause };
}

/** @param log called once when writes start to fail, and once when they succeed again */
export function writerHealth(log: IngestLog) {
  const failures = new Map<StoreFailure, number>();
  /** The failure of the last write; null after a success. */
  let failing: StoreUnavailableError | null = null;
  let failedSince = 0;

  return {
    /** Records an error of a write. @returns the error to throw: a StoreUnavailableError if the store is the cause */
    failed(error: unknown): unknown {
      const failure = unavailable(error);
      if (failure === null || error === failure) return error;
      failures.set(failure.failure, (failures.get(failure.failure) ?? 0) + 1);
      failedSince += 1;
      if (failing === null) log(failingEvent(failure, error));
      failing = failure;
      return failure;
    },

    /** Records that a transaction on both files is committed. */
    succeeded(): void {
      if (failing === null) return;
      failing = null;
      log({ event: 'service_resumed', service: 'writes', failures: failedSince });
      failedSince = 0;
    },

    /** The reason why writes fail; null if they succeed. */
    failing: (): StoreUnavailableError | null => failing,
    /** Numbers of failed writes since the start, by reason. */
    failures: (): ReadonlyMap<StoreFailure, number> => failures,
  };
}
