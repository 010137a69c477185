/** How many transactions there are of each type, and calls of functions of each name. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';

/** Counts kept in a table of two columns; a row exists while its count isn't zero. */
function counts<K extends number | string>(db: Database, table: string, key: string, column: string) {
  const move = db.prepare<null, [K, number]>(
    `INSERT INTO ${table} VALUES (?1, ?2) ON CONFLICT (${key}) DO UPDATE SET ${column} = ${column} + ?2`,
  );
  const removeEmpty = db.prepare<null, [K]>(`DELETE FROM ${table} WHERE ${key} = ?1 AND ${column} = 0`);
  return (sign: 1 | -1, moved: ReadonlyMap<K, number>): void => {
    for (const [name, count] of moved) {
      move.run(name, sign * count);
      if (sign === -1) removeEmpty.run(name);
    }
  };
}

/** What applies the effects on these counts through this connection. */
export function tallyWriter(db: Database) {
  const types = counts<number>(db, 'transaction_types', 'type', 'transactions');
  const functions = counts<string>(db, 'called_functions', 'name', 'calls');
  return (effect: Extract<Effect, { kind: 'tallies' }>): void => {
    types(effect.sign, effect.types);
    functions(effect.sign, effect.functions);
  };
}
