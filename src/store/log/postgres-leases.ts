/** Leases in a table of PostgreSQL. */
import type { LeaseEngine, TakenLease } from './leases.ts';
import type { EngineAccess } from './postgres-log.ts';

/** A lease as the engine has it. */
export interface LeaseState {
  name: string;
  holder: string;
  epoch: number;
  /** Seconds that are left by the engine's clock; 0 once it has ended. */
  seconds: number;
}

const UNTIL = "clock_timestamp() + $3 * interval '1 second'";

/** The leases of a log. */
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
      if (row === undefined) return { holder: null, epoch: null } satisfies TakenLease;
      const epoch = Number(row.epoch);
      return row.holder === null ? { given: epoch } : { holder: row.holder, epoch };
    },
    async setUntil({ name, holder, epoch }, seconds) {
      const rows = await engine.write(({ run }) => run(setUntil, [name, holder, seconds, epoch]));
      return rows.length === 1;
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
