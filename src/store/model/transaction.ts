/** Models of transactions and their events. */
import type { ChainEvent, ExecutionCost, Signer, TransactionStatus } from '../../chain/block.ts';
import type { Projection } from '../../chain/projection.ts';
import type { TenureChangeCause, TransactionType } from '../../codec/transaction.ts';
import type { MempoolStatus } from '../rows/enums.ts';
import type { HeightSpan, PositionInBlock } from './block.ts';

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
export interface TransactionSummary extends Spent, TransactionPosition {
  status: TransactionStatus;
  burnBlock: { height: number; time: number };
}

/** A transaction with all that lists leave out. */
export interface TransactionDetail extends TransactionSummary {
  /** False in an orphaned block. */
  canonical: boolean;
  /** The transaction's microblock (Stacks 2.x); null in an anchor block. */
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
  /** Count and values of the arguments of a call made on Bitcoin; null for others, whose arguments are in `raw`. */
  functionArgs: Uint8Array | null;
}

export interface PendingTransaction extends Spent {
  status: MempoolStatus;
  /** Unix seconds. */
  receiptTime: number;
  /** Height of the tip at its receipt. */
  receiptBlockHeight: number;
}

export interface PendingTransactionDetail extends PendingTransaction {
  replacedByTxId: Uint8Array | null;
  raw: Uint8Array;
}

/** Filters by the payload; null for no filter. */
interface PayloadFilter {
  types: readonly TransactionType[] | null;
  sender: string | null;
  /** Recipient of a token transfer. */
  recipient: string | null;
  /** Called contract; deployments don't match. */
  contract: string | null;
  /** Called function. */
  functionName: string | null;
}

/** Filters of a list of transactions; null for no filter. */
export interface TransactionFilter extends PayloadFilter {
  nonce: number | null;
  /** Earliest and latest time of the Bitcoin block, in Unix seconds. */
  since: number | null;
  until: number | null;
}

/** Conditions that listed pending transactions meet; null for none. */
export interface PendingConditions extends PayloadFilter {
  /** micro-STX of a token transfer, both included. */
  leastAmount: bigint | null;
  greatestAmount: bigint | null;
}

/** Conditions that listed transactions meet, with the heights of their blocks; null for none. */
export interface TransactionConditions extends PendingConditions, HeightSpan {
  statuses: readonly TransactionStatus[] | null;
  /** A principal that takes part: it sends or sponsors, or the transaction affects it. */
  principal: string | null;
  /** Times of the block, in Unix seconds, both included. */
  since: number | null;
  until: number | null;
}

/** Order of transactions; equal ones are in the order of the chain, in the same direction. */
export interface TransactionOrder {
  by: 'block_height' | 'burn_block_time' | 'fee';
  direction: 'asc' | 'desc';
}

export type FoundTransaction =
  | { mined: true; transaction: TransactionDetail }
  | { mined: false; transaction: PendingTransactionDetail };

/** State of a transaction: index block hash of its block, null if it isn't mined, and its status. */
export interface TransactionState {
  indexBlockHash: Uint8Array | null;
  status: string;
}

/** A transaction of any fork. `events` reads a part of its events; only a mined one has any. */
export type FoundInForks =
  | { mined: true; transaction: TransactionDetail; events(limit: number, offset: number): TransactionEvent[] }
  | { mined: false; transaction: PendingTransactionDetail };

/** A transaction's block and index, as rows of other lists show them. */
export interface TransactionPosition {
  txId: Uint8Array;
  txIndex: number;
  block: { height: number; hash: Uint8Array; indexHash: Uint8Array; time: number };
}

export interface TransactionKey extends PositionInBlock {
  indexBlockHash: Uint8Array;
}

/** Filters of a list of pending transactions; null for no filter. */
export interface PendingFilter {
  sender: string | null;
  /** Recipient of a token transfer. */
  recipient: string | null;
  /** Sender, recipient, or the called or deployed contract. */
  principal: string | null;
}

/** Order of a list of pending transactions: the highest fee first, or the newest receipt. */
export type PendingWalk = 'fee' | 'age';

/** Order of pending transactions, equal ones by id. `age` descending is the newest receipt first. */
export interface PendingOrder {
  by: 'age' | 'size' | 'fee';
  direction: 'asc' | 'desc';
}

/** Data of a pending transaction for statistics of the mempool. */
export interface PendingFeeAndSize {
  type: TransactionType;
  /** micro-STX. */
  fee: number;
  /** Height of the tip at its receipt. */
  receiptBlockHeight: number;
  /** Bytes. */
  size: number;
}

/** Ranks of pending transactions by fee, from 1 for the highest; equal fees share a rank. Null beyond the counted ones. */
export interface FeeRank {
  ofAll: number | null;
  ofType: number | null;
}

/** Number of pending transactions of a type that offer a fee in micro-STX. */
export interface OfferedFee {
  type: TransactionType;
  fee: bigint;
  transactions: number;
}

/** The blocks that pending transactions would fill. */
export interface MempoolProjection extends Pick<Projection, 'blocks' | 'places'> {
  total: number;
  /** Number of pending transactions that were read: all, or the ones with the highest fees. */
  considered: number;
  /** Numbers of considered transactions that fit no block, because the account lacks balance, or because of their nonces. */
  withoutBalance: number;
  withoutNonce: number;
  /** Number of calls with a cost estimated from earlier calls. */
  estimated: number;
}

/** The reason why a pending transaction waits. Amounts are micro-STX. */
export type PendingAwaits =
  /** A nonce that its account must use first; the transaction is null if none with the nonce is pending. */
  | { for: 'nonce'; principal: string; nonce: number; txId: Uint8Array | null }
  | { for: 'balance'; principal: string; needed: bigint; available: bigint };

export type TransactionEvent = ChainEvent & { index: number };

export type AssetEvent = Extract<TransactionEvent, { kind: 'stx' | 'ft' | 'nft' }>;

export interface EventLocation extends PositionInBlock {
  height: number;
  eventIndex: number;
}

export interface PositionedEvent<Event = TransactionEvent> {
  txId: Uint8Array;
  event: Event;
}
