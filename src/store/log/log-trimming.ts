/**
 * Trims the shared log: removes its oldest entries. The number and the chain value of the last removed entry stay, so that the
 * first remaining one is proven by them. The role that trims can't append, and that of hosts can't remove.
 */
import type { EngineAccess } from './engine-tables.ts';
import type { Head } from './entry.ts';

/**
 * What trimming came to: the number of removed entries, or why none was removed. `other`: the log has another entry of that
 * number, or none. `held`: a host still needs it, or no host has reported yet.
 */
export type Trimmed = number | 'other' | 'held';

/**
 * Removes an entry and all before it, in one statement, if every host has it. A host that appends names its last entry, and its
 * place is not beyond that while it waits for the answer. So no entry is appended where entries were trimmed meanwhile.
 * @throws LogUnavailableError, LogUnknownOutcomeError; trimming again does no harm
 */
export async function trimLog({ engine, tables }: EngineAccess, { id, chain }: Head): Promise<Trimmed> {
  const { log, hosts, trimmed } = tables;
  const trim =
    `WITH last AS (SELECT 1 FROM ${log} WHERE seq = $1::bigint AND chain = $2::bytea` +
    ` UNION ALL SELECT 1 FROM ${trimmed} WHERE seq > $1::bigint OR (seq = $1::bigint AND chain = $2::bytea)),` +
    ` free AS (SELECT 1 FROM last WHERE $1::bigint <= (SELECT min(seq) FROM ${hosts})),` +
    ` marked AS (UPDATE ${trimmed} SET seq = $1::bigint, chain = $2::bytea` +
    ' WHERE seq < $1::bigint AND EXISTS (SELECT 1 FROM free)),' +
    ` removed AS (DELETE FROM ${log} WHERE seq <= $1::bigint AND EXISTS (SELECT 1 FROM free) RETURNING 1)` +
    ' SELECT (SELECT count(*) FROM last)::integer AS known, (SELECT count(*) FROM free)::integer AS free,' +
    ' (SELECT count(*) FROM removed)::integer AS removed';
  interface Row {
    known: number;
    free: number;
    removed: number;
  }
  const [{ known, free, removed } = { known: 0, free: 0, removed: 0 }] = await engine.write(({ run }) =>
    run<Row>(trim, [id, chain]),
  );
  if (known === 0) return 'other';
  return free === 0 ? 'held' : removed;
}

/**
 * Forgets the report of a host that is gone, which holds back trimming.
 * @returns whether there was one
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function dropHost({ engine, tables }: EngineAccess, name: string): Promise<boolean> {
  const drop = `DELETE FROM ${tables.hosts} WHERE name = $1 RETURNING 1`;
  return (await engine.write(({ run }) => run(drop, [name]))).length > 0;
}
