/** Finds the journal's entries with the payloads of blocks, to revert a block or to apply it again. */
import type { Database } from 'bun:sqlite';
import { type EntryReader, missingPayload } from '../files/payload-source.ts';
import { query, type Stored } from '../rows/statement.ts';
import { inserter } from '../rows/table.ts';
import { blockPayloadsTable } from '../rows/tables.ts';

export type BlockPayloads = ReturnType<typeof blockPayloads>;

export function blockPayloads(db: Database, journal: EntryReader) {
  const insert = inserter(db, blockPayloadsTable);
  const find = query<Stored<'block_payloads', 'journal_id'>, [Uint8Array]>`
    SELECT journal_id FROM block_payloads WHERE index_block_hash = ?1`.prepared(db);
  const move = query<null, [Uint8Array, number]>`
    UPDATE block_payloads SET journal_id = ?2 WHERE index_block_hash = ?1`.prepared(db);

  return {
    /** Stores the number of the journal's entry with a block's payload. */
    store(indexBlockHash: Uint8Array, journalId: number): void {
      insert({ index_block_hash: indexBlockHash, journal_id: journalId });
    },

    /** Replaces a block's payload with another entry's payload. */
    replace(indexBlockHash: Uint8Array, journalId: number): void {
      move.run(indexBlockHash, journalId);
    },

    /**
     * Returns the JSON text of a block's payload.
     * @throws OperatorError if the journal doesn't have it
     */
    read(indexBlockHash: Uint8Array): string {
      const row = find.get(indexBlockHash);
      const text = row === null ? undefined : journal.read(row.journal_id)?.text;
      if (text === undefined) throw missingPayload(indexBlockHash);
      return text;
    },
  };
}
