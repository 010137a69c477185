/** Models of blocks of Stacks and Bitcoin, microblocks and tenures, and of changes of the chain and the mempool. */
import type { ExecutionCost } from '../../chain/block.ts';
import type { TransactionType } from '../../codec/transaction.ts';
import type { ChangeKind, MempoolStatus } from '../rows/enums.ts';

export interface ChainTip {
  height: number;
  blockHash: Uint8Array;
  indexBlockHash: Uint8Array;
  /** Height of the newest announced Bitcoin block. */
  burnBlockHeight: number;
  /** How often an event changed blocks below the tip without a fork: the node's own event of a filled block. */
  completions: number;
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
  /** The block's own height for blocks before Nakamoto that have none; -1 for others without one. */
  tenureHeight: number;
  burnBlock: { hash: Uint8Array; height: number; time: number };
  minerTxId: Uint8Array;
  /** Number of transactions as the node counts them. */
  transactions: number;
  cost: ExecutionCost;
}

/** A block as v1 identifies it: by heights and hashes of Stacks or Bitcoin; or by the index block hash. */
export type BlockSearch =
  | { height: number }
  | { hash: Uint8Array }
  | { indexHash: Uint8Array }
  | { burnHeight: number }
  | { burnHash: Uint8Array };

export interface ConfirmedMicroblock {
  hash: Uint8Array;
  transactions: number;
}

/** A block of any fork with its transactions and microblocks. An orphan has none. */
export interface WholeBlock extends ChainBlock {
  canonical: boolean;
  /** The last microblock of the parent that the block confirmed; null if it confirmed none. */
  parentMicroblock: { hash: Uint8Array; sequence: number } | null;
  /** Transaction ids in the order of the chain. */
  txIds: Uint8Array[];
  /** Confirmed microblocks by sequence. */
  confirmed: ConfirmedMicroblock[];
  /** Microblocks built on it that the next block confirmed, by sequence. */
  streamed: Uint8Array[];
}

/** A block as it was announced; a later announcement may have changed its state. */
export interface AnnouncedBlock {
  block: WholeBlock;
  /** Whether the block is canonical now. */
  isOnChain: boolean;
}

/** A microblock that a canonical block confirmed. */
export interface ChainMicroblock {
  hash: Uint8Array;
  parentHash: Uint8Array;
  sequence: number;
  /** Height of the block that confirmed it. */
  height: number;
  blockHash: Uint8Array;
  parentBlock: { hash: Uint8Array; burnBlock: { hash: Uint8Array; height: number; time: number } };
  /** Transaction ids in the order of the chain. */
  txIds: Uint8Array[];
}

/** Sums over the blocks of a tenure. Costs are in the node's units, size in bytes of raw transactions. */
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
  /** Mean seconds between its blocks; 0 if there is one. */
  averageBlockTime: number;
  /** Number of transactions as the node counts them. */
  transactions: number;
}

/** Range of heights, both ends included; empty if the last is below the first. */
export interface Heights {
  first: number;
  last: number;
}

export interface PositionInBlock {
  /** Sequence of the transaction's microblock; `ANCHORED_SEQUENCE` in an anchor block. */
  microblockSequence: number;
  txIndex: number;
}

/** A branch of orphaned blocks: an orphan with a canonical parent, and its descendants. */
export interface Fork {
  /** Index block hash of its first block. */
  indexHash: Uint8Array;
  height: number;
  /** The newest block on both branches. */
  parentIndexHash: Uint8Array;
  topHeight: number;
  /** Number of its blocks, counted up to a limit. */
  blocks: number;
  /** Whether the branch was canonical once; null if no longer known. */
  wasCanonical: boolean | null;
  /** Unix seconds of the canonical block in the place of its first; null if there is none. */
  time: number | null;
}

export interface ForkBlock {
  height: number;
  indexHash: Uint8Array;
  hash: Uint8Array;
  burnHeight: number;
  /** Whether the block was canonical once; null if no longer known. */
  wasCanonical: boolean | null;
}

/** The later status of a transaction of an orphaned block: the height of its canonical block, or its mempool status. */
export interface OrphanFate {
  fate: 'mined' | 'pending' | 'dropped' | 'lost';
  height: number | null;
  status: MempoolStatus | null;
}

export interface ForkDetail extends Fork {
  /** By height. */
  orphans: ForkBlock[];
  /** Canonical blocks at the same heights, plus the next one. */
  canonical: ForkBlock[];
  transactions: (OrphanFate & {
    txId: Uint8Array;
    type: TransactionType;
    orphan: { height: number; indexHash: Uint8Array };
  })[];
  /** Whether these are all blocks and transactions of the fork. */
  isWhole: boolean;
}

/** A place between two changes. */
export interface ChangePosition {
  /** Identity of the log, in hex; empty before its first entry. */
  log: string;
  /** The step that the change before the place belongs to, by the height of its new tip. */
  step: number;
  /** The block that the chain ends in after that change; null below the first block. */
  block: Uint8Array | null;
  /** The height at which the history started when the place was made: the lowest block of the chain that ends in `block`. */
  start: number;
}

/** A block that was applied or rolled back. */
export interface BlockChange {
  change: 'apply' | 'rollback';
  height: number;
  hash: Uint8Array;
  /** The place behind the change. */
  place: ChangePosition;
}

/** Heights, both included. `from` null for the first block, `to` null for the tip. */
export interface HeightSpan {
  from: number | null;
  to: number | null;
}

/** A part of the chain by heights and times. */
export interface BlockWindow {
  heights: HeightSpan;
  /** Unix seconds, both included: it begins with the first block since then, and ends before the first one that is later. */
  since: number | null;
  until: number | null;
}

/** A change for subscribers. Ids ascend. */
export interface Change {
  id: number;
  kind: ChangeKind;
  /** Index block hash or transaction id. */
  subject: Uint8Array;
}
