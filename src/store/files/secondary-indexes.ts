/**
 * Secondary indexes, which an import or rebuild leaves out. Only lists need them. Each transaction would change a page of
 * most of these indexes. For a chain that is larger than the memory, most written pages would be pages of indexes. At the
 * end of the load, each index is built at once from sorted entries.
 *
 * The load creates the indexes that the file lacks, so an interrupted load doesn't need a note.
 */

import type { Database } from 'bun:sqlite';
import { dirname } from 'node:path';
import schema from '../../../schema.sql' with { type: 'text' };
import { OperatorError } from '../../base/errors.ts';
import { query } from '../rows/statement.ts';
import { sortingIn } from './connection.ts';

export { schema };

/** The statement of schema.sql that creates a non-unique index. */
function creationOf(index: string): string {
  const start = schema.indexOf(`CREATE INDEX ${index} `);
  if (start === -1) throw new Error(`schema.sql makes no ${index}`);
  return schema.slice(start, schema.indexOf(';\n', start));
}

/** Names of the indexes, in the order of their creation. */
export const secondaryIndexes = [
  'blocks_by_block_hash',
  'blocks_by_time',
  'blocks_by_preceding',
  'blocks_by_tenure',
  'anchor_burn_blocks_by_hash',
  'anchor_burn_blocks_by_time',
  'transactions_by_tx_id',
  'transactions_by_type',
  'transactions_by_fee',
  'transactions_by_sender',
  'transactions_by_called_contract',
  'transactions_by_function',
  'transactions_by_call',
  'transactions_by_nonce',
  'events_stx_inbound',
  'events_stx_outbound',
  'events_ft_inbound',
  'events_ft_outbound',
  'events_ft',
  'events_nft_mints',
  'daily_counts_by_count',
  'asset_totals_by_holders',
  'accounts_by_balance',
  'ft_balances_by_asset',
  'ft_balances_by_principal',
  'ft_balances_by_identifier',
  'nft_instances_by_owner',
  'nft_instances_by_receipt',
  'nft_instances_of_asset_by_receipt',
  'mempool_pending_by_sender',
  'mempool_pending_by_sponsor',
  'mempool_dropped_by_sender',
  'mempool_pending_fees',
  'mempool_pending_by_fee',
  'mempool_pending_by_size',
] as const;

type SecondaryIndex = (typeof secondaryIndexes)[number];

function missingIn<Name extends string>(db: Database, names: readonly Name[]): Name[] {
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'index'").all();
  const present = new Set(rows.map(({ name }) => name));
  return names.filter((name) => !present.has(name));
}

/** The secondary indexes that a file lacks; none if no load is under way or was interrupted. */
export const missingSecondaryIndexes = (db: Database): SecondaryIndex[] => missingIn(db, secondaryIndexes);

/** Removes the secondary indexes from a new file, before it is filled. */
export function leaveOutSecondaryIndexes(db: Database): void {
  for (const name of secondaryIndexes) db.run(`DROP INDEX ${name}`);
}

/** Names of all indexes that aren't constraints, in the order of schema.sql. */
const allIndexes = [...schema.matchAll(/^CREATE INDEX (\w+) /gm)].map(([, name = '']) => name);

/** The indexes that a writer needs: all but constraints and secondary indexes. */
const writersIndexes = allIndexes.filter((name) => !(secondaryIndexes as readonly string[]).includes(name));

/** Removes the indexes that a writer needs, from a new file that is filled with rows before it is written to. */
export function leaveOutWritersIndexes(db: Database): void {
  for (const name of writersIndexes) db.run(`DROP INDEX ${name}`);
}

/**
 * Makes the indexes that a writer needs and that the file lacks, as {@link makeSecondaryIndexes} does the others.
 * @param path of the file
 */
export const makeWritersIndexes = (db: Database, path: string): Generator<SecondaryIndexProgress> =>
  makeIndexes(db, path, writersIndexes);

export interface SecondaryIndexProgress {
  index: string;
  /** Number of the index among those to make, from 1 on. */
  number: number;
  /** Number of indexes to make. */
  total: number;
  /** Bytes of the file and of its write-ahead log. */
  bytes: number;
}

/**
 * Makes the secondary indexes that a file lacks, one after each value that it yields, outside any transaction. Each has a
 * separate commit, so that an interrupted run continues with the next one. Entries are sorted in files next to the index.
 * @param path of the file
 */
export const makeSecondaryIndexes = (db: Database, path: string): Generator<SecondaryIndexProgress> =>
  makeIndexes(db, path, secondaryIndexes);

function* makeIndexes(db: Database, path: string, names: readonly string[]): Generator<SecondaryIndexProgress> {
  const missing = missingIn(db, names);
  // Sorting takes as much memory as the page cache, which isn't needed any more.
  if (missing.length > 0) db.run('PRAGMA shrink_memory');
  const pages = query<{ pages: number; size: number }>`
    SELECT page_count AS pages, page_size AS size FROM pragma_page_count, pragma_page_size`.prepared(db);
  for (const [index, name] of missing.entries()) {
    const file = pages.get();
    yield { index: name, number: index + 1, total: missing.length, bytes: (file?.pages ?? 0) * (file?.size ?? 0) };
    sortingIn(dirname(path), db, () => db.run(creationOf(name)));
  }
}

/** Requires all secondary indexes: without them a page of a list would read the whole table. @throws OperatorError */
export function requireSecondaryIndexes(db: Database, path: string): void {
  if (missingSecondaryIndexes(db).length === 0) return;
  throw new OperatorError(
    `${path} is being loaded and doesn't have all of its indexes yet.`,
    'Wait for the end of the import. If none is running, start stackside serve, which creates the missing indexes.',
  );
}
