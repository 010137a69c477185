/** Looks up stored blocks, canonical and orphaned, and how they are connected. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { toHex } from '../../codec/hex.ts';
import { deployedContract } from '../effects/transaction-writer.ts';
import { type Branch, branchQuery, historyStartQuery, isFirstBlock } from '../queries/blocks/chain.ts';
import { query, type Stored } from '../rows/statement.ts';
import { inserterIfAbsent, table } from '../rows/table.ts';
import { orphanedBlocksTable, orphanedTransactionsTable } from '../rows/tables.ts';

/** Thrown if a block's parent is missing. The node has to send the parent first, and then this block again. */
export class UnknownParentError extends Error {
  override readonly name = 'UnknownParentError';
  constructor(
    message: string,
    /** The missing blocks between the tip and a block above it; null if none are missing there. */
    readonly missing: MissingBlocks | null = null,
    /** The missing parent; null if the block itself is missing. */
    readonly parent: MissingParent | null = null,
  ) {
    super(message);
  }
}

/** A block that the index doesn't have. */
export interface MissingParent {
  height: number;
  indexBlockHash: Uint8Array;
}

/** Heights of blocks, both ends included. */
interface MissingBlocks {
  from: number;
  to: number;
}

/** `below`: the block may be the lowest of a branch that forks below the history. */
type ParentStatus = 'canonical' | 'orphan' | 'below';

/** Makes the look-ups of stored blocks. */
export function knownBlocks(db: Database, orphans: OrphanWriter) {
  const canonicalHash = query<Stored<'blocks', 'index_block_hash'>, [number]>`
    SELECT index_block_hash FROM blocks WHERE height = ?1`.prepared(db);
  const canonical = query<Stored<'blocks', 'height'>, [Uint8Array]>`
    SELECT height FROM blocks WHERE index_block_hash = ?1`.prepared(db);

  const tip = query<{ height: number | null }>`SELECT max(height) AS height FROM blocks`.prepared(db);

  const historyStart = historyStartQuery(db);
  const branchAt = branchQuery(db, historyStart);

  const tipHeight = (): number | null => tip.get()?.height ?? null;

  /** Height of the block below the first one of the chain: 0, unless the history is partial. */
  const bottom = (): number => (historyStart()?.height ?? 1) - 1;

  /** Returns the missing blocks below a block without a parent; null if there are none. */
  function missingBelow(height: number): MissingBlocks | null {
    const from = (tipHeight() ?? bottom()) + 1;
    return from < height ? { from, to: height - 1 } : null;
  }

  return {
    /**
     * Returns the branch of a stored block. A canonical block's branch forks at the block itself and has no orphans.
     * @throws UnknownParentError if the block isn't stored
     */
    branchOf(indexBlockHash: Uint8Array): Branch {
      const branch = branchAt(indexBlockHash);
      if (branch !== null) return branch;
      throw new UnknownParentError(`No stored branch leads to block ${toHex(indexBlockHash)}`);
    },

    bottom,

    /** The height of the tip; 0 if block 0 is the only block; null if there is none. */
    tipHeight,

    /** The canonical block of that height; block 0 until a block 1 comes. */
    hashAt: (height: number): Uint8Array | undefined => canonicalHash.get(height)?.index_block_hash,

    isKnown: (indexBlockHash: Uint8Array): boolean =>
      canonical.get(indexBlockHash) !== null || orphans.find(indexBlockHash) !== null,

    /**
     * Returns where the parent of a block is. A partial history accepts a block at its first height or lower without its
     * parent.
     * @param height the height of the block itself
     * @throws UnknownParentError if the parent isn't stored
     */
    statusOfParent(parent: Uint8Array, height: number): ParentStatus {
      const start = historyStart();
      if (isFirstBlock(start, height, parent) || canonical.get(parent)?.height === height - 1) return 'canonical';
      if (orphans.find(parent)?.height === height - 1) return 'orphan';
      if (start !== null && height <= start.height) return 'below';
      throw new UnknownParentError(
        `DB does not contain a parent block at height ${height - 1} with index_hash ${toHex(parent)}`,
        missingBelow(height),
        { height: height - 1, indexBlockHash: parent },
      );
    },
  };
}

type OrphanedBlock = Stored<'orphaned_blocks', 'height' | 'index_block_hash' | 'parent_index_block_hash'>;

export type OrphanWriter = ReturnType<typeof orphanWriter>;

/** Writes orphaned blocks, with the ids of their transactions for look-ups. */
export function orphanWriter(db: Database) {
  const blocks = table(db, orphanedBlocksTable);
  // A transaction of Stacks 1 may occur twice in block 1 with the genesis transactions.
  const addTransaction = inserterIfAbsent(db, orphanedTransactionsTable);
  const removeTransaction = query<null, [Uint8Array, Uint8Array]>`
    DELETE FROM orphaned_transactions WHERE tx_id = ?1 AND index_block_hash = ?2`.prepared(db);
  const find = query<OrphanedBlock, [Uint8Array]>`
    SELECT height, index_block_hash, parent_index_block_hash FROM orphaned_blocks
     WHERE index_block_hash = ?1`.prepared(db);

  return {
    find: (indexBlockHash: Uint8Array): OrphanedBlock | null => find.get(indexBlockHash),

    /** Adds an orphan. Block 0 gets no rows of transactions, because block 1 shows its transactions. */
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
        addTransaction({
          tx_id: transaction.txId,
          index_block_hash,
          type: transaction.payload.typeId,
          contract: deployedContract(transaction),
        });
      }
    },

    /** Removes an orphan that becomes canonical. */
    remove({ indexBlockHash, transactions }: Block): void {
      blocks.remove({ index_block_hash: indexBlockHash });
      for (const { txId } of transactions) removeTransaction.run(txId, indexBlockHash);
    },
  };
}
