/**
 * The hot-row cache: rows that many blocks change, such as rows of busy accounts. Each is read once, changed in memory, and
 * written before the commit. All writers of a connection share the caches. Counts of rows are written at once.
 */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { CounterKind } from '../rows/enums.ts';
import { countAdder, type KeyOf, type NewRow, type StoredRow, type TableShape, table } from '../rows/table.ts';
import {
  accountsTable,
  assetTotalsTable,
  countersTable,
  dailyCountsTable,
  ftBalancesTable,
  nftHoldingsTable,
} from '../rows/tables.ts';

interface CachedRow<R> {
  /** Null if the table has no such row. */
  row: R | null;
  /** Whether the table's row differs. */
  isChanged: boolean;
}

/** Maximum number of cached rows of a table; rows of accounts then take some 4 MB. */
const MAX_CACHED = 8_000;

/** Makes a cache of a table with integers below 2^53, texts and bytes. @param maxRows maximum number of rows */
export function rowCache<S extends TableShape>(db: Database, shape: S, maxRows = MAX_CACHED) {
  const stored = table(db, shape);
  const names = shape.key as readonly (keyof KeyOf<S>)[];
  const rows = new Map<SQLQueryBindings, CachedRow<StoredRow<S>>>();
  let changed: [key: KeyOf<S>, cached: CachedRow<StoredRow<S>>][] = [];

  const [first, ...others] = names;
  function cacheKeyOf(key: KeyOf<S>): SQLQueryBindings {
    let text = key[first!] as SQLQueryBindings;
    for (const name of others) text = `${text}/${key[name]}`;
    return text;
  }

  function store(): void {
    const writing = changed;
    changed = [];
    for (const [key, cached] of writing) {
      cached.isChanged = false;
      if (cached.row === null) stored.removeIfPresent(key);
      else stored.put(cached.row as unknown as NewRow<S>);
    }
  }

  function forget(): void {
    rows.clear();
    changed = [];
  }

  function cache(cacheKey: SQLQueryBindings, row: StoredRow<S> | null): CachedRow<StoredRow<S>> {
    if (rows.size >= maxRows) {
      store();
      forget();
    }
    const cached = { row, isChanged: false };
    rows.set(cacheKey, cached);
    return cached;
  }

  function change(key: KeyOf<S>, row: StoredRow<S> | null): void {
    const cacheKey = cacheKeyOf(key);
    const cached = rows.get(cacheKey) ?? cache(cacheKey, row);
    cached.row = row;
    if (!cached.isChanged) changed.push([key, cached]);
    cached.isChanged = true;
  }

  return {
    /** The row in the open transaction; null if there is none. Must not be changed: `put` replaces it. */
    get(key: KeyOf<S>): StoredRow<S> | null {
      const cacheKey = cacheKeyOf(key);
      return (rows.get(cacheKey) ?? cache(cacheKey, stored.find(key))).row;
    },
    /** Adds a row, or replaces the one of its key. */
    put: (row: StoredRow<S>) => change(row as unknown as KeyOf<S>, row),
    remove: (key: KeyOf<S>) => change(key, null),
    /** Writes the changed rows; called before each commit, and before others read the table in the open transaction. */
    store,
    /** Discards all rows, because all writes since the last commit are rolled back. */
    forget,
  };
}

/** Makes the caches of the tables. */
export function hotRows(db: Database) {
  const tables = {
    accounts: rowCache(db, accountsTable),
    ftBalances: rowCache(db, ftBalancesTable),
    nftHoldings: rowCache(db, nftHoldingsTable),
    assetTotals: rowCache(db, assetTotalsTable),
    dailyCounts: rowCache(db, dailyCountsTable),
  };
  return {
    ...tables,
    /** Writes the changed rows; called before each commit. */
    store(): void {
      for (const rows of Object.values(tables)) rows.store();
    },
    /** Discards all rows, because all writes since the last commit are rolled back. */
    forget(): void {
      for (const rows of Object.values(tables)) rows.forget();
    },
  };
}
export type HotRows = ReturnType<typeof hotRows>;

/** Adds to a count, or subtracts from it. */
export type Count = (key: string | number, by: number) => void;

/** Makes a function that changes the counts of a kind, in the open transaction. */
export function counter(db: Database, kind: CounterKind): Count {
  const add = countAdder(db, countersTable, 'count');
  return (key, by) => add({ kind, key: String(key), count: by });
}
