/** Reads the chain below the start of a partial history from the node, because rewards of earlier tenures mature later. */
import { Type } from '@sinclair/typebox';
import type { NakamotoBlock } from '../codec/nakamoto-block.ts';
import { decodeKnownParts, splitTransactions } from '../codec/transaction.ts';
import type { HistoryStart } from '../store/queries/blocks/chain.ts';
import type { RewardedTenure } from '../store/queries/blocks/tenures.ts';
import { answerOrThrow, NoAnswer, nodeBlock, requestSortition, type ThrottledNode } from './facts.ts';
import { type Parent, poxUnlockHeights } from './replay.ts';

const Info = Type.Object({ tenure_height: Type.Integer(), stacks_tip_consensus_hash: Type.String() });
const TenureBlocks = Type.Object({
  stacks_blocks: Type.Array(Type.Object({ block_id: Type.String(), height: Type.Integer() }), { minItems: 1 }),
});

/**
 * Maximum number of tenures below the first block to search for a reward's tenure. A reward matures after 100 on public
 * networks.
 */
const MAX_TENURES = 200;

const bare = (hash: string): string => hash.replace(/^0x/, '');

/** Returns the consensus hash of the previous tenure; null if the node doesn't have it. */
async function requestParentTenure(node: ThrottledNode, consensusHash: string): Promise<string | null> {
  const sortition = answerOrThrow(await requestSortition(node, `/consensus/${consensusHash}`));
  const parent = sortition instanceof NoAnswer ? null : sortition.stacks_parent_ch;
  return parent === null ? null : bare(parent);
}

/** Requests a block by its id; returns null if the node doesn't have it, or sends another block. */
async function requestBlock(node: ThrottledNode, id: string): Promise<NakamotoBlock | null> {
  const decoded = answerOrThrow(await nodeBlock(node, bare(id)));
  if (decoded instanceof NoAnswer || !decoded.ok) return null;
  return decoded.value.blockId.toHex() === bare(id) ? decoded.value : null;
}

/** Returns the signer and the recipient of a block's coinbase, and the fees of its transactions. */
function earningsOf({ transactions, transactionCount }: NakamotoBlock) {
  const split = splitTransactions(transactions, transactionCount);
  let fees = 0n;
  let coinbase: Pick<RewardedTenure, 'miner' | 'recipient'> | null = null;
  for (const raw of split.ok ? split.value : []) {
    const decoded = decodeKnownParts(raw);
    if (!decoded.ok) continue;
    const { origin, sponsor, payload } = decoded.value;
    fees += (sponsor ?? origin).fee;
    if (payload.type !== 'coinbase') continue;
    coinbase = { miner: origin.address, recipient: payload.altRecipient ?? origin.address };
  }
  return { fees, coinbase };
}

/** Reads the tenures below the start of the history. @returns null if the node doesn't have the block below it */
export async function olderTenures(node: ThrottledNode, start: HistoryStart) {
  const topBlock = await requestBlock(node, start.indexBlockHash.toHex());
  const info = answerOrThrow(await node.json('/v2/info', Info));
  if (topBlock === null || info instanceof NoAnswer) return null;
  const topHash = topBlock.header.consensusHash.toHex();
  /** Consensus hashes of tenures, newest first, from the tenure below the start. Several requests may share a promise. */
  const hashes: Promise<string | null>[] = [Promise.resolve(topHash)];
  let tenureHeight = info.tenure_height;
  for (let hash = bare(info.stacks_tip_consensus_hash); hash !== topHash; tenureHeight--) {
    const parent = await requestParentTenure(node, hash);
    if (parent === null) return null;
    hash = parent;
  }
  const top = tenureHeight;

  function hashOf(height: number): Promise<string | null> {
    while (hashes.length <= top - height) {
      hashes.push(hashes.at(-1)!.then((child) => (child === null ? null : requestParentTenure(node, child))));
    }
    return hashes[top - height] ?? Promise.resolve(null);
  }

  return {
    /** Tenure height of the block below the start. */
    top,

    /** Returns the block below the start, as the parent of the first block. */
    async parent(): Promise<Parent> {
      const sortition = answerOrThrow(await requestSortition(node, `/consensus/${topHash}`));
      return {
        height: start.height - 1,
        blockHash: start.blockHash,
        indexBlockHash: start.indexBlockHash,
        burnBlockHash: start.burnBlockHash,
        burnBlockHeight: start.burnBlockHeight,
        burnBlockTime: sortition instanceof NoAnswer ? 0 : sortition.burn_header_timestamp,
        minerTxId: new Uint8Array(32),
        tenureHeight: top,
        poxUnlockHeights: await poxUnlockHeights(node, start.indexBlockHash),
      };
    },

    /** Returns the coinbase height of a lower block's tenure; null if the node doesn't return it. */
    async heightOf(indexBlockHash: Uint8Array): Promise<number | null> {
      const block = await requestBlock(node, indexBlockHash.toHex());
      if (block === null) return null;
      const consensusHash = block.header.consensusHash.toHex();
      for (let height = top; height > top - MAX_TENURES; height--) {
        const hash = await hashOf(height);
        if (hash === null) return null;
        if (hash === consensusHash) return height;
      }
      return null;
    },

    /** Returns a tenure by its height, with the fees of its blocks below the start; null if the node doesn't return it. */
    async rewarded(height: number): Promise<RewardedTenure | null> {
      const hash = await hashOf(height);
      const list = hash === null ? null : answerOrThrow(await node.json(`/v3/tenures/blocks/${hash}`, TenureBlocks));
      if (list === null || list instanceof NoAnswer) return null;
      const older = list.stacks_blocks.filter((block) => block.height < start.height);
      let rewarded: RewardedTenure | null = null;
      // Lowest block first, because the tenure's first block has the coinbase.
      for (const { block_id: id } of older.sort((a, b) => a.height - b.height)) {
        const block = await requestBlock(node, id);
        if (block === null) return null;
        const { fees, coinbase } = earningsOf(block);
        if (rewarded !== null) rewarded.fees += fees;
        else if (coinbase === null) return null;
        else rewarded = { indexBlockHash: block.blockId, blockHash: block.blockHash, ...coinbase, fees };
      }
      return rewarded;
    },
  };
}
