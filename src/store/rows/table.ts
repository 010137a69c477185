/** Adding and taking away rows of a table by their key. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';

type Values = SQLQueryBindings[];

/** Adds rows of a table, and takes them away by their key: the first `keys` columns. */
export function table(db: Database, name: string, columns: readonly string[], keys: number) {
  const insert = db.prepare(
    `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map((_, i) => `?${i + 1}`).join(', ')})`,
  );
  const where = columns.slice(0, keys).map((column, i) => `${column} = ?${i + 1}`);
  const remove = db.prepare(`DELETE FROM ${name} WHERE ${where.join(' AND ')}`);
  return {
    add: (...values: Values) => {
      insert.run(...values);
    },
    remove: (...key: Values) => {
      if (remove.run(...key).changes !== 1) throw new Error(`${name} had no row to take away`);
    },
  };
}
