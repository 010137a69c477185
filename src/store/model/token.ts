/** Models of balances, holders and transfers of STX and tokens. */

import type { OffsetPage } from './page.ts';
import type { AssetEvent, PositionedEvent, TransactionDetail, TransactionPosition } from './transaction.ts';

/** Base units, decimal. */
export interface FtBalance {
  asset: string;
  balance: string;
}

/** micro-STX or base units, decimal. */
export interface Holder {
  principal: string;
  balance: string;
}

export interface NftInstance {
  asset: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
}

/** One event that moved a token. Mints have no sender, burns no recipient. */
export interface Move extends TransactionPosition {
  eventIndex: number;
  sender: string | null;
  recipient: string | null;
}

/** Base units, decimal. */
export interface FtTransfer extends Move {
  amount: string;
}

/** micro-STX, decimal. */
export interface StxTransfer extends Move {
  amount: string;
  memo: Uint8Array | null;
}

/** An event of an instance. The transaction is null unless it was asked for. */
export interface NftEvent extends PositionedEvent<Extract<AssetEvent, { kind: 'nft' }>> {
  transaction: TransactionDetail | null;
}

/** An instance with the transaction by which its owner received it. */
export interface NftHolding extends NftInstance {
  txId: Uint8Array;
  blockHeight: number;
  transaction: TransactionDetail | null;
}

/** Holders, whose balances may be 0 or negative, and the sum of all balances. */
export interface HolderPage extends OffsetPage<Holder> {
  supply: string;
}
