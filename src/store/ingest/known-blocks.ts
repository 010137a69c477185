/** All known blocks, canonical and orphaned, and how they are connected. */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { toHex } from '../../codec/hex.ts';
import { deployedContract } from '../effects/payload-columns.ts';
import { historyStartQuery } from '../queries/blocks/chain.ts';
import type { Stored } from '../rows/statement.ts';
import { inserterIfAbsent, table } from '../rows/table.ts';
import { orphanedBlocksTable, orphanedTransactionsTable } from '../rows/tables.ts';
import { isFirst } from './history-start.ts';

/** The node must send the block's parent first: the answer asks it to send the block again. */
export class UnknownParentError extends Error {
  override readonly name = 'UnknownParentError';
  constructor(
    message: string,
    /** The missing blocks between the tip and a block above it; null where none are missing there. */
    readonly missing: MissingBlocks | null = null,
    /** The missing parent; null where the block itself isn't known. */
    readonly parent: MissingParent | null = null,
  ) {
    super(message);
  }
}

/** A block that is not known. */
export interface MissingParent {
  height: number;
  indexBlockHash: Uint8Array;
}

/** Heights of blocks, both ends included. */
interface MissingBlocks {
  from: number;
  to: number;
}

/** Orphans of a branch, from the fork up, and the height of the canonical block below them. */
interface Branch {
  forkHeight: number;
  hashes: Uint8Array[];
}

/** Looks up known blocks. */
export function knownBlocks(db: Database, orphans: OrphanWriter) {
  const canonicalHash = db.prepare<Stored<'blocks', 'index_block_hash'>, [number]>(
    'SELECT index_block_hash FROM blocks WHERE height = ?1',
  );
  const canonical = db.prepare<Stored<'blocks', 'height'>, [Uint8Array]>(
    'SELECT height FROM blocks WHERE index_block_hash = ?1',
  );

  const tip = db.prepare<{ height: number | null }, []>('SELECT max(height) AS height FROM blocks');

  const historyStart = historyStartQuery(db);

  const tipHeight = (): number | null => tip.get()?.height ?? null;

  /** Height of the block below the first one of the chain: 0, unless the index begins at a block. */
  const bottom = (): number => (historyStart()?.height ?? 1) - 1;

  /** The missing blocks below one whose parent isn't known. */
  function missingBelow(height: number): MissingBlocks | null {
    const from = (tipHeight() ?? bottom()) + 1;
    return from < height ? { from, to: height - 1 } : null;
  }

  /** The branch that ends in an orphaned block, from the fork up. */
  function branchTo(indexBlockHash: Uint8Array): Branch {
    const hashes: Uint8Array[] = [];
    for (let at = orphans.find(indexBlockHash); at !== null; at = orphans.find(at.parent_index_block_hash)) {
      // Block 0 is stored with the orphans; it is the root of every branch.
      if (at.height === 0) break;
      hashes.unshift(at.index_block_hash);
      if (at.height === bottom() + 1) return { forkHeight: bottom(), hashes };
      const fork = canonical.get(at.parent_index_block_hash);
      if (fork !== null) return { forkHeight: fork.height, hashes };
    }
    throw new UnknownParentError(`No stored branch leads to block ${toHex(indexBlockHash)}`);
  }

  return {
    branchTo,

    /**
     * The branch of a known block; that of a canonical block forks at the block itself and has no orphans.
     * @throws UnknownParentError for a block that isn't known
     */
    branchOf: (indexBlockHash: Uint8Array): Branch => {
      const found = canonical.get(indexBlockHash);
      return found === null ? branchTo(indexBlockHash) : { forkHeight: found.height, hashes: [] };
    },

    historyStart,
    bottom,

    /** The height of the tip; 0 where block 0 is the only block; null where there is none. */
    tipHeight,

    /** The canonical block of that height; block 0 until a block 1 comes. */
    hashAt: (height: number): Uint8Array | undefined => canonicalHash.get(height)?.index_block_hash,

    isKnown: (indexBlockHash: Uint8Array): boolean =>
      canonical.get(indexBlockHash) !== null || orphans.find(indexBlockHash) !== null,

    /**
     * Whether the parent of a block is canonical or an orphan.
     * @param height that of the block itself
     * @param block its index block hash
     * @throws UnknownParentError where the parent isn't known; ForkBelowHistoryError where it never will be
     */
    statusOfParent(parent: Uint8Array, height: number, block: string): 'canonical' | 'orphan' {
      if (height <= 1 || canonical.get(parent)?.height === height - 1) return 'canonical';
      if (orphans.find(parent)?.height === height - 1) return 'orphan';
      const start = historyStart();
      if (start !== null && isFirst(start, parent, height, block)) return 'canonical';
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

/** Writes the orphans, and the transactions by which they are found. */
export function orphanWriter(db: Database) {
  const blocks = table(db, orphanedBlocksTable);
  // A transaction of Stacks 1 may occur twice in block 1 with the genesis transactions.
  const addTransaction = inserterIfAbsent(db, orphanedTransactionsTable);
  const removeTransaction = db.prepare<null, [Uint8Array, Uint8Array]>(
    'DELETE FROM orphaned_transactions WHERE tx_id = ?1 AND index_block_hash = ?2',
  );
  const find = db.prepare<OrphanedBlock, [Uint8Array]>(
    'SELECT height, index_block_hash, parent_index_block_hash FROM orphaned_blocks WHERE index_block_hash = ?1',
  );

  return {
    find: (indexBlockHash: Uint8Array): OrphanedBlock | null => find.get(indexBlockHash),

    /** Adds an orphan. Block 0 has no rows of transactions, because block 1 shows its transactions. */
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
