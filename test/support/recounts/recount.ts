/** The interface of a recount, and the two forms that most recounts have. */
import type { Database } from 'bun:sqlite';
import { positionText } from '../../../src/chain/position.ts';

/** Compares derived rows of an index with the rows that they were made from. */
export interface Recount {
  /** Name of the comparison. */
  name: string;
  /** Yields a sentence for each problem. */
  find(db: Database): Iterable<string>;
}

type Cell = string | number | Uint8Array | null;

const shown = (column: string, value: Cell): string => {
  if (column === 'position') return positionText(Number(value));
  return `${column} ${value instanceof Uint8Array ? `0x${value.toHex()}` : value}`;
};

/** Makes a recount whose query finds a row for each problem. */
export const none = (name: string, sql: string): Recount => ({
  name,
  *find(db) {
    for (const row of db.query<Record<string, Cell>, []>(sql).iterate())
      yield Object.entries(row)
        .map(([column, value]) => shown(column, value))
        .join(', ');
  },
});

/** The value of a column of the newest block, in a query. A chain without a block has 0. */
export const atTip = (column: string): string =>
  `coalesce((SELECT ${column} FROM blocks ORDER BY height DESC LIMIT 1), 0)`;

/** Makes a recount of a stored number. @param sql a query of one row: `stored` and `counted` */
export const equal = (name: string, sql: string): Recount => ({
  name,
  find(db) {
    const row = db.query<{ stored: number; counted: number }, []>(sql).get();
    return row !== null && row.stored === row.counted ? [] : [`stored ${row?.stored}, counted ${row?.counted}`];
  },
});
