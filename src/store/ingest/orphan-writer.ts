/** Writes orphaned blocks, with the ids of their transactions for look-ups. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { deployedContract } from '../effects/transaction-writer.ts';
import { modelInserter, table } from '../rows/table.ts';
import { orphanedBlocksTable, orphanedTransactionsTable } from '../rows/tables.ts';

/** Writes through this connection, inside the transaction that is open on it. */
export function orphanWriter(db: Database) {
  const addBlock = modelInserter(db, orphanedBlocksTable);
  const { remove: removeBlock } = table(db, orphanedBlocksTable);
  // A transaction of Stacks 1 may occur twice in block 1 with the genesis transactions.
  const orphanedTransactions = table(db, orphanedTransactionsTable);

  return {
    /** Adds an orphan. Block 0 gets no rows of transactions, because block 1 shows its transactions. */
    add(block: Block): void {
      addBlock(block);
      if (block.height === 0) return;
      for (const transaction of block.transactions) {
        orphanedTransactions.addIfAbsent({
          tx_id: transaction.txId,
          index_block_hash: block.indexBlockHash,
          type: transaction.payload.typeId,
          contract: deployedContract(transaction),
        });
      }
    },

    /** Removes an orphan that becomes canonical. */
    remove({ indexBlockHash: index_block_hash, transactions }: Block): void {
      removeBlock({ index_block_hash });
      for (const { txId } of transactions) orphanedTransactions.removeIfPresent({ tx_id: txId, index_block_hash });
    },
  };
}
