/** What the store's queries answer: the chain as routes show it, before any text is made of it. */
import type { AssetAction, ChainEvent, ExecutionCost, Signer, TransactionStatus } from '../../chain/block.ts';
import type { NameOperationWord } from '../../chain/name-system.ts';
import type { AbiFunction } from '../../codec/abi.ts';
import type { TenureChangeCause, TransactionType } from '../../codec/transaction.ts';
import type { ChangeKind, MempoolStatus } from '../rows/words.ts';

/** The key of an item in its list's order. Opaque outside the query that made it. */
export type CursorKey = readonly (number | string)[];

/**
 * A page of a list. `current` is the key of the first item, `next` of the item after the page, `previous` of the one
 * `limit` places before it, or of the first of the list where there are fewer; null where there is none.
 */
export interface Page<T> {
  items: T[];
  /** Items in the whole list. */
  total: number;
  current: CursorKey | null;
  next: CursorKey | null;
  previous: CursorKey | null;
}

/** A part of a list that is found by how many items stand before it. */
export interface OffsetPage<T> {
  items: T[];
  /** Items in the whole list. */
  total: number;
}

/**
 * A page of a list with its newest item first, by keys that say where in the chain an item stands. `older` is the key of
 * the item after the page, `newer` of the one `limit` places before it, or of the newest where there are fewer.
 */
export interface ChainPage<T, Key> extends OffsetPage<T> {
  /** Of the first item; null where there is none. */
  current: Key | null;
  older: Key | null;
  newer: Key | null;
}

/** Where a page of such a list starts: so many places behind an item, or before it where that is negative. */
export interface ChainStart<Key> {
  /** Null for the newest item. */
  at: Key | null;
  offset: number;
}

export interface ChainTip {
  height: number;
  blockHash: Uint8Array;
  indexBlockHash: Uint8Array;
  /** Of the newest Bitcoin block the node spoke of. */
  burnBlockHeight: number;
  /** The last microblock streamed on the tip (Stacks 2.x). */
  microblock: { hash: Uint8Array; sequence: number } | null;
}

/** A block by height, by either of its hashes, or the newest. */
export type BlockId = { height: number } | { hash: Uint8Array } | 'latest';

export type SummaryPayload =
  | { type: 'token_transfer'; recipient: string; amount: string; memo: Uint8Array | null }
  | { type: 'smart_contract'; contractId: string; clarityVersion: number | null }
  | { type: 'contract_call'; contractId: string; functionName: string }
  | { type: 'poison_microblock' }
  | { type: 'coinbase'; altRecipient: string | null }
  | { type: 'tenure_change'; cause: TenureChangeCause };

/** A block of the canonical chain. Times are Unix seconds. */
export interface ChainBlock {
  height: number;
  hash: Uint8Array;
  indexHash: Uint8Array;
  parentHash: Uint8Array;
  parentIndexHash: Uint8Array;
  time: number;
  /** The height itself for blocks that don't say it from before Nakamoto, else -1. */
  tenureHeight: number;
  burnBlock: { hash: Uint8Array; height: number; time: number };
  minerTxId: Uint8Array;
  /** As the node counts them. */
  transactions: number;
  cost: ExecutionCost;
}

/** A block by what v1 names it by, heights and hashes of Stacks or Bitcoin; or by the hash that is its own in all forks. */
export type BlockSearch =
  | { height: number }
  | { hash: Uint8Array }
  | { indexHash: Uint8Array }
  | { burnHeight: number }
  | { burnHash: Uint8Array };

/** A microblock that a block confirmed, with how many of its transactions. */
export interface ConfirmedMicroblock {
  hash: Uint8Array;
  transactions: number;
}

/** A block with what it holds, of any fork. An orphaned one holds nothing that counts. */
export interface WholeBlock extends ChainBlock {
  canonical: boolean;
  /** The last microblock of the parent that it confirmed; null where it confirmed none. */
  parentMicroblock: { hash: Uint8Array; sequence: number } | null;
  /** In the order of the chain. */
  txIds: Uint8Array[];
  /** In the order of their sequence. */
  confirmed: ConfirmedMicroblock[];
  /** Microblocks built on it that the next block confirmed, or that wait for one; in the order of their sequence. */
  streamed: Uint8Array[];
}

/** A canonical microblock, or one that waits on the tip for a block to confirm it. */
export interface ChainMicroblock {
  hash: Uint8Array;
  parentHash: Uint8Array;
  sequence: number;
  /** Of the block that confirmed it, or would. */
  height: number;
  /** Of that block; null while there is none. */
  blockHash: Uint8Array | null;
  parentBlock: { hash: Uint8Array; burnBlock: { hash: Uint8Array; height: number; time: number } };
  /** In the order of the chain. */
  txIds: Uint8Array[];
}

/** What a tenure holds: the sums of its blocks. Costs in the node's units, size in bytes of raw transactions. */
export interface TenureLoad {
  blocks: number;
  runtime: number;
  readCount: number;
  readLength: number;
  writeCount: number;
  writeLength: number;
  size: number;
}

/** A Bitcoin block with the canonical blocks that are anchored to it. */
export interface AnchorBurnBlock {
  hash: Uint8Array;
  height: number;
  /** Unix seconds. */
  time: number;
  /** Hashes of its blocks, the highest first. */
  blocks: Uint8Array[];
  /** Mean seconds from one of them to the next; 0 where there is one. */
  averageBlockTime: number;
  /** As the node counts them. */
  transactions: number;
}

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
 * With everything that a list leaves out. One that stands in a streamed microblock which no block confirmed yet has no
 * block hashes, and -1 for the Bitcoin block.
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
  /** Count and values: the arguments of a call made on Bitcoin; those of others stand in `raw`. */
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
  /** Of a token transfer. */
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

/** The same in any fork, with a part of the events of one that was mined. */
export type FoundInForks =
  | { mined: true; transaction: TransactionDetail; events: TransactionEvent[] }
  | { mined: false; transaction: PendingTransactionDetail };

export interface PrincipalTransaction {
  transaction: TransactionSummary;
  involvement: 'sender' | 'sponsor' | 'affected';
  /** micro-STX, the fee inside `sent`. */
  stx: { sent: bigint; received: bigint };
  affected: { stx: boolean; ft: boolean; nft: boolean };
}

export type TransactionEvent = ChainEvent & { index: number };

/** One that moved an asset. */
export type AssetEvent = Extract<TransactionEvent, { kind: 'stx' | 'ft' | 'nft' }>;

/** How a contract declares its functions, by their names. */
export type ContractFunctions = ReadonlyMap<string, AbiFunction>;

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
  /** What pending transfers bring and what pending transactions take, fees included. */
  pending: { inbound: bigint; outbound: bigint };
}

/** What an account's history came to at some height. */
export interface AccountState {
  transactions: number;
  /** Those in which it is the sponsor and nothing else. */
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
  pending: StxBalance['pending'];
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
  /** Between the two, ascending; the lowest of very many. */
  pending: bigint[];
  /** Between the two and neither confirmed nor pending, descending; the lowest of very many. */
  missing: bigint[];
}

/** A transaction's place, as rows of other lists show it. */
export interface TransactionPlace {
  txId: Uint8Array;
  txIndex: number;
  block: { height: number; hash: Uint8Array; indexHash: Uint8Array; time: number };
}

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
export interface Move extends TransactionPlace {
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

/** What a transaction did to one asset of a principal: micro-STX with the fee in `sent`, base units, or instances. */
export interface BalanceChange {
  txId: Uint8Array;
  asset: { type: 'stx' } | { type: 'ft' | 'nft'; identifier: string };
  sent: bigint;
  received: bigint;
}

/** Where a transaction stands in its block. */
export interface PlaceInBlock {
  /** Of the microblock that holds it; `ANCHORED_SEQUENCE` in an anchor block. */
  microblockSequence: number;
  txIndex: number;
}

/** Where an event stands in the chain. */
export interface EventPlace extends PlaceInBlock {
  height: number;
  eventIndex: number;
}

/** Where a transaction stands in the chain. */
export interface TransactionKey extends PlaceInBlock {
  indexBlockHash: Uint8Array;
}

/** Blocks by their heights, both ends included. */
export interface Heights {
  first: number;
  last: number;
}

/** A transaction with what it did to a principal. */
export interface AddressTransaction {
  transaction: TransactionDetail;
  /** micro-STX, the fee inside `sent` for whoever pays it. */
  stx: { sent: bigint; received: bigint };
  /** The asset events it took part in, in order. */
  events: AssetEvent[];
}

export interface PlacedEvent<Event = TransactionEvent> {
  txId: Uint8Array;
  event: Event;
}

/** One whose transaction may be asked for with it; null where it isn't. */
export interface NftEvent extends PlacedEvent<Extract<AssetEvent, { kind: 'nft' }>> {
  transaction: TransactionDetail | null;
}

/** An instance with where its owner got it. */
export interface NftHolding extends NftInstance {
  txId: Uint8Array;
  blockHeight: number;
  transaction: TransactionDetail | null;
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

/** Holders, whose balances may be zero or less, and the sum of all of them. */
export interface HolderPage extends OffsetPage<Holder> {
  supply: string;
}

export interface ContractLog {
  txId: Uint8Array;
  eventIndex: number;
  topic: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
}

/** What became of a contract's newest deployment, or of one that waits. */
export type Deployment =
  | { status: TransactionStatus; txId: Uint8Array; height: number }
  | { status: 'pending'; txId: Uint8Array };

/** What narrows a list of pending transactions; what is null doesn't. */
export interface PendingFilter {
  sender: string | null;
  /** Of a token transfer. */
  recipient: string | null;
  /** Sender, recipient, or the contract that is called or deployed. */
  principal: string | null;
}

/** By age, the newest receipt first where it descends; equals by id. */
export interface PendingOrder {
  by: 'age' | 'size' | 'fee';
  direction: 'asc' | 'desc';
}

/** What a pending transaction adds to statistics. */
export interface PendingFigures {
  type: TransactionType;
  /** micro-STX. */
  fee: number;
  /** Height of the tip when it came. */
  receiptBlockHeight: number;
  /** Bytes. */
  size: number;
}

/** How many pending transactions of a type offer a fee, in micro-STX. */
export interface OfferedFee {
  type: TransactionType;
  fee: bigint;
  transactions: number;
}

/** A deployment as v1 shows it: of any fork, and whatever came of it. */
export interface ContractDeployment {
  contractId: string;
  txId: Uint8Array;
  canonical: boolean;
  height: number;
  clarityVersion: number | null;
  /** Wire bytes, with the source. */
  raw: Uint8Array;
  /** The node's JSON; null where it sent none, as for a deployment that failed. */
  contractInterface: string | null;
}

/** A contract that is deployed. */
export interface SmartContract extends TransactionPlace {
  contractId: string;
  /** Null where neither the deployment nor the node says it. */
  clarityVersion: number | null;
  burnBlock: { height: number; time: number };
  /** Wire bytes of the deployment, with the source. */
  raw: Uint8Array;
}

/** A name that is not revoked. */
export interface NameInfo {
  owner: string;
  /** The last one. */
  operation: NameOperationWord;
  /** Of the last operation; null where it was before the chain, and the index doesn't begin with it. */
  txId: Uint8Array | null;
  /** Height at which its lease ends; 0 while its namespace is not open. */
  expireBlock: number;
  /** Null where it never had one. */
  zonefileHash: Uint8Array | null;
  /** Empty where it never reached us. */
  zonefile: string;
}

/** A subdomain of a name that is not revoked. */
export interface SubdomainInfo {
  /** As its declaration has it. */
  owner: string;
  /** Of the declaration; null as in a name. */
  txId: Uint8Array | null;
  /** URL of whoever resolves it; empty where the zonefile names nobody. */
  resolver: string;
  zonefileHash: Uint8Array;
  zonefile: string;
}

/** Something that happened. Ids grow. */
export interface Change {
  id: number;
  kind: ChangeKind;
  /** Index block hash, microblock hash or transaction id. */
  subject: Uint8Array;
}

/** Whom and what a block concerns, in the order in which it first does. */
export interface BlockParties {
  txIds: Uint8Array[];
  /** Senders, sponsors, recipients, contracts, and who takes part in an event of an asset or a lock. */
  principals: string[];
}

/** An event of an instance, in a canonical block. */
export interface NftMove {
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  /** In the transaction. */
  eventIndex: number;
  action: AssetAction;
  asset: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
  sender: string | null;
  recipient: string | null;
}
