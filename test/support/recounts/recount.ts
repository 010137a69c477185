/** The interface of a recount, and the two forms that most recounts have. */
import type { Database } from 'bun:sqlite';

/** Compares derived rows of an index with the rows that they were made from. */
export interface Recount {
  /** Name of the comparison. */
  name: string;
  /** Yields a sentence for each problem. */
  find(db: Database): Iterable<string>;
}

/** Makes a recount whose query finds a row for each problem. */
export const none = <Row>(name: string, sql: string, sentence: (row: Row) => string): Recount => ({
  name,
  *find(db) {
    for (const row of db.query<Row, []>(sql).iterate()) yield sentence(row);
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
