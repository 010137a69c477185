/** Where a host and the log stand, as far as the host knows. */
import type { Clock } from '../base/clock.ts';
import type { HostEntries } from '../store/ingest/ingest.ts';
import type { LogUnavailableError } from '../store/log/shared-log.ts';
import { HostBehindError, UnsoundLogError } from './errors.ts';
import type { ClusterLog, ClusterState } from './events.ts';

/** Entries that a host may lack and still take events: so many are followed at once. */
export const NEAR = 500;

interface StandingOptions {
  entries: Pick<HostEntries, 'place'>;
  clock: Pick<Clock, 'monotonic'>;
  say: ClusterLog;
}

/**
 * What the log and this host have of each other, as far as is known.
 * @param stopping nothing that fails from then on is news
 */
export function standing({ entries, clock, say }: StandingOptions, stopping: AbortSignal) {
  let head: number | null = null;
  let levelAt: number | null = null;
  const startedAt = clock.monotonic();
  /** Whether the log answered when it was asked last; null before it was. */
  let reachable: boolean | null = null;
  let answeredAt = startedAt;
  /** Whether it was said that the log is unsound at this host's end. */
  let isUnsound = false;
  const counts = { conflicts: 0, healed: 0 };
  const secondsSince = (moment: number): number => (clock.monotonic() - moment) / 1000;
  const position = (): number => entries.place().id;
  const isLevel = (): boolean => head !== null && levelAt !== null && position() >= head;

  return {
    counts,
    /** The log answered. @param newest the number of its newest entry */
    reached(newest: number): void {
      head = newest;
      answeredAt = clock.monotonic();
      if (reachable !== true) say({ event: 'log_reached', position: position(), head });
      reachable = true;
    },
    /** The host has all entries of the log. */
    level(): void {
      isUnsound = false;
      levelAt = clock.monotonic();
      answeredAt = levelAt;
    },
    /** Notes why the log took nothing, or can't be followed. */
    failed(cause: LogUnavailableError): void {
      if (cause instanceof HostBehindError) return;
      if (cause instanceof UnsoundLogError) {
        const { entry, fault, remedy } = cause.cause;
        if (!isUnsound) say({ event: 'log_unsound', first: entry, last: entry, fault, remedy });
        isUnsound = true;
        return;
      }
      if (reachable !== false && !stopping.aborted) say({ event: 'log_unavailable', reason: cause.message, cause });
      reachable = false;
    },
    isReachable: (): boolean => reachable === true,
    /** Whether the host once had all entries of the log. */
    wasLevel: (): boolean => levelAt !== null,
    isNear: (): boolean => head !== null && head - position() <= NEAR,
    isFarBehind: (): boolean => head !== null && head - position() > NEAR,
    state: (): ClusterState => ({
      position: position(),
      head: head === null ? null : Math.max(head, position()),
      // What a log that does not answer has by now, nobody knows.
      lagSeconds: isLevel() && reachable === true ? 0 : secondsSince(levelAt ?? startedAt),
      silentSeconds: secondsSince(answeredAt),
      reachable: reachable === true,
      ...counts,
    }),
  };
}

export type Standing = ReturnType<typeof standing>;
