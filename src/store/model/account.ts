/** What queries answer of a principal: its balances, nonces and transactions. */
import type { AssetEvent } from './event.ts';
import type { TransactionDetail, TransactionSummary } from './transaction.ts';

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
