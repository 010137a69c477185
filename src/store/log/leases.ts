/**
 * A lease that one host holds at a time, such as the one to deliver chainhooks. The engine's clock decides when a lease has
 * ended, and each holder gets an epoch that is higher than all before. A lease that is lost without being noticed can only
 * make two hosts do the same work: nothing that must not happen twice may depend on it. No engine is known here.
 */
import type { Clock } from '../../base/clock.ts';

export interface LeaseOptions {
  /** What is leased. */
  name: string;
  /** Who asks: a text that no other process uses, or used before. */
  holder: string;
  /** Seconds that it lasts unless it is renewed. */
  seconds: number;
  /** An epoch that was given before, as far as who asks knows: an engine that was restored may have forgotten it. */
  epochSeen: number;
}

/** What names a lease that was given. */
export type LeaseKey = Pick<LeaseOptions, 'name' | 'holder'> & { epoch: number };

/** A lease that this host was given. */
export interface HeldLease {
  readonly epoch: number;
  /**
   * Milliseconds for which the lease is this host's for sure: no other host can be given it before. Not above 0 once that
   * has ended.
   */
  remaining(): number;
  /**
   * Makes the lease last its full time again.
   * @returns false where it has ended, or another host holds it
   * @throws LogUnavailableError, LogUnknownOutcomeError; the lease then stays what it was
   */
  renew(): Promise<boolean>;
  /** Ends the lease, so that another host need not wait. @throws LogUnavailableError, LogUnknownOutcomeError */
  release(): Promise<void>;
}

/** The lease is another host's. */
export interface TakenLease {
  /** Null where nobody knows: it was given away at the same moment. */
  holder: string | null;
  epoch: number | null;
}

/** What an engine does with a lease, each at once. @throws LogUnavailableError, LogUnknownOutcomeError */
export interface LeaseEngine {
  /**
   * Gives the lease to whoever asks, with an epoch above all before, unless another one has it.
   * @returns the new epoch, or who has the lease
   */
  give(lease: LeaseOptions): Promise<{ given: number } | TakenLease>;
  /**
   * Sets how long a lease lasts from now on.
   * @returns whether it was still that holder's with that epoch; else nothing was changed
   */
  setUntil(lease: LeaseKey, seconds: number): Promise<boolean>;
}

/**
 * Asks for a lease. Whoever asks again, such as after an error, gets it with a higher epoch.
 * @param clock the time for which the lease is held begins before it is asked for, so that the engine's end is never before
 *   the holder's
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function acquireLease(
  engine: LeaseEngine,
  options: LeaseOptions,
  clock: Pick<Clock, 'monotonic'>,
): Promise<HeldLease | TakenLease> {
  const start = clock.monotonic();
  const answer = await engine.give(options);
  return 'given' in answer ? heldLease(engine, options, answer.given, { clock, start }) : answer;
}

/** @param since the clock, and when the lease was asked for */
function heldLease(
  engine: LeaseEngine,
  options: LeaseOptions,
  epoch: number,
  { clock, start }: { clock: Pick<Clock, 'monotonic'>; start: number },
): HeldLease {
  const { name, holder, seconds } = options;
  const key: LeaseKey = { name, holder, epoch };
  let end = start + seconds * 1000;
  return {
    epoch,
    remaining: () => end - clock.monotonic(),
    async renew() {
      const asked = clock.monotonic();
      const isMine = await engine.setUntil(key, seconds);
      end = isMine ? asked + seconds * 1000 : Number.NEGATIVE_INFINITY;
      return isMine;
    },
    async release() {
      end = Number.NEGATIVE_INFINITY;
      await engine.setUntil(key, 0);
    },
  };
}
