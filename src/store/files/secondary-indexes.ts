/**
 * Indexes that a long load goes on without. Lists are read by them, and nothing of a load is; yet each transaction would
 * change a page of most of them, and where a chain is longer than the memory is large, these pages are nearly all that is
 * written. At the end of the load each is made at once, of its sorted entries.
 *
 * The file itself says which are still to be made: those that it lacks. So a load that was interrupted needs no note.
 */

import type { Database } from 'bun:sqlite';
import { dirname } from 'node:path';
import schema from '../../../schema.sql' with { type: 'text' };
import { OperatorError } from '../../base/errors.ts';
import { sortingIn } from './connection.ts';

export { schema };

/** The statement of schema.sql that makes an index that may hold a key several times. */
function creationOf(index: string): string {
  const start = schema.indexOf(`CREATE INDEX ${index} `);
  if (start === -1) throw new Error(`schema.sql makes no ${index}`);
  return schema.slice(start, schema.indexOf(';\n', start));
}

/** The names of the indexes, in the order in which these are made. */
export const secondaryIndexes = [
  'blocks_by_block_hash',
  'blocks_by_time',
  'blocks_by_preceding',
  'blocks_by_tenure',
  'anchor_burn_blocks_by_hash',
  'anchor_burn_blocks_by_time',
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
  'accounts_by_balance',
  'accounts_without_stx',
  'ft_balances_by_asset',
  'ft_balances_spent',
  'ft_balances_by_principal',
  'ft_balances_by_identifier',
  'nft_instances_by_owner',
  'nft_instances_by_receipt',
  'nft_instances_of_asset_by_receipt',
  'mempool_pending_by_sender',
  'mempool_pending_by_sponsor',
  'mempool_by_recipient',
  'mempool_pending_fees',
  'mempool_pending_by_fee',
  'mempool_pending_by_size',
] as const;

type SecondaryIndex = (typeof secondaryIndexes)[number];

/** The secondary indexes that a file lacks; none where no load is under way or was interrupted. */
export function missingSecondaryIndexes(db: Database): SecondaryIndex[] {
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'index'").all();
  const present = new Set(rows.map(({ name }) => name));
  return secondaryIndexes.filter((name) => !present.has(name));
}

/** Removes them from a new file, which is loaded without them. */
export function leaveOutSecondaryIndexes(db: Database): void {
  for (const name of secondaryIndexes) db.run(`DROP INDEX ${name}`);
}

/** An index that is about to be made. */
export interface SecondaryIndexProgress {
  index: SecondaryIndex;
  /** The number of the index among those that are made now, from 1 on. */
  number: number;
  /** How many are made now. */
  of: number;
  /** Bytes of the file, with what its log holds. */
  bytes: number;
}

/** A count of pages, and their size. */
interface Pages {
  pages: number;
  size: number;
}

/**
 * Makes the secondary indexes that a file lacks, one after each value it yields, outside any transaction. Each is
 * committed by itself, so that whoever is interrupted goes on with the next one. Entries are sorted in files beside the
 * index.
 * @param path of the file
 */
export function* makeSecondaryIndexes(db: Database, path: string): Generator<SecondaryIndexProgress> {
  const missing = missingSecondaryIndexes(db);
  // Sorting takes as much memory as the cache, whose pages of the load are not read again.
  if (missing.length > 0) db.run('PRAGMA shrink_memory');
  const pages = db.prepare<Pages, []>(
    'SELECT page_count AS pages, page_size AS size FROM pragma_page_count, pragma_page_size',
  );
  for (const [before, index] of missing.entries()) {
    const file = pages.get();
    yield { index, number: before + 1, of: missing.length, bytes: (file?.pages ?? 0) * (file?.size ?? 0) };
    sortingIn(dirname(path), db, () => db.run(creationOf(index)));
  }
}

/** Lists of a file without these indexes would be read in whole for each page. @throws OperatorError for such a file */
export function requireSecondaryIndexes(db: Database, path: string): void {
  if (missingSecondaryIndexes(db).length === 0) return;
  throw new OperatorError(
    `${path} is being loaded, and has not all of its indexes yet.`,
    'Wait for the end of the import. If none is running, start stackside serve, which makes what is missing.',
  );
}
