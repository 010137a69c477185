/** The blocks that are known and not canonical, and by which transactions they are found. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { deployedContract } from '../effects/payload-columns.ts';
import { table } from '../rows/table.ts';

export interface OrphanedBlock {
  height: number;
  index_block_hash: Uint8Array;
  parent_index_block_hash: Uint8Array;
}

export type OrphanWriter = ReturnType<typeof orphanWriter>;

export function orphanWriter(db: Database) {
  const blocks = table(
    db,
    'orphaned_blocks',
    ['index_block_hash', 'height', 'parent_index_block_hash', 'block_hash', 'burn_block_hash', 'burn_block_height'],
    1,
  );
  // A transaction may stand twice in a chain of old, and so in a block 1 with the genesis transactions.
  const addTransaction = db.prepare<null, [Uint8Array, Uint8Array, string | null]>(
    'INSERT OR IGNORE INTO orphaned_transactions VALUES (?1, ?2, ?3)',
  );
  const removeTransaction = db.prepare<null, [Uint8Array, Uint8Array]>(
    'DELETE FROM orphaned_transactions WHERE tx_id = ?1 AND index_block_hash = ?2',
  );
  const find = db.prepare<OrphanedBlock, [Uint8Array]>(
    'SELECT height, index_block_hash, parent_index_block_hash FROM orphaned_blocks WHERE index_block_hash = ?1',
  );

  return {
    find: (indexBlockHash: Uint8Array): OrphanedBlock | null => find.get(indexBlockHash),

    /** Block 0, which is kept with the orphans, is found by none of its transactions: block 1 has them. */
    add({ indexBlockHash, height, parentIndexBlockHash, blockHash, transactions, ...block }: Block): void {
      const { burnBlockHash, burnBlockHeight } = block;
      blocks.add(indexBlockHash, height, parentIndexBlockHash, blockHash, burnBlockHash, burnBlockHeight);
      if (height === 0) return;
      for (const transaction of transactions) {
        addTransaction.run(transaction.txId, indexBlockHash, deployedContract(transaction));
      }
    },

    /** Of a block that becomes canonical. */
    remove({ indexBlockHash, transactions }: Block): void {
      blocks.remove(indexBlockHash);
      for (const { txId } of transactions) removeTransaction.run(txId, indexBlockHash);
    },
  };
}
