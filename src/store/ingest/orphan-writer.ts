/** The blocks that are known and not canonical, and by which transactions they are found. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { deployedContract } from '../effects/payload-columns.ts';
import { inserterIfAbsent, table } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { orphanedBlocksTable, orphanedTransactionsTable } from '../tables/orphans.ts';

export type OrphanedBlock = Stored<
  typeof orphanedBlocksTable,
  'height' | 'index_block_hash' | 'parent_index_block_hash'
>;

export type OrphanWriter = ReturnType<typeof orphanWriter>;

export function orphanWriter(db: Database) {
  const blocks = table(db, orphanedBlocksTable);
  // A transaction may stand twice in a chain of old, and so in a block 1 with the genesis transactions.
  const addTransaction = inserterIfAbsent(db, orphanedTransactionsTable);
  const removeTransaction = db.prepare<null, [Uint8Array, Uint8Array]>(
    'DELETE FROM orphaned_transactions WHERE tx_id = ?1 AND index_block_hash = ?2',
  );
  const find = db.prepare<OrphanedBlock, [Uint8Array]>(
    'SELECT height, index_block_hash, parent_index_block_hash FROM orphaned_blocks WHERE index_block_hash = ?1',
  );

  return {
    find: (indexBlockHash: Uint8Array): OrphanedBlock | null => find.get(indexBlockHash),

    /** Block 0, which is kept with the orphans, is found by none of its transactions: block 1 has them. */
    add(block: Block): void {
      const index_block_hash = block.indexBlockHash;
      blocks.add({
        index_block_hash,
        height: block.height,
        parent_index_block_hash: block.parentIndexBlockHash,
        block_hash: block.blockHash,
        burn_block_hash: block.burnBlockHash,
        burn_block_height: block.burnBlockHeight,
      });
      if (block.height === 0) return;
      for (const transaction of block.transactions) {
        addTransaction({ tx_id: transaction.txId, index_block_hash, contract: deployedContract(transaction) });
      }
    },

    /** Forgets what the index holds of a block as an orphan: it becomes canonical. */
    remove({ indexBlockHash, transactions }: Block): void {
      blocks.remove({ index_block_hash: indexBlockHash });
      for (const { txId } of transactions) removeTransaction.run(txId, indexBlockHash);
    },
  };
}
