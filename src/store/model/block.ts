/** Blocks of Stacks and Bitcoin, microblocks and tenures, as queries answer them. */
import type { ExecutionCost } from '../../chain/block.ts';

export interface ChainTip {
  height: number;
  blockHash: Uint8Array;
  indexBlockHash: Uint8Array;
  /** Height of the newest Bitcoin block the node spoke of. */
  burnBlockHeight: number;
  /** The last microblock streamed on the tip (Stacks 2.x). */
  microblock: { hash: Uint8Array; sequence: number } | null;
}

/** A block by height, by either of its hashes, or the newest. */
export type BlockId = { height: number } | { hash: Uint8Array } | 'latest';

/** A block of the canonical chain. Times are Unix seconds. */
export interface ChainBlock {
  height: number;
  hash: Uint8Array;
  indexHash: Uint8Array;
  parentHash: Uint8Array;
  parentIndexHash: Uint8Array;
  time: number;
  /** The height itself for blocks that don't say it from before Nakamoto, else -1. */
  tenureHeight: number;
  burnBlock: { hash: Uint8Array; height: number; time: number };
  minerTxId: Uint8Array;
  /** Number of transactions as the node counts them. */
  transactions: number;
  cost: ExecutionCost;
}

/** A block by what v1 names it by, heights and hashes of Stacks or Bitcoin; or by the hash that is its own in all forks. */
export type BlockSearch =
  | { height: number }
  | { hash: Uint8Array }
  | { indexHash: Uint8Array }
  | { burnHeight: number }
  | { burnHash: Uint8Array };

/** A microblock that a block confirmed, with how many of its transactions. */
export interface ConfirmedMicroblock {
  hash: Uint8Array;
  transactions: number;
}

/** A block with what it holds, of any fork. An orphaned one holds nothing that counts. */
export interface WholeBlock extends ChainBlock {
  canonical: boolean;
  /** The last microblock of the parent that it confirmed; null where it confirmed none. */
  parentMicroblock: { hash: Uint8Array; sequence: number } | null;
  /** Transaction ids in the order of the chain. */
  txIds: Uint8Array[];
  /** Confirmed microblocks in the order of their sequence. */
  confirmed: ConfirmedMicroblock[];
  /** Microblocks built on it that the next block confirmed, or that wait for one; in the order of their sequence. */
  streamed: Uint8Array[];
}

/** A block as its announcement made it, which a later one may have changed. */
export interface AnnouncedBlock {
  block: WholeBlock;
  /** Whether the canonical chain holds it now. */
  isOnChain: boolean;
}

/** A canonical microblock, or one that waits on the tip for a block to confirm it. */
export interface ChainMicroblock {
  hash: Uint8Array;
  parentHash: Uint8Array;
  sequence: number;
  /** Height of the block that confirmed it, or would. */
  height: number;
  /** Hash of that block; null while there is none. */
  blockHash: Uint8Array | null;
  parentBlock: { hash: Uint8Array; burnBlock: { hash: Uint8Array; height: number; time: number } };
  /** Transaction ids in the order of the chain. */
  txIds: Uint8Array[];
}

/** What a tenure holds: the sums of its blocks. Costs in the node's units, size in bytes of raw transactions. */
export interface TenureLoad {
  blocks: number;
  runtime: number;
  readCount: number;
  readLength: number;
  writeCount: number;
  writeLength: number;
  size: number;
}

/** A Bitcoin block with the canonical blocks that are anchored to it. */
export interface AnchorBurnBlock {
  hash: Uint8Array;
  height: number;
  /** Unix seconds. */
  time: number;
  /** Hashes of its blocks, the highest first. */
  blocks: Uint8Array[];
  /** Mean seconds from one of them to the next; 0 where there is one. */
  averageBlockTime: number;
  /** Number of transactions as the node counts them. */
  transactions: number;
}

/** Blocks by their heights, both ends included; none where the last is below the first. */
export interface Heights {
  first: number;
  last: number;
}

/** Where a transaction is in its block. */
export interface PositionInBlock {
  /** Sequence of the microblock that holds the transaction; `ANCHORED_SEQUENCE` in an anchor block. */
  microblockSequence: number;
  txIndex: number;
}
