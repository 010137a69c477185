/**
 * Decides which announced blocks are canonical. The tip is the highest block; of two equally high blocks the earlier one
 * stays. A block above the tip on another branch makes its branch canonical: the old branch is reverted from the tip down to
 * the fork, and the new one applied from there up.
 *
 * Block 0 is stored with the orphans, and block 1 shows its transactions. Until a block 1 comes, block 0 is the canonical
 * chain, so that its balances count, but no change is written for it.
 */

import type { Database } from 'bun:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { lazy } from '../../base/cache.ts';
import type { Block } from '../../chain/block.ts';
import type { Effect } from '../../chain/effect.ts';
import { effectsOf, reverseEffects } from '../../chain/effects.ts';
import type { Network } from '../../chain/network.ts';
import { blockOf, withGenesis } from '../../chain/normalise.ts';
import type { ParsedBlock } from '../../chain/payload-reader.ts';
import { positionOf } from '../../chain/position.ts';
import { fromHex } from '../../codec/hex.ts';
import type { EffectsWriter } from '../effects/apply.ts';
import type { EntryReader } from '../files/payload-source.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { blockPayloadsTable } from '../rows/tables.ts';
import { foreignTransaction, originCheck } from './chain-identity.ts';
import { type HistoryStartFacts, historyStartWriter } from './history-start.ts';
import { knownBlocks, type Tip } from './known-blocks.ts';
import type { ConfirmedTransaction, MempoolWriter, RestoredTransaction } from './mempool-writer.ts';
import { orphanWriter } from './orphan-writer.ts';

/** An announced block. Only its height and hashes are read at first. */
export interface AnnouncedBlock extends Pick<Block, 'height' | 'indexBlockHash' | 'parentIndexBlockHash'> {
  /** Returns the block, with its effects if they were computed ahead. @throws PayloadError */
  read(network: Network): { block: Block; effects?: readonly Effect[] };
}

/** Returns the announced block of a payload. */
export const announcedBlock = (payload: ParsedBlock): AnnouncedBlock => ({
  height: payload.block_height,
  indexBlockHash: fromHex(payload.index_block_hash),
  parentIndexBlockHash: fromHex(payload.parent_index_block_hash),
  read: (network) => ({ block: blockOf(payload, network) }),
});

const isZero = (hash: Uint8Array): boolean => hash.every((byte) => byte === 0);

/** Blocks that a new block reverted and applied, in that order. */
export interface ChainChange {
  reverted: Block[];
  applied: Block[];
}

function checkChain(block: Block, network: Network, isEmpty: boolean): void {
  for (const transaction of block.transactions) {
    const { payload, chainId } = transaction;
    // Miners sign these two types, so only they show the chain of the block.
    if (payload.type !== 'coinbase' && payload.type !== 'tenure_change') continue;
    if (chainId !== 0 && chainId !== network.chainId) throw foreignTransaction(transaction, network.chainId, isEmpty);
  }
}

/** Number of events above which a block's payload has tens of megabytes. */
const MANY_EVENTS = 50_000;

/** Collects garbage after a genesis block, because its payload and the objects made of it need several times its size. */
function collectFor({ transactions }: Block): void {
  if (transactions.reduce((sum, { events }) => sum + events.length, 0) > MANY_EVENTS) Bun.gc(true);
}

/** Writes through this connection, inside the transaction that is open on it. @param journal has the payloads of blocks */
export function chainWriter(
  db: Database,
  journal: EntryReader,
  { effects: effectsWriter, mempool }: { effects: EffectsWriter; mempool: MempoolWriter },
) {
  const blocks = knownBlocks(db, journal);
  const tip = lazy(blocks.tip);
  const orphans = orphanWriter(db);
  const { add: addPayload } = table(db, blockPayloadsTable);
  const movePayload = query<null, [Uint8Array, number]>`
    UPDATE block_payloads SET journal_id = ?2 WHERE index_block_hash = ?1`.prepared(db);
  // Only a block 0 stored before the block itself counts: the effects of a block must not depend on later events.
  const genesisBefore = query<Stored<'orphaned_blocks', 'index_block_hash'>, [Uint8Array]>`
    SELECT o.index_block_hash FROM orphaned_blocks o JOIN block_payloads p USING (index_block_hash)
     WHERE o.height = 0 AND p.rowid < (SELECT rowid FROM block_payloads WHERE index_block_hash = ?1)
     ORDER BY p.rowid LIMIT 1`.prepared(db);
  const checkOrigin = originCheck(db);
  const setStart = historyStartWriter(db);
  const setBurnHeight = query<null, [number]>`UPDATE progress SET burn_block_height = ?1`.prepared(db);
  const minerOf = query<Stored<'blocks', 'miner_tx_id'>, [Uint8Array]>`
    SELECT miner_tx_id FROM blocks WHERE index_block_hash = ?1`.prepared(db);
  const setMiner = query<null, [Uint8Array, Uint8Array]>`
    UPDATE blocks SET miner_tx_id = ?2 WHERE index_block_hash = ?1`.prepared(db);
  const countCompletion = query<null>`UPDATE progress SET completions = completions + 1`.prepared(db);

  function apply(effects: Iterable<Effect>): void {
    effectsWriter.apply(effects);
    tip.clear();
  }

  /** Returns the block to apply: block 1 with the transactions of block 0, every other block unchanged. */
  function complete(block: Block, network: Network): Block {
    if (block.height !== 1) return block;
    const row = genesisBefore.get(block.indexBlockHash);
    if (row === null) return block;
    const withTransactions = withGenesis(block, blocks.stored(row.index_block_hash, network));
    collectFor(withTransactions);
    return withTransactions;
  }

  /** Returns a stored block to apply or revert. */
  const wholeBlock = (indexBlockHash: Uint8Array, network: Network): Block =>
    complete(blocks.stored(indexBlockHash, network), network);

  /** Reverts the blocks above a height. @returns them, the highest first */
  function revertTo(height: number, network: Network): Block[] {
    const reverted: Block[] = [];
    for (let newest = tip(); newest.height > height; newest = tip()) {
      const block = wholeBlock(newest.indexBlockHash, network);
      apply(reverseEffects(effectsOf(block)));
      orphans.add(block);
      reverted.push(block);
    }
    return reverted;
  }

  /** Applies an orphaned block again. */
  function restore(indexBlockHash: Uint8Array, network: Network): Block {
    const block = wholeBlock(indexBlockHash, network);
    orphans.remove(block);
    apply(effectsOf(block));
    return block;
  }

  /** Stores block 0, and applies it if there is no other block. */
  function addGenesis(block: Block): void {
    orphans.add(block);
    if (blocks.tipHeight() !== null) return;
    collectFor(block);
    apply(effectsOf(block));
    collectFor(block);
    setBurnHeight.run(block.burnBlockHeight);
  }

  /**
   * Moves the chain to a block that is higher than the tip.
   * @param parent an orphan, or null if the parent is the tip itself
   * @param effects effects of the block
   */
  function growTo(block: Block, parent: Uint8Array | null, network: Network, effects: Iterable<Effect>): ChainChange {
    const change: ChainChange = { reverted: [], applied: [] };
    if (block.height === 1 && blocks.tipHeight() === 0) {
      // Block 1 comes with the transactions of block 0.
      effectsWriter.empty();
      tip.clear();
    }
    if (parent !== null) {
      const { forkHeight, hashes } = blocks.branchOf(parent);
      change.reverted = revertTo(forkHeight, network);
      change.applied = hashes.map((hash) => restore(hash, network));
    }
    apply(effects);
    change.applied.push(block);
    return change;
  }

  /** Updates the mempool with the transactions that a change of the chain restored and confirmed. */
  function updateMempool({ reverted, applied }: ChainChange, tipBefore: Tip, now: number): void {
    const transactionsOf = ({ height, transactions }: Block): ConfirmedTransaction[] =>
      transactions.map((content, index) => ({ content, position: positionOf(height, index) }));
    const restored = reverted.flatMap((block): RestoredTransaction[] =>
      transactionsOf(block).map((transaction) => ({ ...transaction, burnBlockTime: block.burnBlockTime })),
    );
    const heights = { before: tipBefore.height, after: tip().height };
    mempool.chainChanged(restored, applied.flatMap(transactionsOf), heights, now);
  }

  /** Returns a filled block; null if the block has its miner's transaction on Bitcoin, and so came from the node's event. */
  function filledBlock(indexBlockHash: Uint8Array, network: Network): Block | null {
    const canonical = minerOf.get(indexBlockHash);
    if (canonical !== null && !isZero(canonical.miner_tx_id)) return null;
    const block = blocks.stored(indexBlockHash, network);
    return isZero(block.minerTxId) ? block : null;
  }

  /** Replaces a stored block with another version. Blocks above a canonical one are reverted and applied again. */
  function replace(storedBlock: Block, block: Block, journalId: number, network: Network, now: number): ChainChange {
    const tipBefore = tip();
    const isCanonical = minerOf.get(block.indexBlockHash) !== null;
    const reverted = isCanonical ? revertTo(block.height - 1, network) : [];
    orphans.remove(storedBlock);
    movePayload.run(block.indexBlockHash, journalId);
    if (!isCanonical) {
      orphans.add(block);
      return { reverted, applied: [] };
    }
    apply(effectsOf(block));
    const above = reverted.slice(0, -1).toReversed();
    const applied = [block, ...above.map(({ indexBlockHash }) => restore(indexBlockHash, network))];
    updateMempool({ reverted, applied }, tipBefore, now);
    return { reverted, applied };
  }

  /** Orphans all blocks of the chain. @returns them, the highest first */
  function empty(network: Network): Block[] {
    const reverted: Block[] = [];
    const bottom = blocks.bottom();
    for (let { height } = tip(); height > bottom; height--) {
      const block = wholeBlock(blocks.hashAt(height)!, network);
      orphans.add(block);
      reverted.push(block);
    }
    effectsWriter.empty();
    return reverted;
  }

  return {
    tip,
    /** Clears the cache, because the open transaction is rolled back. */
    forget: tip.clear,

    /**
     * Starts the history at a block, which is added or applied next; blocks that the chain has become orphans.
     * @param now Unix microseconds
     */
    startHistory(start: HistoryStartFacts, network: Network, now: number): ChainChange {
      const tipBefore = tip();
      const isFirst = blocks.tipHeight() === null;
      const reverted = empty(network);
      setStart(start);
      tip.clear();
      if (isFirst) mempool.startedAbove(blocks.bottom());
      updateMempool({ reverted, applied: [] }, tipBefore, now);
      return { reverted, applied: [] };
    },

    /** Whether the chain has no canonical block. */
    isEmpty: () => blocks.tipHeight() === null,
    stored: blocks.stored,
    payload: blocks.payload,
    branchOf: blocks.branchOf,
    hashAt: blocks.hashAt,
    bottom: blocks.bottom,
    isKnown: blocks.isKnown,

    /**
     * Completes a filled block by the node's own event: adds the miner's transaction on Bitcoin, which no RPC interface has.
     * If the filled block also lacks other parts of the event, such as an operation on Bitcoin, the block is replaced.
     * @returns null if the event adds nothing
     * @throws PayloadError
     */
    complete(announced: AnnouncedBlock, journalId: number, networkOf: () => Network, now: number): ChainChange | null {
      const { height, indexBlockHash } = announced;
      // Blocks of Stacks 2 can't be filled, and block 0 has tens of megabytes.
      if (height <= 1) return null;
      const network = networkOf();
      const filled = filledBlock(indexBlockHash, network);
      if (filled === null) return null;
      const { block } = announced.read(network);
      const { minerTxId } = block;
      if (isZero(minerTxId)) return null;
      countCompletion.run();
      if (!isDeepStrictEqual({ ...filled, minerTxId }, block)) return replace(filled, block, journalId, network, now);
      setMiner.run(indexBlockHash, minerTxId);
      movePayload.run(indexBlockHash, journalId);
      return { reverted: [], applied: [] };
    },

    /**
     * Adds a block that the index doesn't have yet.
     * @param journalId the journal's entry that holds its payload
     * @param now Unix microseconds
     * @throws UnknownParentError, PayloadError; the caller must then roll back
     */
    add(announced: AnnouncedBlock, journalId: number, network: Network, now: number): ChainChange {
      const { height, parentIndexBlockHash: parent } = announced;
      const tipBefore = tip();
      const isFork = blocks.isParentOrphan(parent, height);
      const { block, effects: ready } = announced.read(network);
      checkChain(block, network, blocks.tipHeight() === null);
      checkOrigin(block);
      addPayload({ index_block_hash: block.indexBlockHash, journal_id: journalId });
      mempool.collectGarbage(tipBefore, now);
      if (height === 0) {
        addGenesis(block);
        return { reverted: [], applied: [] };
      }
      if (height <= tipBefore.height) {
        orphans.add(complete(block, network));
        return { reverted: [], applied: [] };
      }
      const completeBlock = complete(block, network);
      const effects = completeBlock === block && ready !== undefined ? ready : effectsOf(completeBlock);
      const change = growTo(completeBlock, isFork ? parent : null, network, effects);
      updateMempool(change, tipBefore, now);
      setBurnHeight.run(block.burnBlockHeight);
      return change;
    },
  };
}
