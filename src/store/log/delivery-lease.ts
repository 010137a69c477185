/**
 * A lease that one host holds at a time, such as the one to deliver chainhooks. The engine's clock decides when a lease has
 * ended, and each holder gets an epoch that is higher than all before. A lease that is lost without being noticed can only
 * make two hosts do the same work: nothing that must not happen twice may depend on it.
 */
import type { EngineAccess } from './postgres-log.ts';

export interface LeaseOptions {
  /** What is leased. */
  name: string;
  /** Who asks: a text that no other process uses, or used before. */
  holder: string;
  /** Seconds that it lasts unless it is renewed. */
  seconds: number;
}

/** A lease as the engine has it. */
export interface LeaseState {
  name: string;
  holder: string;
  epoch: number;
  /** Seconds that are left by the engine's clock; 0 once it has ended. */
  seconds: number;
}

/** A lease that this host was given. */
export interface HeldLease {
  readonly epoch: number;
  /** Whether the lease is this host's for sure: no other host can be given it before this turns false. */
  isHeld(): boolean;
  /**
   * Makes the lease last its full time again.
   * @returns false where it has ended, or another host holds it
   * @throws LogUnavailableError, LogUnknownOutcomeError; the lease then stays what it was
   */
  renew(): Promise<boolean>;
  /** Ends the lease, so that another host need not wait. @throws LogUnavailableError, LogUnknownOutcomeError */
  release(): Promise<void>;
}

const UNTIL = "clock_timestamp() + $3 * interval '1 second'";

/**
 * Asks for a lease. Whoever asks again, such as after an error, gets it with the next epoch.
 * @returns null while another host holds it
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function acquireLease(access: EngineAccess, options: LeaseOptions): Promise<HeldLease | null> {
  const { name, holder, seconds } = options;
  const { lease } = access.tables;
  const acquire =
    `INSERT INTO ${lease} AS held (name, holder, epoch, until) VALUES ($1, $2, 1, ${UNTIL})` +
    ' ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = held.epoch + 1, until = excluded.until' +
    ' WHERE held.until <= clock_timestamp() OR held.holder = excluded.holder RETURNING epoch';
  // The time of the lease begins before it is asked for, so that the engine's end is never before the holder's.
  const start = access.clock.monotonic();
  const [row] = await access.engine.write(({ run }) => run<{ epoch: string }>(acquire, [name, holder, seconds]));
  return row === undefined ? null : heldLease(access, options, Number(row.epoch), start);
}

/** @param start when it was asked for, in milliseconds of the monotonic clock */
function heldLease(
  { engine, tables, clock }: EngineAccess,
  options: LeaseOptions,
  epoch: number,
  start: number,
): HeldLease {
  const { name, holder, seconds } = options;
  const mine = 'name = $1 AND holder = $2 AND epoch = $4 AND until > clock_timestamp()';
  let end = start + seconds * 1000;

  /** @returns whether the lease was still this host's */
  async function setUntil(length: number): Promise<boolean> {
    const update = `UPDATE ${tables.lease} SET until = ${UNTIL} WHERE ${mine} RETURNING epoch`;
    const rows = await engine.write(({ run }) => run(update, [name, holder, length, epoch]));
    return rows.length === 1;
  }

  return {
    epoch,
    isHeld: () => clock.monotonic() < end,
    async renew() {
      const asked = clock.monotonic();
      const isMine = await setUntil(seconds);
      end = isMine ? asked + seconds * 1000 : Number.NEGATIVE_INFINITY;
      return isMine;
    },
    async release() {
      end = Number.NEGATIVE_INFINITY;
      await setUntil(0);
    },
  };
}

/** All leases that were ever given, by name. @throws LogUnavailableError */
export async function readLeases({ engine, tables }: EngineAccess): Promise<LeaseState[]> {
  const rows = await engine.read((run) =>
    run<{ name: string; holder: string; epoch: string; seconds: number }>(
      'SELECT name, holder, epoch, greatest(0, extract(epoch FROM until - clock_timestamp()))::float8 AS seconds' +
        ` FROM ${tables.lease} ORDER BY name`,
    ),
  );
  return rows.map((row) => ({ ...row, epoch: Number(row.epoch) }));
}
