/** The tables of chainhooks, with the ledger of blocks that hooks were notified of, and the secrets. */
import type { Database } from 'bun:sqlite';
import { logIdentityQuery } from '../queries/blocks/chain.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { hookLedgerTable, hookSecretsTable } from '../rows/tables.ts';
import { backfillReads, hookBackfills } from './backfills.ts';
import { hookCandidates } from './candidates.ts';
import type { LedgerEntry, Secrets } from './model.ts';
import { deliveryReads, hookDeliveries } from './outbox.ts';
import { hookRecords, recordReads } from './records.ts';

/** Reads the identity of the log in hex, which precedes the first hook. */
function requiredIdentity(db: Database): () => string {
  const find = logIdentityQuery(db);
  return () => {
    const identity = find();
    if (identity === null) throw new Error('the log has no identity');
    return identity;
  };
}

/** Reads chainhooks through a connection, as they are committed or in its snapshot. */
export const hookReads = (db: Database) => ({
  records: recordReads(db),
  deliveries: deliveryReads(db),
  secrets: secretReads(db),
  backfills: backfillReads(db),
  logIdentity: requiredIdentity(db),
  candidates: hookCandidates(db),
});
export type HookReads = ReturnType<typeof hookReads>;

/** Reads and writes chainhooks. */
export const hookStore = (db: Database) => ({
  records: hookRecords(db),
  deliveries: hookDeliveries(db),
  ledger: hookLedger(db),
  secrets: hookSecrets(db),
  backfills: hookBackfills(db),
  logIdentity: requiredIdentity(db),
  candidates: hookCandidates(db),
});
export type HookStore = ReturnType<typeof hookStore>;

type Row = Stored<'hook_ledger', 'hook_id' | 'index_block_hash' | 'height' | 'places'>;

/** Statements by name; the plan test reads them. */
export const ledgerSql = {
  ofBlock: query<Row, [Uint8Array]>`
    SELECT l.hook_id, l.index_block_hash, l.height, l.places FROM hook_ledger l
     WHERE l.index_block_hash = ?1 ORDER BY l.hook_id`,
  // Starts from the orphans, which are few, and not from all blocks that the hook was notified of.
  orphansOf: query<Row, [number]>`
    SELECT l.hook_id, l.index_block_hash, l.height, l.places FROM orphaned_blocks o CROSS JOIN hook_ledger l
        ON l.index_block_hash = o.index_block_hash AND l.hook_id = ?1
     WHERE o.height >= (SELECT min(height) FROM hook_ledger WHERE hook_id = ?1) ORDER BY o.height DESC`,
};

const toEntry = ({ hook_id, index_block_hash, height, places }: Row): LedgerEntry => ({
  hookId: hook_id,
  indexBlockHash: index_block_hash,
  height,
  txIndexes: JSON.parse(places) as number[],
});

function hookLedger(db: Database) {
  const entries = table(db, hookLedgerTable, ['height', 'burn_block_height']);
  const removeAllOf = query<null, [number]>`DELETE FROM hook_ledger WHERE hook_id = ?1`.prepared(db);
  const { ofBlock, orphansOf } = statements(db, ledgerSql);
  // A block that left the chain and was not rolled back yet stays, however old it is.
  const removeOld = query<null, [number, number]>`
    DELETE FROM hook_ledger WHERE (index_block_hash, hook_id) IN (
      SELECT l.index_block_hash, l.hook_id FROM hook_ledger l
        JOIN blocks b ON b.index_block_hash = l.index_block_hash
       WHERE l.burn_block_height < ?1
       ORDER BY l.burn_block_height, l.index_block_hash, l.hook_id LIMIT ?2)`.prepared(db);
  return {
    add: (hash: Uint8Array, hookId: number, height: number, burnBlockHeight: number, txIndexes: readonly number[]) => {
      entries.put({
        index_block_hash: hash,
        hook_id: hookId,
        height,
        burn_block_height: burnBlockHeight,
        places: JSON.stringify(txIndexes),
      });
    },
    remove: (hash: Uint8Array, hookId: number) =>
      void entries.removeIfPresent({ index_block_hash: hash, hook_id: hookId }),
    removeAll: (hookId: number) => void removeAllOf.run(hookId),
    ofBlock: (hash: Uint8Array): LedgerEntry[] => ofBlock.all(hash).map(toEntry),
    /** Entries of a hook with orphaned blocks, highest first. */
    orphansOf: (hookId: number): LedgerEntry[] => orphansOf.all(hookId).map(toEntry),
    /** Removes entries of blocks that are too deep in the chain to leave it. @returns how many */
    deleteBelow: (burnBlockHeight: number, limit: number): number => removeOld.run(burnBlockHeight, limit).changes,
  };
}

function secretReads(db: Database) {
  const secrets = table(db, hookSecretsTable);
  const all = query<Stored<'hook_secrets', 'consumer' | 'secret'>>`
    SELECT consumer, secret FROM hook_secrets`.prepared(db);
  return {
    /** The newest secret of each consumer. */
    all: (): { consumer: string; secret: Uint8Array }[] => all.all(),
    find: (consumer: string): Secrets | undefined => {
      const row = secrets.find({ consumer });
      return row === null ? undefined : { secret: row.secret, previous: row.previous, rotatedAt: row.rotated_at };
    },
  };
}

/** Reads and writes the secrets. */
export function hookSecrets(db: Database) {
  const set = query<null, [string, Uint8Array, number]>`
    INSERT INTO hook_secrets VALUES (?1, ?2, NULL, ?3)
    ON CONFLICT (consumer) DO UPDATE SET previous = secret, secret = ?2, rotated_at = ?3`.prepared(db);
  const secrets = table(db, hookSecretsTable);
  return {
    ...secretReads(db),
    /** Sets a consumer's secret. The one before becomes the previous one. */
    set: (consumer: string, secret: Uint8Array, now: number) => void set.run(consumer, secret, now),
    remove: (consumer: string) => void secrets.removeIfPresent({ consumer }),
  };
}
