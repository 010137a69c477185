/** Models of accounts and of the walk through their history. */
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
  /** Null if nothing is locked at the tip. */
  locked: {
    amount: bigint;
    poxVersion: number;
    /** The transaction that locked it, and the Stacks and Bitcoin heights of its block; null if it is below the first block. */
    transaction: { txId: Uint8Array; blockHeight: number; burnBlockHeight: number } | null;
    /** Bitcoin height of the lock's end. */
    unlockHeight: number;
  } | null;
  pending: PendingStx;
}

export interface PendingStx {
  /** Whether the principal is sender, sponsor or recipient of a pending transaction, which may move no STX. */
  any: boolean;
  /** micro-STX that pending transfers would add. */
  inbound: bigint;
  /** micro-STX that pending transactions would spend, with fees. */
  outbound: bigint;
}

/** Sums of an account's history up to a height. */
export interface AccountState {
  transactions: number;
  /** Number of transactions that the account only sponsors. */
  sponsoredOnly: number;
  /** Number of asset events of the account. */
  events: number;
  /** Number of locks of its STX. */
  locks: number;
  /** Number of transfers in the list of inbound transfers. */
  inbound: number;
  /** The highest nonce spent as origin or sponsor; null if none was spent. */
  lastNonce: bigint | null;
  /** micro-STX that it had before the first block; 0 unless the index begins at a block of the chain. */
  initial: bigint;
  /** micro-STX of events, without fees. */
  sent: bigint;
  received: bigint;
  /** micro-STX of fees paid, and of matured rewards. */
  fees: bigint;
  mined: bigint;
}

/** Returns the micro-STX of an account, locked ones included. */
export const stxOf = ({ initial, received, mined, sent, fees }: AccountState): bigint =>
  initial + received + mined - sent - fees;

/** An account's STX up to a height, and its pending transactions now. */
export interface StxHistory extends AccountState {
  /** The lock at that height. */
  locked: StxBalance['locked'];
  pending: PendingStx;
}

/** Sums of a token in base units, or numbers of events of instances. */
export interface TokenSums {
  sent: bigint;
  received: bigint;
}

/** Maximum of listed nonces, the lowest, which are used first. A node accepts 25 pending transactions of an account. */
export const MAX_NONCES = 1_000;

export interface Nonces {
  next: bigint;
  lastConfirmed: bigint | null;
  lastPending: bigint | null;
  /** Pending nonces between the two, ascending; the lowest of very many. */
  pending: bigint[];
  /** Nonces between the two that are neither confirmed nor pending, descending; the lowest of very many. */
  missing: bigint[];
}

/** Change of one asset of a principal by a transaction: micro-STX with the fee in `sent`, base units, or instances. */
export interface BalanceChange {
  txId: Uint8Array;
  asset: MovedAsset;
  sent: bigint;
  received: bigint;
}

export interface AddressTransaction {
  transaction: TransactionDetail;
  /** micro-STX, with the fee in `sent` for the payer. */
  stx: { sent: bigint; received: bigint };
  /** The principal's asset events, in order. */
  events: AssetEvent[];
}

/** Sums of a fungible token in base units, or numbers of events of a non-fungible one. */
export interface TokenHistory extends TokenSums {
  token: 'ft' | 'nft';
  asset: string;
}

/** STX sent to a principal, by a token transfer or by an event of another transaction. */
export interface ReceivedStx {
  /** Source of the memo. */
  memoOf: 'transaction' | 'event' | 'print';
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  sender: string;
  /** micro-STX, decimal. */
  amount: string;
  memo: Uint8Array | null;
}

/** An end of a period: a height, or a time in Unix seconds. */
export type Bound = { height: number } | { time: number };

export interface Period {
  /** The first block has this height, or is the first with this time or a later one; null for the chain's first block. */
  from: Bound | null;
  /** The last block has this height, or is the one before the first with a later time; null for the tip. */
  to: Bound | null;
}

export type MovedAsset = { type: 'stx' } | { type: 'ft' | 'nft'; identifier: string };

export type MovementKind = 'transfer' | 'mint' | 'burn' | 'fee' | 'mining_reward';

/** One change of a principal's balance of one asset. A transfer to itself is two of them. */
export interface Movement {
  kind: MovementKind;
  height: number;
  /** Unix seconds. */
  time: number;
  /** Null for a reward, which has no transaction. */
  txId: Uint8Array | null;
  /** Null for a fee or reward, which isn't an event. */
  eventIndex: number | null;
  asset: MovedAsset;
  /** Serialized Clarity value of an instance; null for other assets. */
  value: Uint8Array | null;
  /** Of an STX transfer; null if it has none. */
  memo: Uint8Array | null;
  /** The other party; null for mints and burns. */
  counterparty: string | null;
  /** micro-STX, base units, or 1 for an instance; negative if the principal sent it. */
  amount: bigint;
  /** The balance after this movement: micro-STX including locked ones, base units, or number of instances. */
  balance: bigint;
}

export interface HistoryPosition {
  /**
   * Position of the next transaction, or a lower one after the last. Transactions of block 0 have positions of block 0, although
   * block 1 serves them.
   */
  position: number;
  /** Index of the next event in that transaction; the fee comes before the first event. */
  event: number;
  /** Number of earlier events in it that concern the principal. */
  found: number;
  /** The next reward, or a lower bound: height of its block, and its index there. */
  reward: readonly [height: number, index: number];
}

/** A walk through the history of a principal on one chain. Each batch advances it. */
export interface HistoryWalk {
  readonly principal: string;
  /** Heights of the first and the last block; the last is at most the tip's height. */
  readonly first: number;
  readonly last: number;
  /** Index block hash of the last block, which identifies the chain of the walk. */
  readonly lastHash: Uint8Array;
  /** The index's file in which it began, as a reader numbers it. */
  readonly file: number;
  position: HistoryPosition;
  /** Present balance of each asset, by a key of the asset. */
  readonly balances: Map<string, bigint>;
}

export interface SeenTransaction {
  txId: Uint8Array;
  height: number;
  /** Unix seconds. */
  time: number;
}

/** The other sides of transfers of STX in one direction. */
export interface Counterparties {
  /** Number of transfers that were counted, without mints and burns. */
  transfers: number;
  /** The counterparties with the largest sums, in micro-STX. */
  largest: { principal: string; transfers: number; amount: bigint }[];
}

export interface AccountActivity {
  first: SeenTransaction | null;
  last: SeenTransaction | null;
  received: Counterparties;
  sent: Counterparties;
}

export interface BalanceOverTime {
  /** Whether each change has a point; else the points are evenly distributed. */
  complete: boolean;
  /** Balances after blocks, oldest first, in micro-STX or base units. */
  points: { height: number; time: number; balance: bigint }[];
}
