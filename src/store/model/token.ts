/** Models of balances, holders and transfers of STX and tokens. */

import type { AssetAction } from '../../chain/block.ts';
import type { TokenFamily } from '../../chain/token-contracts.ts';
import type { TokenJobState, TokenWork } from '../rows/enums.ts';
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

/** An event of an instance. The transaction is null unless the request includes it. */
export interface NftEvent extends PositionedEvent<Extract<AssetEvent, { kind: 'nft' }>> {
  transaction: TransactionDetail | null;
}

/** An event of an instance with its place, for subscribers. */
export interface NftMove {
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  eventIndex: number;
  action: AssetAction;
  asset: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
  sender: string | null;
  recipient: string | null;
}

/** A mint, with the present owner of its instance; null if that is burnt. */
export interface NftMint extends NftEvent {
  owner: string | null;
}

/** An instance with the transaction that gave it to its owner. */
export interface NftHolding extends NftInstance {
  txId: Uint8Array;
  blockHeight: number;
  transaction: TransactionDetail | null;
}

/** Holders (their balances may be 0 or negative), and the sum of all balances. */
export interface HolderPage extends OffsetPage<Holder> {
  supply: string;
}

/** The order of a directory of tokens: by holders, or by events of a day. The latter omits tokens without events. */
export type TokensOrder = 'holders' | 'transfers';

/** The directory fields of any token. Events are its transfers, mints and burns. */
interface ListedToken {
  asset: string;
  holders: number;
  events: number;
  eventsOfDay: number;
}

export interface FtListing extends ListedToken {
  /** Base units, decimal; may be negative if the index lacks the start of the chain. */
  supply: string;
  /** As the contract returns it; null if unknown. */
  name: string | null;
  symbol: string | null;
  decimals: string | null;
}

export interface NftListing extends ListedToken {
  mints: number;
  /** Instances that are not burnt. */
  instances: number;
}

/** A contract of tokens with metadata (SIP-010, SIP-009, SIP-013). */
export interface TokenContractDetail {
  contractId: string;
  family: TokenFamily;
  /** For a fungible token, the identifier of the first asset that the contract declares. */
  asset: string | null;
  /** The deployment. */
  txId: Uint8Array;
  /** State of the question for a non-fungible token's last token id; null for other families. */
  lastTokenId: TokenJobState | null;
}

/** Metadata of a token from its contract's read-only functions; null if unknown. Texts are unchanged. */
export interface TokenFacts {
  name: string | null;
  symbol: string | null;
  /** Decimal, up to 2^128 - 1. */
  decimals: string | null;
  /** Base units, decimal. */
  supply: string | null;
  /** With the token's number in it. */
  uri: string | null;
}

export interface TokenDetail extends TokenFacts {
  /** Unix milliseconds of the node's last answer; null before the first. */
  writtenAt: number | null;
  facts: TokenJobState;
}

/** Conditions of a list of fungible tokens; null for a condition that isn't set. */
export interface FtFilter {
  /** A part of the name, in any case. */
  name: string | null;
  /** The whole symbol, in any case. */
  symbol: string | null;
  /** The beginning of the contract identifier. */
  address: string | null;
}

export interface FtOrder {
  by: 'name' | 'symbol';
  direction: 'asc' | 'desc';
}

export interface ListedFt extends TokenFacts {
  contractId: string;
  asset: string;
  txId: Uint8Array;
}

/** Numbers of contracts, tokens and jobs. Kinds with the number 0 are omitted. */
export interface TokenCounts {
  families: { family: TokenFamily; contracts: number; tokens: number }[];
  jobs: { work: TokenWork; state: TokenJobState; jobs: number }[];
}

export interface TokenJobItem {
  work: TokenWork;
  contract: string;
  family: TokenFamily;
  /** Decimal; null for work that is the contract's. */
  token: string | null;
  /** In a row without an answer. */
  tries: number;
}

export interface TokenQueue {
  /** The tip of the chain that the queue belongs to; null before the first block. */
  tip: { height: number; indexBlockHash: Uint8Array } | null;
  /** Lookups that were never tried, oldest first and newest first. */
  oldest: TokenJobItem[];
  newest: TokenJobItem[];
  /** Lookups to repeat. */
  repeated: TokenJobItem[];
}
