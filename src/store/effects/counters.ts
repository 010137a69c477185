/** Writes counts of rows. */
import type { Database } from 'bun:sqlite';
import type { CounterKind } from '../rows/enums.ts';
import { query } from '../rows/statement.ts';
import { upserter } from '../rows/table.ts';
import { countersTable } from '../rows/tables.ts';

/** Adds to a count, or subtracts from it. */
export type Count = (key: string | number, by: number) => void;

/** Makes a function that changes the counts of a kind, in the open transaction. */
export function counter(db: Database, kind: CounterKind): Count {
  const add = upserter(db, countersTable, { summed: ['count'] });
  const remove = query<null, [number, string]>`
    DELETE FROM counters WHERE kind = ?1 AND key = ?2 AND count = 0`.prepared(db);
  return (key, by) => {
    const text = String(key);
    add({ kind, key: text, count: by });
    if (by < 0) remove.run(kind, text);
  };
}
