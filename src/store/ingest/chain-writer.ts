/**
 * Which of the announced blocks are the chain. The tip is the block of greatest height; of equal ones the first that was
 * seen stays. A block that grows past the tip on another branch takes the chain there: the old branch is reverted from
 * the tip down to the fork, the new one applied up from it.
 */
import type { Database } from 'bun:sqlite';
import type { Block } from '../../chain/block.ts';
import { effectsOf, undone } from '../../chain/effects.ts';
import { chainIdText, type Network } from '../../chain/network.ts';
import { blockOf, withGenesis } from '../../chain/normalise.ts';
import type { BlockPayload } from '../../chain/payload-schemas.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import type { ApplyEffects } from '../effects/apply.ts';
import type { MicroblockWriter } from '../effects/microblock-writer.ts';
import { blockOfPayload, type PayloadSource } from '../files/payload-source.ts';
import type { BlockPayloads } from './block-payloads.ts';
import { ForeignChainError, originCheck } from './chain-origin.ts';
import type { MempoolWriter, RestoredTransaction } from './mempool-writer.ts';
import { orphanWriter } from './orphan-writer.ts';

/** A block whose parent the node must send first: it is asked to try again. */
export class UnknownParentError extends Error {
  override readonly name = 'UnknownParentError';
}

interface Tip {
  height: number;
  indexBlockHash: Uint8Array;
  nakamoto: boolean;
}

/** What a block did to the chain; blocks in the order they were reverted and applied. */
export interface ChainChange {
  reverted: Block[];
  applied: Block[];
}

export function chainWriter(
  db: Database,
  {
    apply,
    mempool,
    microblocks,
    payloads,
  }: { apply: ApplyEffects; mempool: MempoolWriter; microblocks: MicroblockWriter; payloads: BlockPayloads },
) {
  const newest = db.prepare<{ height: number; index_block_hash: Uint8Array; signer_bits: string | null }, []>(
    'SELECT height, index_block_hash, signer_bits FROM blocks ORDER BY height DESC LIMIT 1',
  );
  const canonicalHash = db.prepare<{ index_block_hash: Uint8Array }, [number]>(
    'SELECT index_block_hash FROM blocks WHERE height = ?1',
  );
  const canonical = db.prepare<{ height: number }, [Uint8Array]>(
    'SELECT height FROM blocks WHERE index_block_hash = ?1',
  );
  const orphans = orphanWriter(db);
  const checkOrigin = originCheck(db);
  // The first that was stored, if before the block itself: what a block does must not depend on what came after it.
  const genesisBefore = db.prepare<{ index_block_hash: Uint8Array }, [Uint8Array]>(
    `SELECT o.index_block_hash FROM orphaned_blocks o JOIN block_payloads p USING (index_block_hash)
      WHERE o.height = 0 AND p.rowid < (SELECT rowid FROM block_payloads WHERE index_block_hash = ?1)
      ORDER BY p.rowid LIMIT 1`,
  );
  const setBurnHeight = db.prepare<null, [number]>('UPDATE progress SET burn_block_height = ?1');

  const tip = (): Tip => {
    const row = newest.get();
    return row === null
      ? { height: 0, indexBlockHash: new Uint8Array(32), nakamoto: false }
      : { height: row.height, indexBlockHash: row.index_block_hash, nakamoto: row.signer_bits !== null };
  };

  /** A stored block again, as it was when it came. */
  const stored = (indexBlockHash: Uint8Array, network: Network): Block =>
    blockOfPayload(payloads.read(indexBlockHash), indexBlockHash, network);

  /** What is applied for a block: for the first one, the transactions of block 0 too. */
  function complete(block: Block, network: Network): Block {
    if (block.height !== 1) return block;
    const row = genesisBefore.get(block.indexBlockHash);
    return row === null ? block : withGenesis(block, stored(row.index_block_hash, network));
  }

  /** The branch that ends in an orphaned block, from the fork up. */
  function branchTo(indexBlockHash: Uint8Array): { forkHeight: number; hashes: Uint8Array[] } {
    const hashes: Uint8Array[] = [];
    for (let at = orphans.find(indexBlockHash); at !== null; at = orphans.find(at.parent_index_block_hash)) {
      // Block 0 is kept with the orphans; it is the root of every branch.
      if (at.height === 0) break;
      hashes.unshift(at.index_block_hash);
      if (at.height === 1) return { forkHeight: 0, hashes };
      const fork = canonical.get(at.parent_index_block_hash);
      if (fork !== null) return { forkHeight: fork.height, hashes };
    }
    throw new UnknownParentError(`No stored branch leads to block ${toHex(indexBlockHash)}`);
  }

  function revertTo(height: number, network: Network): Block[] {
    const reverted: Block[] = [];
    for (let row = newest.get(); row !== null && row.height > height; row = newest.get()) {
      const block = complete(stored(row.index_block_hash, network), network);
      apply(undone(effectsOf(block)));
      orphans.add(block);
      reverted.push(block);
    }
    return reverted;
  }

  function checkChain(block: Block, network: Network): void {
    for (const { payload, chainId, txId } of block.transactions) {
      // Only what the miner signed says which chain the block is of.
      if (payload.type !== 'coinbase' && payload.type !== 'tenure_change') continue;
      if (chainId !== 0 && chainId !== network.chainId) {
        throw new ForeignChainError(
          `Transaction ${toHex(txId)} is of chain ${chainIdText(chainId)}, this data of chain ${chainIdText(network.chainId)}`,
        );
      }
    }
  }

  return {
    tip,

    /** A known block as it was when it came; block 1 without those of block 0. */
    stored,

    /**
     * Where a known block stands to the chain: the height at which its branch leaves it, its own where it is canonical,
     * and what of the branch is not canonical, from the fork up.
     * @throws UnknownParentError for a block that isn't known
     */
    branchOf: (indexBlockHash: Uint8Array): { forkHeight: number; hashes: Uint8Array[] } => {
      const found = canonical.get(indexBlockHash);
      return found === null ? branchTo(indexBlockHash) : { forkHeight: found.height, hashes: [] };
    },

    /** The canonical block of that height. */
    hashAt: (height: number): Uint8Array | undefined => canonicalHash.get(height)?.index_block_hash,

    isKnown: (indexBlockHash: Uint8Array): boolean =>
      canonical.get(indexBlockHash) !== null || orphans.find(indexBlockHash) !== null,

    /**
     * Takes a block that isn't known yet.
     * @param source where its payload can be read again
     * @param now Unix microseconds
     * @throws UnknownParentError, PayloadError; nothing is to be committed then
     */
    add(payload: BlockPayload, source: PayloadSource, network: Network, now: number): ChainChange {
      const indexBlockHash = fromHex(payload.index_block_hash);
      const parent = fromHex(payload.parent_index_block_hash);
      const height = payload.block_height;
      const before = tip();
      const parentIsOrphan = height > 1 && orphans.find(parent)?.height === height - 1;
      if (height > 1 && !parentIsOrphan && canonical.get(parent)?.height !== height - 1) {
        throw new UnknownParentError(
          `DB does not contain a parent block at height ${height - 1} with index_hash ${toHex(parent)}`,
        );
      }
      const block = blockOf(payload, network);
      checkChain(block, network);
      checkOrigin(block);
      payloads.keep(indexBlockHash, source);
      mempool.collectGarbage(before, now);
      if (height <= before.height || height === 0) {
        orphans.add(complete(block, network));
        return { reverted: [], applied: [] };
      }
      const change: ChainChange = { reverted: [], applied: [] };
      if (parentIsOrphan) {
        const { forkHeight, hashes } = branchTo(parent);
        change.reverted = revertTo(forkHeight, network);
        for (const hash of hashes) {
          const restored = complete(stored(hash, network), network);
          orphans.remove(restored);
          apply(effectsOf(restored));
          change.applied.push(restored);
        }
      }
      const whole = complete(block, network);
      apply(effectsOf(whole));
      change.applied.push(whole);
      mempool.chainChanged(
        change.reverted.flatMap(({ transactions, burnBlockTime }): RestoredTransaction[] =>
          transactions.map((content) => ({ content, burnBlockTime })),
        ),
        change.applied.flatMap(({ transactions }) => transactions),
        before.height,
        now,
      );
      mempool.streamChanged(microblocks.acceptedOn(indexBlockHash), microblocks.acceptedOn(before.indexBlockHash), now);
      setBurnHeight.run(block.burnBlockHeight);
      payloads.forgetBelow(height);
      return change;
    },
  };
}
