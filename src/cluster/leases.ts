/**
 * Leases that one host holds at a time, such as the one to deliver chainhooks. The engine's clock decides when a lease ends,
 * and each holder gets a higher epoch than all before. A host that doesn't notice the loss of its lease does the same work as
 * the next holder, so only work that may be done twice may depend on a lease.
 */
import type { EngineAccess } from './engine-tables.ts';

export interface LeaseOptions {
  name: string;
  /** The requesting process, as a text that no other process has used; or its host, which may then get the lease again. */
  holder: string;
  /** Seconds until the lease ends unless it is renewed. */
  seconds: number;
  /** The highest epoch that the caller has seen. A restored engine may have lost it. */
  epochSeen: number;
}

type LeaseKey = Pick<LeaseOptions, 'name' | 'holder'> & { epoch: number };

export interface LeaseHolder {
  /** Null if unknown: the lease changed at the same moment. */
  holder: string | null;
  epoch: number | null;
}

/** Operations on leases, each atomic. @throws LogUnavailableError, LogUnknownOutcomeError */
export interface LeaseEngine {
  /**
   * Gives the lease to the caller, unless another host holds it. The epoch is higher than every earlier one, even if the
   * holder asks again, such as after an error.
   * @returns the new epoch, or the present holder
   */
  give(lease: LeaseOptions): Promise<{ newEpoch: number } | LeaseHolder>;
  /**
   * Sets how long a lease lasts from now on.
   * @returns whether the lease was still held with that epoch; else nothing changed
   */
  setUntil(lease: LeaseKey, seconds: number): Promise<boolean>;
}

const UNTIL = "clock_timestamp() + $3 * interval '1 second'";

/** The leases of a log, in a table of PostgreSQL. */
export function postgresLeases({ engine, tables }: EngineAccess): LeaseEngine {
  const { lease } = tables;
  const give =
    `WITH given AS (INSERT INTO ${lease} AS held (name, holder, epoch, until) VALUES ($1, $2, $4::bigint + 1, ${UNTIL})` +
    ' ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,' +
    ' epoch = greatest(held.epoch + 1, excluded.epoch), until = excluded.until' +
    ' WHERE held.until <= clock_timestamp() OR held.holder = excluded.holder RETURNING epoch)' +
    ' SELECT epoch, NULL AS holder FROM given' +
    ` UNION ALL SELECT epoch, holder FROM ${lease} WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM given)`;
  const setUntil =
    `UPDATE ${lease} SET until = ${UNTIL}` +
    ' WHERE name = $1 AND holder = $2 AND epoch = $4 AND until > clock_timestamp() RETURNING epoch';
  return {
    async give({ name, holder, seconds, epochSeen }) {
      const values = [name, holder, seconds, epochSeen];
      const rows = await engine.write(({ run }) => run<{ epoch: string; holder: string | null }>(give, values));
      const [row] = rows;
      if (row === undefined) return { holder: null, epoch: null } satisfies LeaseHolder;
      const epoch = Number(row.epoch);
      return row.holder === null ? { newEpoch: epoch } : { holder: row.holder, epoch };
    },
    async setUntil({ name, holder, epoch }, seconds) {
      const rows = await engine.write(({ run }) => run(setUntil, [name, holder, seconds, epoch]));
      return rows.length === 1;
    },
  };
}

export interface LeaseState {
  name: string;
  holder: string;
  epoch: number;
  /** Seconds until it ends, by the engine's clock; 0 once it has ended. */
  seconds_left: number;
}

/** All leases that were given at any time, by name. @throws LogUnavailableError */
export async function readLeases({ engine, tables }: EngineAccess): Promise<LeaseState[]> {
  const rows = await engine.read((run) =>
    run<Omit<LeaseState, 'epoch'> & { epoch: string }>(
      'SELECT name, holder, epoch, greatest(0, extract(epoch FROM until - clock_timestamp()))::float8 AS seconds_left' +
        ` FROM ${tables.lease} ORDER BY name`,
    ),
  );
  return rows.map((row) => ({ ...row, epoch: Number(row.epoch) }));
}
