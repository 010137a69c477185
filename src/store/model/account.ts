/** What queries of accounts answer, and what their history is walked by. */
import type { AssetEvent, TransactionDetail, TransactionSummary } from './transaction.ts';

export interface PrincipalTransaction {
  transaction: TransactionSummary;
  involvement: 'sender' | 'sponsor' | 'affected';
  /** micro-STX, the fee inside `sent`. */
  stx: { sent: bigint; received: bigint };
  affected: { stx: boolean; ft: boolean; nft: boolean };
}

/** micro-STX. */
export interface StxBalance {
  balance: bigint;
  /** Null when nothing is locked at the tip. */
  locked: {
    amount: bigint;
    poxVersion: number;
    txId: Uint8Array;
    /** Stacks height of the lock. */
    blockHeight: number;
    /** Bitcoin height of the lock's block. */
    burnBlockHeight: number;
    /** Bitcoin height at which it ends. */
    unlockHeight: number;
  } | null;
  pending: PendingStx;
}

/** What pending transactions would change. */
export interface PendingStx {
  /** Whether the principal is the sender, sponsor or recipient of one, which may move no STX. */
  any: boolean;
  /** micro-STX that pending transfers bring. */
  inbound: bigint;
  /** micro-STX that pending transactions take, fees included. */
  outbound: bigint;
}

/** What an account's history came to at some height. */
export interface AccountState {
  transactions: number;
  /** Number of transactions in which the account is the sponsor and nothing else. */
  sponsoredOnly: number;
  /** Asset events it took part in. */
  events: number;
  /** Locks of its STX. */
  locks: number;
  /** Transfers that are listed as inbound. */
  inbound: number;
  /** The greatest it used, as origin or sponsor; null where it used none. */
  lastNonce: bigint | null;
  /** micro-STX of events, without fees. */
  sent: bigint;
  received: bigint;
  /** micro-STX of fees it paid, and of rewards that matured. */
  fees: bigint;
  mined: bigint;
}

/** An account's STX up to some height, and what waits now. */
export interface StxHistory extends AccountState {
  /** Then. */
  locked: StxBalance['locked'];
  pending: PendingStx;
}

/** Base units, or how many events of instances. */
export interface TokenSums {
  sent: bigint;
  received: bigint;
}

export interface Nonces {
  next: bigint;
  lastConfirmed: bigint | null;
  lastPending: bigint | null;
  /** Pending nonces between the two, ascending; the lowest of very many. */
  pending: bigint[];
  /** Nonces between the two that are neither confirmed nor pending, descending; the lowest of very many. */
  missing: bigint[];
}

/** What a transaction did to one asset of a principal: micro-STX with the fee in `sent`, base units, or instances. */
export interface BalanceChange {
  txId: Uint8Array;
  asset: { type: 'stx' } | { type: 'ft' | 'nft'; identifier: string };
  sent: bigint;
  received: bigint;
}

/** A transaction with what it did to a principal. */
export interface AddressTransaction {
  transaction: TransactionDetail;
  /** micro-STX, the fee inside `sent` for whoever pays it. */
  stx: { sent: bigint; received: bigint };
  /** The asset events it took part in, in order. */
  events: AssetEvent[];
}

/** Base units of a fungible token, or how many events of instances of another. */
export interface TokenHistory extends TokenSums {
  token: 'ft' | 'nft';
  asset: string;
}

/** STX on the way to a principal, by a transaction that is a transfer or by one that holds it. */
export interface ReceivedStx {
  /** Where the memo is. */
  memoOf: 'transaction' | 'event' | 'print';
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  sender: string;
  /** micro-STX, decimal. */
  amount: string;
  memo: Uint8Array | null;
}

/** What a query answers of a principal's history: each movement of an asset, in the order of the chain. */

/** A place between blocks: a height, or a time in Unix seconds. */
export type Bound = { height: number } | { time: number };

/** What a history covers. */
export interface Period {
  /** The first block is the one of this height, or the first whose time is this or later; null for that of the chain. */
  from: Bound | null;
  /** The last block is the one of this height, or the one before the first whose time is later; null for the tip. */
  to: Bound | null;
}

export type MovedAsset = { type: 'stx' } | { type: 'ft' | 'nft'; identifier: string };

export type MovementKind = 'transfer' | 'mint' | 'burn' | 'fee' | 'mining_reward';

/** One change of a principal's balance of one asset. A transfer to itself is two of them. */
export interface Movement {
  kind: MovementKind;
  /** Height of the block. */
  height: number;
  /** Unix seconds. */
  time: number;
  /** Null for a reward, which no transaction pays. */
  txId: Uint8Array | null;
  /** Null for a fee or reward, which is no event. */
  eventIndex: number | null;
  asset: MovedAsset;
  /** Serialized Clarity value of an instance; null for other assets. */
  value: Uint8Array | null;
  /** Who sent or received it; null where it came into being, or went. */
  counterparty: string | null;
  /** micro-STX, base units, or 1 for an instance; below zero where the principal gave it. */
  amount: bigint;
  /** What the principal has of the asset after this movement: micro-STX with those that are locked, base units, or number of instances. */
  balance: bigint;
}

/** Where a walk through a history stands. */
export interface HistoryPosition {
  /** The transaction that comes next, or the first one after it. */
  position: number;
  /** The event of that transaction that comes next; the fee is before the first. */
  event: number;
  /** How many of its events before that one concern the principal. */
  found: number;
  /** The reward that comes next, or the first one after it: height of its block, and its index there. */
  reward: readonly [height: number, index: number];
}

/** A walk through the history of one principal on one chain. Each batch moves it on. */
export interface HistoryWalk {
  readonly principal: string;
  /** Heights of the first and the last block; the last is at most that of the tip. */
  readonly first: number;
  readonly last: number;
  /** Index block hash of the last block, which names the chain that the walk is on. */
  readonly lastHash: Uint8Array;
  /** The index's file that it began in, as a reader names it. */
  readonly file: number;
  position: HistoryPosition;
  /** What each asset's balance came to so far, by a key of the asset. */
  readonly balances: Map<string, bigint>;
}
