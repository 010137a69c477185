/**
 * Types of blocks and transactions. The payloads of all node releases are normalised to them before they are stored.
 */
import type { Payload } from '../codec/transaction.ts';

/** `unknown` is a status that this program doesn't support. */
export type TransactionStatus =
  | 'success'
  | 'abort_by_response'
  | 'abort_by_post_condition'
  | 'problematic_skipped'
  | 'unknown';

/** Sequence of a transaction in the anchor block, greater than the sequence of any microblock. */
export const ANCHORED_SEQUENCE = 2_147_483_647;

/** Execution cost in the node's units; u64, so bigint beyond 2^53. */
export interface ExecutionCost {
  runtime: number | bigint;
  readCount: number | bigint;
  readLength: number | bigint;
  writeCount: number | bigint;
  writeLength: number | bigint;
}

export interface Microblock {
  hash: Uint8Array;
  parentHash: Uint8Array;
  sequence: number;
}

/** The account that sends a transaction, or sponsors it. */
export interface Signer {
  address: string;
  nonce: bigint;
}

/** The content of a transaction, either from Stacks bytes or made on Bitcoin. */
export interface TransactionContent {
  txId: Uint8Array;
  /** The wire bytes; the single byte `00` for a transaction made on Bitcoin. */
  raw: Uint8Array;
  sender: Signer;
  sponsor: Signer | null;
  /** Fee in micro-STX; the sponsor pays it if there is one. */
  fee: bigint;
  /** The chain id; 0 in unsigned transactions that nodes create (boot contracts, genesis, vesting). */
  chainId: number;
  anchorMode: number;
  /** The mode byte and the list of conditions, in wire format (SIP-005). */
  postConditions: Uint8Array;
  payload: Payload;
  /**
   * Whether the transaction was made on Bitcoin. Such a transaction uses no nonce, pays no fee in STX and was never in
   * the mempool.
   */
  bitcoinOperation: boolean;
}

export interface ChainTransaction extends TransactionContent {
  /**
   * The node's index in the block. Genesis transactions are served in block 1, and their indexes continue the block's
   * indexes.
   */
  txIndex: number;
  status: TransactionStatus;
  /** The node's text of an unknown status. */
  unknownStatus?: string;
  /** The result, as a serialized Clarity value. */
  result: Uint8Array;
  cost: ExecutionCost;
  vmError: string | null;
  /** JSON of the contract's interface, for deployments. */
  contractInterface: string | null;
  /** The microblock that contains the transaction (Stacks 2.x); null if the anchor block contains it. */
  microblock: Microblock | null;
  /** Events in the order of their event index, which equals their position in the list. */
  events: ChainEvents;
  /** Values of block 0, for its transactions, which block 1 serves; null for all others. */
  genesis: { blockTime: number; parentIndexBlockHash: Uint8Array; parentBurnBlockTime: number | null } | null;
}

export type AssetAction = 'transfer' | 'mint' | 'burn';

/** An event of a transaction. Amounts are decimal text, micro-STX or the token's base units; u128. */
export type ChainEvent =
  | { kind: 'contract_log'; contractId: string; topic: string; value: Uint8Array }
  | {
      kind: 'stx';
      action: AssetAction;
      sender: string | null;
      recipient: string | null;
      amount: string;
      memo: Uint8Array | null;
    }
  | { kind: 'ft'; action: AssetAction; asset: string; sender: string | null; recipient: string | null; amount: string }
  | {
      kind: 'nft';
      action: AssetAction;
      asset: string;
      sender: string | null;
      recipient: string | null;
      value: Uint8Array;
    }
  | {
      kind: 'stx_lock';
      address: string;
      amount: string;
      /** Bitcoin height at which the lock ends. */
      unlockHeight: number;
      /** The stacking contract's name, such as `pox-4`. */
      contractName: string;
    }
  /** A type that this program doesn't support: its name, and the JSON of the event. */
  | { kind: 'unknown'; type: string; json: string };

/** Events in order: an array, or an iterable that parses each event in every iteration. */
export interface ChainEvents extends Iterable<ChainEvent> {
  readonly length: number;
  entries(): Iterable<[index: number, event: ChainEvent]>;
}

/** A coinbase and fees that matured in this block; micro-STX. */
export interface MinerReward {
  recipient: string;
  miner: string;
  coinbase: bigint;
  feesAnchored: bigint;
  feesStreamedConfirmed: bigint;
  feesStreamedProduced: bigint;
  fromIndexBlockHash: Uint8Array;
}

/** The signers of a reward cycle's blocks; empty before pox-4. */
export interface RewardSet {
  cycle: number;
  /** `key` has 33 bytes; `stacked` is in micro-STX. */
  signers: { key: Uint8Array; weight: number; stacked: bigint }[];
}

/** A block of the chain. Times are Unix seconds. */
export interface Block {
  height: number;
  blockHash: Uint8Array;
  indexBlockHash: Uint8Array;
  parentBlockHash: Uint8Array;
  parentIndexBlockHash: Uint8Array;
  blockTime: number;
  burnBlockHash: Uint8Array;
  burnBlockHeight: number;
  burnBlockTime: number;
  parentBurnBlockTime: number | null;
  minerTxId: Uint8Array;
  parentMicroblockHash: Uint8Array;
  parentMicroblockSequence: number;
  /** The coinbase height; null from nodes before 3.0. */
  tenureHeight: number | null;
  cost: ExecutionCost;
  /** Text of `0` and `1`, one per signer; null before Nakamoto. */
  signerBits: string | null;
  signerSignatures: Uint8Array[] | null;
  /** The node's count of transactions, which includes failed Bitcoin operations that aren't stored. */
  announcedTransactions: number;
  /** Transactions in chain order: first the transactions of microblocks, then the transactions of the anchor block. */
  transactions: ChainTransaction[];
  minerRewards: MinerReward[];
  /** Bitcoin heights at which the node ends the locks of pox to pox-4; null if this block doesn't contain one. */
  poxUnlockHeights: readonly [number | null, number | null, number | null, number | null];
  /** The reward set of the next cycle, in the block that chose it; null in all other blocks. */
  rewardSet: RewardSet | null;
}
