/** What queries of transactions and their events answer. */
import type { ChainEvent, ExecutionCost, Signer, TransactionStatus } from '../../chain/block.ts';
import type { TenureChangeCause, TransactionType } from '../../codec/transaction.ts';
import type { MempoolStatus } from '../rows/enums.ts';
import type { PositionInBlock } from './block.ts';

export type SummaryPayload =
  | { type: 'token_transfer'; recipient: string; amount: string; memo: Uint8Array | null }
  | { type: 'smart_contract'; contractId: string; clarityVersion: number | null }
  | { type: 'contract_call'; contractId: string; functionName: string }
  | { type: 'poison_microblock' }
  | { type: 'coinbase'; altRecipient: string | null }
  | { type: 'tenure_change'; cause: TenureChangeCause }
  | { type: 'unknown' };

interface Spent {
  txId: Uint8Array;
  sender: Signer;
  sponsor: Signer | null;
  /** micro-STX, decimal. */
  fee: string;
  payload: SummaryPayload;
}

/** A transaction of the canonical chain, as lists show it. Times are Unix seconds. */
export interface TransactionSummary extends Spent {
  txIndex: number;
  status: TransactionStatus;
  block: { height: number; hash: Uint8Array; indexHash: Uint8Array; time: number };
  burnBlock: { height: number; time: number };
}

/**
 * A transaction with everything that a list leaves out. A transaction of a streamed microblock that no block confirmed yet
 * has no block hashes, and -1 for the Bitcoin block.
 */
export interface TransactionDetail extends TransactionSummary {
  /** False in a block that was orphaned. */
  canonical: boolean;
  /** The microblock that held it (Stacks 2.x), null in an anchor block. */
  microblock: { hash: Uint8Array; sequence: number } | null;
  /** The wire byte: 1 on chain only, 2 off chain only, 3 any. */
  anchorMode: number;
  /** Unix seconds. */
  parentBurnBlockTime: number | null;
  parentBlock: { hash: Uint8Array; indexHash: Uint8Array };
  eventCount: number;
  cost: ExecutionCost;
  vmError: string | null;
  /** Serialized Clarity value. */
  result: Uint8Array;
  /** Mode byte and list. */
  postConditions: Uint8Array;
  /** Wire bytes; the byte `00` for operations made on Bitcoin. */
  raw: Uint8Array;
  /** Count and values: the arguments of a call made on Bitcoin; those of others are in `raw`. */
  functionArgs: Uint8Array | null;
}

export interface PendingTransaction extends Spent {
  status: MempoolStatus;
  /** Unix seconds. */
  receiptTime: number;
  /** Height of the tip when it came. */
  receiptBlockHeight: number;
}

export interface PendingTransactionDetail extends PendingTransaction {
  replacedByTxId: Uint8Array | null;
  raw: Uint8Array;
}

/** What narrows a list of transactions; what is null doesn't. */
export interface TransactionFilter {
  types: readonly TransactionType[] | null;
  sender: string | null;
  /** Recipient of a token transfer; null for others. */
  recipient: string | null;
  /** Called, not deployed. */
  contract: string | null;
  /** Called. */
  functionName: string | null;
  nonce: number | null;
  /** Least and greatest time of the Bitcoin block, in Unix seconds. */
  since: number | null;
  until: number | null;
}

/** Equals are in the order of the chain, in the same direction. */
export interface TransactionOrder {
  by: 'block_height' | 'burn_block_time' | 'fee';
  direction: 'asc' | 'desc';
}

/** What a transaction id stands for. */
export type FoundTransaction =
  | { mined: true; transaction: TransactionDetail }
  | { mined: false; transaction: PendingTransactionDetail };

/** What identifies the present state of a transaction: the block that holds it, null where it isn't mined, and its status. */
export interface TransactionState {
  indexBlockHash: Uint8Array | null;
  status: string;
}

/** A transaction as it is found in any fork, with a part of the events of one that was mined. */
export type FoundInForks =
  | { mined: true; transaction: TransactionDetail; events: TransactionEvent[] }
  | { mined: false; transaction: PendingTransactionDetail };

/** A transaction's place, as rows of other lists show it. */
export interface TransactionPosition {
  txId: Uint8Array;
  txIndex: number;
  block: { height: number; hash: Uint8Array; indexHash: Uint8Array; time: number };
}

/** Where a transaction is in the chain. */
export interface TransactionKey extends PositionInBlock {
  indexBlockHash: Uint8Array;
}

/** What narrows a list of pending transactions; what is null doesn't. */
export interface PendingFilter {
  sender: string | null;
  /** Recipient of a token transfer; null for others. */
  recipient: string | null;
  /** Sender, recipient, or the contract that is called or deployed. */
  principal: string | null;
}

/** The order of pending transactions. By age the newest receipt is first where it descends; equals go by id. */
export interface PendingOrder {
  by: 'age' | 'size' | 'fee';
  direction: 'asc' | 'desc';
}

/** What statistics of the mempool count of a pending transaction. */
export interface PendingFeeAndSize {
  type: TransactionType;
  /** micro-STX. */
  fee: number;
  /** Height of the tip when it came. */
  receiptBlockHeight: number;
  /** Bytes. */
  size: number;
}

/** Places by fee among what waits, from 1, which is the highest fee; equal fees share a place. Null where it is not counted. */
export interface FeeRank {
  ofAll: number | null;
  ofType: number | null;
}

/** How many pending transactions of a type offer a fee, in micro-STX. */
export interface OfferedFee {
  type: TransactionType;
  fee: bigint;
  transactions: number;
}

export type TransactionEvent = ChainEvent & { index: number };

/** One that moved an asset. */
export type AssetEvent = Extract<TransactionEvent, { kind: 'stx' | 'ft' | 'nft' }>;

/** Where an event is in the chain. */
export interface EventLocation extends PositionInBlock {
  height: number;
  eventIndex: number;
}

export interface PositionedEvent<Event = TransactionEvent> {
  txId: Uint8Array;
  event: Event;
}
