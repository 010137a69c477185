import type { BurnBlock } from './burn-operation.ts';
import type { Receipt } from './execute.ts';
import type { SignedTransaction } from './transaction.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

/** A miner's turn: begins with a tenure change and lasts until the next one. */
export interface Tenure {
  /** Counts tenures from the genesis block on. */
  readonly height: number;
  readonly miner: Account;
  /** Who gets the coinbase: the miner, or whom its coinbase transaction names. */
  readonly recipient: string;
  /** The miner's commitment on Bitcoin, with 0x. */
  readonly minerTxId: string;
  /** What the tenure and the one before it are called by: 20 bytes each; null for the one before tenure 0. */
  readonly consensusHash: Uint8Array;
  readonly parentConsensusHash: Uint8Array | null;
  /** Index block hash of the first block of the tenure before; null for tenure 0. */
  readonly parentIndexBlockHash: string | null;
  /** The first block's hashes; the reward refers to them. */
  readonly blockHash: string;
  readonly indexBlockHash: string;
}

/** What a tenure brought its miner. It is credited some tenures later, when it has matured. */
export interface Earning {
  readonly tenure: Tenure;
  /** Micro-STX. */
  readonly fees: bigint;
}

/** A block of the simulated chain with the state after it. */
export interface Block {
  /** Hashes with 0x. */
  readonly blockHash: string;
  readonly indexBlockHash: string;
  /** Index block hash of the parent; null for block 0. */
  readonly parent: string | null;
  readonly height: number;
  /** Unix seconds. */
  readonly time: number;
  /** The burn block that elected the tenure. */
  readonly burn: BurnBlock;
  /** The newest burn block the miner has taken notice of: `burn` or one after it. */
  readonly burnView: BurnBlock;
  readonly tenure: Tenure;
  /** Blocks of the tenure up to this one. */
  readonly blocksInTenure: number;
  /** The sum of fees in the tenure up to this block, in micro-STX. */
  readonly fees: bigint;
  /** Earnings not matured yet, oldest first. */
  readonly earnings: readonly Earning[];
  readonly world: World;
  /** What users sent, without the block's own bookkeeping. */
  readonly transactions: readonly SignedTransaction[];
  /** What became of all its transactions, in order. */
  readonly receipts: readonly Receipt[];
}
