/**
 * Keeps a lease for work that one host of a cluster does at a time: asks for it, renews it, and starts and stops the work
 * with it. Whatever the engine does, this host does the work only while no other host can have the lease; a process that was
 * halted learns too late that it lost it, so what it still does must do no harm.
 */
import type { Chance } from '../base/chance.ts';
import { type Clock, pause } from '../base/clock.ts';
import { unavailable } from '../store/files/store-failure.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import type { LeaseEngine, LeaseHolder } from '../store/log/leases.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from '../store/log/shared-log.ts';
import type { ClusterLog, LeaseStatus } from './events.ts';
import type { ClusterHost } from './host.ts';

/** Seconds that a lease lasts unless it is renewed. */
export const LEASE_SECONDS = 6;
/** Milliseconds from one question to the engine to the next: whoever asks has the lease of a dead host within 10 s. */
export const ASK_MS = 2_000;
/** Milliseconds until a host that can't do the work yet looks again whether it can. */
const LOOK_MS = 100;

/**
 * Milliseconds for which a host keeps the lease that can't do all of the work. Then it rests, and whoever asks has the lease;
 * where nobody else does, the host does what it can again.
 */
export const LACKING_MS = 60_000;

/** Why a lease is lost that the engine said nothing of. */
const LATE = 'it was not renewed in time';
/** Why a lease is lost that another host has, whatever the clocks say. */
const OVERTAKEN = 'another host has noted something since, with a higher epoch';

/** What one host does at a time. */
export interface LeasedWork {
  /** @param epoch higher than that of whoever did the work before @throws what the store throws: then it is stopped */
  start(epoch: number): void;
  /** Ends the work: nothing begins once this is called, and nothing goes on once it resolves. Never rejects. */
  stop(): Promise<void>;
  /** Why this host can't do all of it, which another one may; null where it can. @throws what the store throws */
  lacks(): string | null;
}

/** Who does some work, and when. */
export interface Lease {
  /** Does the work from now on while the lease is this host's. */
  start(work: LeasedWork): void;
  /**
   * Whether the lease is this host's for sure. Asked before whatever leaves the process: where it has ended, the work is
   * stopped before this returns.
   */
  isHeld(): boolean;
  /** Ends the work, then the lease, so that another host need not wait. */
  stop(): Promise<void>;
}

/**
 * The lease of a process that has no other beside it: it holds it from the start to the end.
 * @param epochSeen the highest epoch in what this host has, which may have left a cluster
 */
export function ownLease(epochSeen: () => number): Lease {
  let stop = async (): Promise<void> => {};
  return {
    start(work) {
      stop = () => work.stop();
      work.start(epochSeen());
    },
    isHeld: () => true,
    stop: () => stop(),
  };
}

export interface LeaseKeeperOptions {
  leases: LeaseEngine;
  clock: Clock;
  /** What is leased. */
  name: string;
  /** The name of this host. */
  host: string;
  /** A text that no other process of the host has. */
  process: string;
  /** Whether this host can do the work: it has nearly all that the others have, and can write. */
  isFit: () => boolean;
  /**
   * Resolves when this host has all that the log held when it was called, or the signal is aborted: what the host before
   * did is there.
   */
  caughtUp: (signal: AbortSignal) => Promise<void>;
  /** The highest epoch in what this host has. */
  epochSeen: () => number;
  say: ClusterLog;
}

/** Stands between the name of a host and the text of its process. */
const BEFORE_PROCESS = '/';

/** The name of the host that a holder is a process of. */
export const hostOf = (holder: string): string => {
  const end = holder.lastIndexOf(BEFORE_PROCESS);
  return end < 0 ? holder : holder.slice(0, end);
};

const noWork: LeasedWork = { start() {}, async stop() {}, lacks: () => null };

/** What passes by itself is waited for. @throws what doesn't */
function requirePassing(error: unknown): Error {
  if (error instanceof LogUnavailableError || error instanceof LogUnknownOutcomeError) return error;
  throw error;
}

/** The lease as this host was given it. */
interface HeldLease {
  readonly epoch: number;
  /**
   * Milliseconds of the monotonic clock: no other host can be given the lease before. The time begins before the lease was
   * asked for, so that the engine's end is never before it.
   */
  end: number;
}

/** The lease of a host; it is asked for from `start` on. */
export class LeaseKeeper implements Lease {
  readonly #options: LeaseKeeperOptions;
  readonly #holder: string;
  readonly #stopping = new AbortController();
  #work = noWork;
  #held: HeldLease | null = null;
  /** Aborted when what is held is lost. */
  #losing = new AbortController();
  #cancelEnd = () => {};
  /** The end of the work that was stopped last: until then none is started. */
  #ended: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  #changes = 0;
  /** Whether the engine failed when it was asked last. */
  #isFailing = false;
  /** When the lease was gained: milliseconds of the monotonic clock. */
  #heldSince = 0;
  /** The host leaves the lease to others until then: milliseconds of the monotonic clock. */
  #restsUntil = Number.NEGATIVE_INFINITY;
  /** Who had the lease when it was asked for last. */
  #last: LeaseHolder = { holder: null, epoch: null };

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#holder = `${options.host}${BEFORE_PROCESS}${options.process}`;
  }

  start(work: LeasedWork): void {
    this.#work = work;
    this.#running = this.#run();
  }

  isHeld(): boolean {
    if (this.#held === null) return false;
    if (this.#remaining(this.#held) <= 0) this.#lose(LATE);
    // What was sent by this lease would count no more, and so be sent again and again.
    else if (this.#options.epochSeen() > this.#held.epoch) this.#lose(OVERTAKEN);
    return this.#held !== null;
  }

  status(): LeaseStatus {
    const { holder, epoch } = this.#last;
    return {
      isHeld: this.#held !== null,
      holder: holder === null ? null : hostOf(holder),
      epoch,
      changes: this.#changes,
    };
  }

  async stop(): Promise<void> {
    const { clock } = this.#options;
    this.#stopping.abort();
    const lease = this.#held;
    if (lease !== null) this.#end();
    await this.#ended;
    const answered = new AbortController();
    const done = Promise.all([lease === null ? null : this.#release(lease), this.#running]);
    void done.then(() => answered.abort());
    // An engine that does not answer holds up nobody: the lease ends by itself.
    await pause(clock, ASK_MS, answered.signal);
  }

  async #run(): Promise<void> {
    const { clock, isFit } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const period = pause(clock, this.#held === null && !isFit() ? LOOK_MS : ASK_MS, signal);
      try {
        await (this.#held === null ? this.#ask() : this.#renew(this.#held));
        this.#isFailing = false;
      } catch (error) {
        // What is held stays held for its time, and is renewed by then or lost.
        this.#failed(requirePassing(error));
      }
      await period;
    }
  }

  #failed(cause: Error): void {
    const isNews = !this.#isFailing && !this.#stopping.signal.aborted;
    this.#isFailing = true;
    if (isNews) this.#options.say({ event: 'delivery_lease_unavailable', reason: cause.message, cause });
  }

  async #ask(): Promise<void> {
    const { leases, clock, name, isFit, epochSeen } = this.#options;
    const { signal } = this.#stopping;
    await this.#ended;
    if (signal.aborted || !isFit() || clock.monotonic() < this.#restsUntil) return;
    const end = this.#endFromNow();
    const answer = await leases.give({ name, holder: this.#holder, seconds: LEASE_SECONDS, epochSeen: epochSeen() });
    if (!('given' in answer)) {
      this.#last = answer;
      return;
    }
    const lease = { epoch: answer.given, end };
    if (signal.aborted) await this.#release(lease);
    // An answer that took as long as the lease is worth nothing; it is asked for again.
    else if (this.#remaining(lease) > 0) this.#gain(lease);
  }

  #endFromNow(): number {
    return this.#options.clock.monotonic() + LEASE_SECONDS * 1000;
  }

  /** Milliseconds for which a lease is this host's for sure; not above 0 once that has ended. */
  #remaining({ end }: HeldLease): number {
    return end - this.#options.clock.monotonic();
  }

  /** @returns whether the lease was this host's @throws LogUnavailableError, LogUnknownOutcomeError */
  #setUntil({ epoch }: HeldLease, seconds: number): Promise<boolean> {
    const { leases, name } = this.#options;
    return leases.setUntil({ name, holder: this.#holder, epoch }, seconds);
  }

  #gain(lease: HeldLease): void {
    this.#held = lease;
    this.#heldSince = this.#options.clock.monotonic();
    this.#losing = new AbortController();
    this.#changes += 1;
    this.#last = { holder: this.#holder, epoch: lease.epoch };
    this.#watch(lease);
    this.#options.say({ event: 'delivery_lease_gained', epoch: lease.epoch });
    void this.#begin(lease);
  }

  /** Starts the work once what the host before noted is known here. */
  async #begin(lease: HeldLease): Promise<void> {
    const { caughtUp, epochSeen } = this.#options;
    await caughtUp(this.#losing.signal);
    if (this.#held !== lease) return;
    try {
      // What was done with a higher epoch is known only now.
      if (epochSeen() >= lease.epoch) await this.#giveUp(lease, 'a higher epoch was given before');
      else this.#work.start(lease.epoch);
    } catch (error) {
      if (unavailable(error) === null) throw error;
      await this.#giveUp(lease, 'its work could not be started');
    }
  }

  async #renew(lease: HeldLease): Promise<void> {
    if (!this.#options.isFit()) return this.#giveUp(lease, "this host is behind the log, or can't write");
    const lacking = this.#lacking();
    if (lacking !== null) return this.#giveUp(lease, lacking);
    const end = this.#endFromNow();
    const isMine = await this.#setUntil(lease, LEASE_SECONDS);
    // Its time may have ended meanwhile: then the work was stopped, and the next lease has a higher epoch.
    if (this.#held !== lease) return;
    if (!isMine) return this.#lose('it had ended, or another host has it');
    lease.end = end;
    this.#watch(lease);
  }

  /** Why another host is to have its turn; null where none is. */
  #lacking(): string | null {
    if (this.#options.clock.monotonic() - this.#heldSince < LACKING_MS) return null;
    try {
      return this.#work.lacks();
    } catch (error) {
      if (unavailable(error) === null) throw error;
      return null;
    }
  }

  /** Ends the work with the time of the lease, though nobody asks. */
  #watch(lease: HeldLease): void {
    this.#cancelEnd();
    this.#cancelEnd = this.#options.clock.after(Math.max(0, this.#remaining(lease)), () => {
      if (this.#held !== lease) return;
      if (this.#remaining(lease) > 0) this.#watch(lease);
      else this.#lose(LATE);
    });
  }

  #lose(reason: string): void {
    if (this.#held === null) return;
    this.#options.say({ event: 'delivery_lease_lost', epoch: this.#held.epoch, reason });
    this.#end();
  }

  #end(): void {
    this.#held = null;
    this.#changes += 1;
    this.#cancelEnd();
    this.#losing.abort();
    this.#ended = this.#work.stop();
  }

  /** Leaves the work to another host. */
  async #giveUp(lease: HeldLease, reason: string): Promise<void> {
    const { clock } = this.#options;
    this.#lose(reason);
    // Else it would have it again before others ask.
    this.#restsUntil = clock.monotonic() + LEASE_SECONDS * 1000;
    await this.#ended;
    await this.#release(lease);
  }

  async #release(lease: HeldLease): Promise<void> {
    try {
      await this.#setUntil(lease, 0);
    } catch (error) {
      // A lease that is not released ends by itself, somewhat later.
      requirePassing(error);
    }
  }
}

interface DeliveryLeaseOptions {
  leases: LeaseEngine;
  host: Pick<ClusterHost, 'isNear' | 'caughtUp'>;
  /** The name of the host. */
  name: string;
  ingest: Pick<Ingest, 'health' | 'hooks'>;
  clock: Clock;
  chance: Pick<Chance, 'uuid'>;
  say: ClusterLog;
}

/** The lease of the host that delivers chainhooks, and does what else one host of a cluster does at a time. */
export const deliveryLease = ({ host, name, ingest, chance, ...options }: DeliveryLeaseOptions): LeaseKeeper =>
  new LeaseKeeper({
    ...options,
    name: 'deliveries',
    host: name,
    process: chance.uuid(),
    isFit: () => host.isNear() && ingest.health.failing() === null,
    caughtUp: (signal) => host.caughtUp(signal),
    epochSeen: () => ingest.hooks.records.epoch(),
  });
