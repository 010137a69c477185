/**
 * Requests and renews the lease for work that only one host of a cluster does at a time, and starts and stops the work with
 * it. The host works only while no other host can have the lease, even if the engine fails. A process that was suspended
 * notices too late that it lost the lease, so the work that it still does must be harmless.
 */

import { type Clock, pause, type RandomSource } from '../base/clock.ts';
import { type Loop, startLoop } from '../base/service.ts';
import { isTransient, unavailable } from '../base/system-errors.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import type { ClusterLog, LeaseStatus } from './events.ts';
import type { ClusterHost } from './host.ts';
import type { LeaseEngine, LeaseHolder } from './leases.ts';

/** Seconds that a lease lasts unless it is renewed. */
export const LEASE_SECONDS = 6;
/** Milliseconds between two requests to the engine; with them, another host gets a dead host's lease within 10 s. */
export const ASK_MS = 2_000;
/** Milliseconds until a host that is not ready for the work checks again. */
const LOOK_MS = 100;

/**
 * Milliseconds for which a host that can't do all of the work keeps the lease. Then it pauses, so that another host can get
 * the lease. If no host does, it takes the lease again and does the work that it can.
 */
export const LACKING_MS = 60_000;

/** Reason of a loss that the engine didn't report. */
const LATE = 'it was not renewed in time';
/** The reason if another host has used a higher epoch, which doesn't depend on clocks. */
const OVERTAKEN = 'another host has since used a higher epoch';

/** The work that one host does at a time. */
export interface LeasedWork {
  /** @param epoch higher than every earlier lease's epoch @throws the store's error; then the work is stopped */
  start(epoch: number): void;
  /** Ends the work: it begins nothing after this call, and nothing is under way after it resolves. Never rejects. */
  stop(): Promise<void>;
  /** Why this host can't do all of the work, though another may; null if it can. @throws the store's error */
  lacks(): string | null;
}

export interface Lease {
  /** Does the work whenever this host has the lease. */
  start(work: LeasedWork): void;
  /**
   * Whether this host certainly has the lease. Check it before anything leaves the process: if the lease has ended, the work is
   * stopped before this returns.
   */
  hasLease(): boolean;
  /** Ends the work, then releases the lease, so that another host need not wait. */
  stop(): Promise<void>;
}

/**
 * The lease of a host that shares no log; it has the lease all the time.
 * @param epochSeen the highest epoch in this host's tables, which may come from a cluster
 */
export function ownLease(epochSeen: () => number): Lease {
  let stop = async (): Promise<void> => {};
  return {
    start(work) {
      stop = () => work.stop();
      work.start(epochSeen());
    },
    hasLease: () => true,
    stop: () => stop(),
  };
}

export interface LeaseKeeperOptions {
  leases: LeaseEngine;
  clock: Clock;
  random: Pick<RandomSource, 'number'>;
  /** Name of the lease. */
  name: string;
  host: string;
  /** Unique text of this process on its host. */
  process: string;
  /** Whether this host is ready for the work: it has nearly all entries of the log, and can write. */
  isFit: () => boolean;
  /**
   * Resolves when this host has all entries that the log has now, including the results of the former holder, or when the
   * signal is aborted.
   */
  caughtUp: (signal: AbortSignal) => Promise<void>;
  /** The highest epoch in this host's tables. */
  epochSeen: () => number;
  say: ClusterLog;
}

/** Separates the host's name from the process's text in a holder. */
const BEFORE_PROCESS = '/';

/** The host's name in a holder. */
export const hostOf = (holder: string): string => {
  const end = holder.lastIndexOf(BEFORE_PROCESS);
  return end < 0 ? holder : holder.slice(0, end);
};

const noWork: LeasedWork = { start() {}, async stop() {}, lacks: () => null };

/** A lease that this host got. */
interface CurrentLease {
  readonly epoch: number;
  /**
   * When the lease ends, in milliseconds of the monotonic clock. Counted from before the request, so that it is never later
   * than the engine's end, before which no other host can get the lease.
   */
  end: number;
  /** When it was gained, in milliseconds of the monotonic clock. */
  readonly since: number;
  /** Aborted when it is lost. */
  readonly loss: AbortController;
  cancelTimer: () => void;
}

/** Requests the lease of a host from `start` on. */
export class LeaseKeeper implements Lease {
  readonly #options: LeaseKeeperOptions;
  readonly #holder: string;
  #work = noWork;
  #lease: CurrentLease | null = null;
  /** The end of the work that was stopped last; new work starts after it. */
  #workEnd: Promise<void> = Promise.resolve();
  #loop: Loop | null = null;
  /** Until when the host leaves the lease to others, in milliseconds of the monotonic clock. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  /** Another holder at the last request, and when its lease has ended unless it was renewed since. */
  #lastHolder: LeaseHolder & { end: number } = { holder: null, epoch: null, end: Number.NEGATIVE_INFINITY };

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#holder = `${options.host}${BEFORE_PROCESS}${options.process}`;
  }

  start(work: LeasedWork): void {
    const { clock, random, say } = this.#options;
    this.#work = work;
    this.#loop = startLoop({
      clock,
      everyMs: ASK_MS,
      firstMs: 0,
      waits: { firstMs: LOOK_MS, maxMs: ASK_MS, random: random.number },
      turn: (signal) => this.#update(signal),
      // The lease stays valid until its end, and is renewed by then or lost.
      failed: (cause) => say({ event: 'service_failing', service: 'delivery_lease', reason: cause.message, cause }),
    });
  }

  hasLease(): boolean {
    if (this.#lease === null) return false;
    if (this.#remaining(this.#lease) <= 0) this.#lose(LATE);
    // Results of this lease would no longer count, so its deliveries would be sent again and again.
    else if (this.#options.epochSeen() > this.#lease.epoch) this.#lose(OVERTAKEN);
    return this.#lease !== null;
  }

  status(): LeaseStatus {
    const { holder, epoch } = this.#lastHolder;
    const isKnown = holder !== null && this.#remaining(this.#lastHolder) > 0;
    const other = isKnown ? hostOf(holder) : null;
    return {
      isHeld: this.#lease !== null,
      holder: this.#lease === null ? other : this.#options.host,
      epoch: this.#lease?.epoch ?? epoch,
    };
  }

  async stop(): Promise<void> {
    const { clock } = this.#options;
    const loopEnd = this.#loop?.stop();
    const lease = this.#lease;
    if (lease !== null) this.#end(lease);
    await this.#workEnd;
    const answer = new AbortController();
    const done = Promise.all([lease === null ? null : this.#release(lease), loopEnd]);
    void done.then(() => answer.abort());
    // Don't wait long for the engine: the lease ends by itself.
    await pause(clock, ASK_MS, answer.signal);
  }

  /** Requests or renews the lease. @returns milliseconds until the next time */
  async #update(signal: AbortSignal): Promise<number> {
    const { clock, isFit } = this.#options;
    const next = clock.monotonic() + (this.#lease === null && !isFit() ? LOOK_MS : ASK_MS);
    await (this.#lease === null ? this.#request(signal) : this.#renew(this.#lease));
    return Math.max(0, next - clock.monotonic());
  }

  async #request(signal: AbortSignal): Promise<void> {
    const { leases, clock, name, isFit, epochSeen } = this.#options;
    await this.#workEnd;
    if (signal.aborted || !isFit() || clock.monotonic() < this.#restsUntil) return;
    const end = this.#endFromNow();
    const answer = await leases.give({ name, holder: this.#holder, seconds: LEASE_SECONDS, epochSeen: epochSeen() });
    if (!('newEpoch' in answer)) {
      this.#lastHolder = { ...answer, end: this.#endFromNow() };
      return;
    }
    const lease = { epoch: answer.newEpoch, end };
    if (signal.aborted) await this.#release(lease);
    // An answer that took as long as the lease is useless; the next request gets a new one.
    else if (this.#remaining(lease) > 0) {
      this.#gain({ ...lease, since: clock.monotonic(), loss: new AbortController(), cancelTimer() {} });
    }
  }

  #endFromNow(): number {
    return this.#options.clock.monotonic() + LEASE_SECONDS * 1000;
  }

  /** Returns for how many milliseconds this host certainly still has the lease; 0 or less after its end. */
  #remaining({ end }: Pick<CurrentLease, 'end'>): number {
    return end - this.#options.clock.monotonic();
  }

  /** @returns whether the lease was this host's @throws LogUnavailableError, LogUnknownOutcomeError */
  #setUntil({ epoch }: Pick<CurrentLease, 'epoch'>, seconds: number): Promise<boolean> {
    const { leases, name } = this.#options;
    return leases.setUntil({ name, holder: this.#holder, epoch }, seconds);
  }

  #gain(lease: CurrentLease): void {
    this.#lease = lease;
    this.#lastHolder = { holder: null, epoch: lease.epoch, end: lease.end };
    this.#watch(lease);
    this.#options.say({ event: 'delivery_lease_changed', held: true, epoch: lease.epoch });
    void this.#begin(lease);
  }

  /** Starts the work once this host has the entries of the former holder. */
  async #begin(lease: CurrentLease): Promise<void> {
    const { caughtUp, epochSeen } = this.#options;
    await caughtUp(lease.loss.signal);
    if (this.#lease !== lease) return;
    try {
      // This host may have learned of entries with a higher epoch only now.
      if (epochSeen() >= lease.epoch) await this.#giveUp(lease, 'a higher epoch was given before');
      else this.#work.start(lease.epoch);
    } catch (error) {
      if (unavailable(error) === null) throw error;
      await this.#giveUp(lease, 'its work could not be started');
    }
  }

  async #renew(lease: CurrentLease): Promise<void> {
    if (!this.#options.isFit()) return this.#giveUp(lease, "this host is behind the log, or can't write");
    const reason = this.#lackReason(lease);
    if (reason !== null) return this.#giveUp(lease, reason);
    const end = this.#endFromNow();
    const isMine = await this.#setUntil(lease, LEASE_SECONDS);
    // If the lease has ended by now, the work was stopped, and the next lease has a higher epoch.
    if (this.#lease !== lease) return;
    if (!isMine) return this.#lose('it had ended, or another host has it');
    lease.end = end;
    this.#watch(lease);
  }

  /** Why the lease should go to another host; null if it shouldn't. */
  #lackReason({ since }: CurrentLease): string | null {
    if (this.#options.clock.monotonic() - since < LACKING_MS) return null;
    try {
      return this.#work.lacks();
    } catch (error) {
      if (unavailable(error) === null) throw error;
      return null;
    }
  }

  /** Ends the work when the lease ends, even if `hasLease` isn't called. */
  #watch(lease: CurrentLease): void {
    lease.cancelTimer();
    lease.cancelTimer = this.#options.clock.after(Math.max(0, this.#remaining(lease)), () => {
      if (this.#lease !== lease) return;
      if (this.#remaining(lease) > 0) this.#watch(lease);
      else this.#lose(LATE);
    });
  }

  #lose(reason: string): void {
    if (this.#lease === null) return;
    this.#options.say({ event: 'delivery_lease_changed', held: false, epoch: this.#lease.epoch, reason });
    this.#end(this.#lease);
  }

  #end(lease: CurrentLease): void {
    this.#lease = null;
    lease.cancelTimer();
    lease.loss.abort();
    this.#workEnd = this.#work.stop();
  }

  async #giveUp(lease: CurrentLease, reason: string): Promise<void> {
    this.#lose(reason);
    // Otherwise this host would get the lease again before others request it.
    this.#restsUntil = this.#endFromNow();
    await this.#workEnd;
    await this.#release(lease);
  }

  async #release(lease: Pick<CurrentLease, 'epoch'>): Promise<void> {
    try {
      await this.#setUntil(lease, 0);
    } catch (error) {
      // A lease that can't be released ends by itself later.
      if (!isTransient(error)) throw error;
    }
  }
}

interface DeliveryLeaseOptions extends Pick<LeaseKeeperOptions, 'leases' | 'clock' | 'say'> {
  host: Pick<ClusterHost, 'isNear' | 'caughtUp'>;
  /** Name of the host. */
  name: string;
  ingest: Pick<Ingest, 'health' | 'hooks'>;
  random: RandomSource;
}

/** The lease for delivering chainhooks, and for other work that one host of a cluster does at a time. */
export const deliveryLease = ({ host, name, ingest, ...options }: DeliveryLeaseOptions): LeaseKeeper =>
  new LeaseKeeper({
    ...options,
    name: 'deliveries',
    host: name,
    process: options.random.uuid(),
    isFit: () => host.isNear() && ingest.health.failing() === null,
    caughtUp: (signal) => host.caughtUp(signal),
    epochSeen: () => ingest.hooks.records.epoch(),
  });
