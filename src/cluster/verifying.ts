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
  /** Ranges of entry numbers that are missing before the log's newest one. @throws LogUnavailableError */
  missing: () => Promise<Omit<LogFault, 'fault'>[]>;
  hasLease: () => boolean;
}

/** Starts to verify the log whenever this host has the lease. */
export function startVerifying({ log, missing, entries, hasLease, clock, say }: VerifyingOptions) {
  /** Faults by their first entry: known faults, and faults found in the present pass. */
  const faults = new Map<number, LogFault>();
  let passFaults = new Set<number>();
  let lastEntry: VerifiedEntry | null = null;
  /** Number of the log's newest entry when the present pass began. Later entries belong to the next pass. */
  let passEnd = 0;
  let verified = 0;
  let filled = 0;
  let restTurns = 0;

  async function handle(fault: LogFault): Promise<void> {
    const { first, last } = fault;
    const mayBeFilled = fault.fault === 'is missing' && last < entries.position().id;
    if (mayBeFilled && (await fillHole(log, entries, fault))) {
      filled += last - first + 1;
      faults.delete(first);
      say({ event: 'log_restored', first, last });
      return;
    }
    passFaults.add(first);
    if (!faults.has(first)) say({ event: 'log_corrupt', ...fault, remedy: CORRUPT_LOG_REMEDY });
    faults.set(first, fault);
  }

  async function begin(): Promise<VerifiedEntry> {
    passFaults = new Set();
    passEnd = (await log.head()).id;
    for (const hole of await missing()) await handle({ ...hole, fault: 'is missing' });
    return LOG_START;
  }

  async function verifyBatch(): Promise<void> {
    lastEntry ??= await begin();
    const logFaults: LogFault[] = [];
    const next = await verifyRange(log, lastEntry, (fault) => logFaults.push(fault));
    for (const fault of logFaults) await handle(fault);
    verified = next?.id ?? lastEntry.id;
    lastEntry = next !== null && next.id < passEnd ? next : null;
    if (lastEntry !== null) return;
    restTurns = REST;
    for (const first of faults.keys()) if (!passFaults.has(first)) faults.delete(first);
  }

  function reset(): void {
    lastEntry = null;
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
