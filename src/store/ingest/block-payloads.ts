/** Where the payloads of blocks are read again, to revert a block or to apply it once more. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import type { Journal } from '../files/journal.ts';
import { type PayloadSource, payloadText, type SourceColumns, sourceColumns } from '../files/payload-source.ts';
import { inserter } from '../rows/table.ts';
import { blockPayloadsTable } from '../tables/orphans.ts';

/**
 * Canonical blocks below the tip whose payloads are kept in the index when there is no journal, and the receipts of their
 * transactions. Deeper reorganizations than this many Stacks blocks (some days of Bitcoin) have not been seen.
 */
export const KEPT_BLOCKS = 6_000;

export type BlockPayloads = ReturnType<typeof blockPayloads>;

export function blockPayloads(db: Database, journal: Journal | null) {
  const insert = inserter(db, blockPayloadsTable);
  const find = db.prepare<SourceColumns, [Uint8Array]>(
    'SELECT journal_id, payload FROM block_payloads WHERE index_block_hash = ?1',
  );
  const forget = db.prepare<null, [number]>(
    `DELETE FROM block_payloads
      WHERE index_block_hash = (SELECT index_block_hash FROM blocks WHERE height = ?1) AND payload IS NOT NULL`,
  );
  return {
    keep(indexBlockHash: Uint8Array, source: PayloadSource): void {
      insert({ index_block_hash: indexBlockHash, ...sourceColumns(source) });
    },

    /**
     * The JSON text of a block's payload.
     * @throws OperatorError where it is kept no more
     */
    read(indexBlockHash: Uint8Array): string {
      const row = find.get(indexBlockHash);
      const text = row === null ? undefined : payloadText(row, journal);
      if (text === undefined) {
        throw new OperatorError(
          `A fork needs the payload of block 0x${indexBlockHash.toHex()}, which is not stored.`,
          'Run with the journal that this index was built from, or import the chain into another directory.',
        );
      }
      return text;
    },

    /** Called when the tip has reached `height`. */
    forgetBelow(height: number): void {
      if (height > KEPT_BLOCKS) forget.run(height - KEPT_BLOCKS);
    },
  };
}
