/** Verifies the log in the background, one range at a time, on the host that has the lease, and fills its holes. */
import { startLoop } from '../base/service.ts';
import { LOG_START } from '../store/log/entry.ts';
import { fillHole, type LogFault, type VerifiedEntry, verifyRange } from './comparing.ts';
import type { VerificationState } from './events.ts';
import type { ClusterHostOptions } from './host.ts';
import { CORRUPT_LOG_REMEDY } from './shared-log.ts';

/** Milliseconds between two ranges. */
export const VERIFY_INTERVAL_MS = 10_000;
/** Pause after a complete pass, in intervals: an hour. */
const REST = 360;

interface VerifyingOptions extends Pick<ClusterHostOptions, 'log' | 'entries' | 'clock' | 'say'> {
  hasLease: () => boolean;
}

/** A pass over the whole log. */
interface Pass {
  last: VerifiedEntry;
  /** Number of the log's newest entry when the pass began. Later entries belong to the next pass. */
  readonly end: number;
  /** First entries of the faults that the pass found. */
  readonly faults: Set<number>;
}

/** Starts to verify the log whenever this host has the lease. */
export function startVerifying({ log, entries, hasLease, clock, say }: VerifyingOptions) {
  /** The known faults, by their first entry. A complete pass removes those that it no longer finds. */
  const faults = new Map<number, LogFault>();
  /** The present pass; null between two passes. */
  let pass: Pass | null = null;
  let verified = 0;
  let filled = 0;
  let restTurns = 0;

  async function fillOrReport(fault: LogFault, foundIn: Pass): Promise<void> {
    const { first, last } = fault;
    const mayBeFilled = fault.fault === 'is missing' && last < entries.position().id;
    if (mayBeFilled && (await fillHole(log, entries, fault))) {
      filled += last - first + 1;
      faults.delete(first);
      say({ event: 'log_restored', first, last });
      return;
    }
    foundIn.faults.add(first);
    if (!faults.has(first)) say({ event: 'log_corrupt', ...fault, remedy: CORRUPT_LOG_REMEDY });
    faults.set(first, fault);
  }

  async function verifyBatch(): Promise<void> {
    pass ??= { last: LOG_START, end: (await log.head()).id, faults: new Set() };
    const { last, end, faults: passFaults } = pass;
    const rangeFaults: LogFault[] = [];
    const next = await verifyRange(log, last, (fault) => rangeFaults.push(fault));
    for (const fault of rangeFaults) await fillOrReport(fault, pass);
    verified = next?.id ?? last.id;
    if (next !== null && next.id < end) {
      pass.last = next;
      return;
    }
    pass = null;
    restTurns = REST;
    for (const first of faults.keys()) if (!passFaults.has(first)) faults.delete(first);
  }

  function reset(): void {
    pass = null;
    restTurns = 0;
    verified = 0;
    faults.clear();
  }

  async function turn(): Promise<void> {
    if (!hasLease()) return reset();
    if (restTurns > 0) {
      restTurns -= 1;
      return;
    }
    await verifyBatch();
  }

  // A range that fails is tried again: the log is unavailable, or the missing entries can't be read from the journal.
  const loop = startLoop({ clock, everyMs: VERIFY_INTERVAL_MS, turn });
  return {
    state: (): VerificationState => ({
      verified,
      filled,
      corrupt: [...faults.values()].reduce((sum, { first, last }) => sum + last - first + 1, 0),
    }),
    stop: () => loop.stop(),
  };
}
