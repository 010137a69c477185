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
export interface HistoryPlace {
  /** The transaction that comes next, or the first one after it. */
  position: number;
  /** The event of that transaction that comes next; the fee stands before the first. */
  event: number;
  /** How many of its events before that one concern the principal. */
  found: number;
  /** The reward that comes next, or the first one after it: height of its block, and its index there. */
  reward: readonly [height: number, index: number];
}

/** A walk through the history of one principal on one chain. Each step moves it on. */
export interface HistoryWalk {
  readonly principal: string;
  /** Heights of the first and the last block; the last is at most that of the tip. */
  readonly first: number;
  readonly last: number;
  /** Index block hash of the last block, which names the chain that the walk is on. */
  readonly lastHash: Uint8Array;
  /** The index's file that it began in, as a reader names it. */
  readonly file: number;
  place: HistoryPlace;
  /** What each asset's balance came to so far, by a key of the asset. */
  readonly balances: Map<string, bigint>;
}
