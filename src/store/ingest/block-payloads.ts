/** Finds the journal's entries with the payloads of blocks, to revert a block or to apply it again. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import type { EntryReader } from '../files/payload-source.ts';
import type { Stored } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { blockPayloadsTable } from '../rows/tables.ts';

/**
 * Number of canonical blocks below the tip whose payloads and mempool receipts are retained where the journal is trimmed.
 * No deeper reorganization than this many Stacks blocks (some days of Bitcoin) has been seen.
 */
export const RETAINED_BLOCKS = 6_000;

export type BlockPayloads = ReturnType<typeof blockPayloads>;

export function blockPayloads(db: Database, journal: EntryReader) {
  const insert = inserter(db, blockPayloadsTable);
  const find = db.prepare<Stored<'block_payloads', 'journal_id'>, [Uint8Array]>(
    'SELECT journal_id FROM block_payloads WHERE index_block_hash = ?1',
  );
  return {
    /** Stores the number of the journal's entry with a block's payload. */
    store(indexBlockHash: Uint8Array, journalId: number): void {
      insert({ index_block_hash: indexBlockHash, journal_id: journalId });
    },

    /**
     * The JSON text of a block's payload.
     * @throws OperatorError where the journal no longer has it
     */
    read(indexBlockHash: Uint8Array): string {
      const row = find.get(indexBlockHash);
      const text = row === null ? undefined : journal.read(row.journal_id)?.text;
      if (text === undefined) {
        throw new OperatorError(
          `A fork needs the payload of block 0x${indexBlockHash.toHex()}, which is not stored.`,
          'Run with the journal that this index was built from, or import the chain into another directory.',
        );
      }
      return text;
    },
  };
}
