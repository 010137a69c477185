/** What the API reads. Every function answers from the snapshot it is called in. */
import type { PriceFunction } from '../../chain/name-system.ts';
import type {
  AddressTransaction,
  BalanceChange,
  Nonces,
  PrincipalTransaction,
  ReceivedStx,
  StxBalance,
  StxHistory,
  TokenHistory,
} from './account.ts';
import type {
  AnchorBurnBlock,
  BlockId,
  BlockSearch,
  ChainBlock,
  ChainMicroblock,
  ChainTip,
  Heights,
  TenureLoad,
  WholeBlock,
} from './block.ts';
import type { BlockParties, Change, NftMove } from './change.ts';
import type { ContractDeployment, ContractFunctions, ContractLog, Deployment, SmartContract } from './contract.ts';
import type { AssetEvent, EventPlace, PlacedEvent, TransactionEvent } from './event.ts';
import type { NameInfo, SubdomainInfo } from './name.ts';
import type { ChainPage, ChainStart, CursorKey, OffsetPage, Page } from './page.ts';
import type { BurnRewardReader, RewardCycleReader, StackingReader } from './stacking-reader.ts';
import type { StakingReader } from './staking-reader.ts';
import type {
  FtBalance,
  FtTransfer,
  Holder,
  HolderPage,
  Move,
  NftEvent,
  NftHolding,
  NftInstance,
  StxTransfer,
} from './token.ts';
import type {
  FoundInForks,
  FoundTransaction,
  OfferedFee,
  PendingFigures,
  PendingFilter,
  PendingOrder,
  PendingTransaction,
  PendingTransactionDetail,
  TransactionDetail,
  TransactionFilter,
  TransactionKey,
  TransactionOrder,
  TransactionSummary,
} from './transaction.ts';

export interface Reader {
  /** Tells the file that this reads from those that stood in its place before: after a rebuild it is another. */
  file: number;
  chain: {
    /** Null before the first block. */
    tip(): Promise<ChainTip | null>;
    /** The canonical block's index block hash, undefined where there is no such block. */
    blockHash(id: BlockId): Promise<Uint8Array | undefined>;
    /** The block that came last, of whichever fork; undefined before the first. */
    newestArrival(): Promise<Uint8Array | undefined>;
  };
  changes: {
    /** Id of the last one; 0 before the first. */
    newest(): Promise<number>;
    /** Those after one, oldest first. Old ones are forgotten. */
    after(id: number, limit: number): Promise<Change[]>;
    /** Of a canonical block. */
    parties(height: number): Promise<BlockParties>;
    /** Of a canonical block, in order. */
    nftEvents(height: number): Promise<NftMove[]>;
  };
  blocks: {
    /** The canonical chain, highest first, by index block hash; undefined where the start is no block of it. */
    page(limit: number, start: ChainStart<Uint8Array>): Promise<ChainPage<ChainBlock, Uint8Array> | undefined>;
    /** Those of a tenure, in the same way; none of an unknown one. */
    ofTenure(
      tenureHeight: number,
      limit: number,
      start: ChainStart<Uint8Array>,
    ): Promise<ChainPage<ChainBlock, Uint8Array> | undefined>;
    find(id: BlockId): Promise<ChainBlock | undefined>;
    /** The newest at or before a time, in Unix seconds. */
    at(time: number): Promise<ChainBlock | undefined>;
    /**
     * Mean seconds between the blocks since each of some times, in Unix seconds; 0 where there are fewer than two. What
     * is older than the earliest of them counts for none.
     */
    averageTimes(since: readonly number[]): Promise<number[]>;
    /** Of any fork: the canonical one, else the highest. */
    whole(search: BlockSearch): Promise<WholeBlock | undefined>;
    /** The canonical chain, highest first. */
    wholePage(limit: number, offset: number): Promise<OffsetPage<WholeBlock>>;
    /** Of a block's signers, in order; undefined where there is no such canonical block. */
    signatures(id: BlockId, limit: number, offset: number): Promise<OffsetPage<Uint8Array> | undefined>;
  };
  tenures: {
    /** The present one and up to so many before it, newest first; none before the first change of tenure. */
    loads(completed: number): Promise<TenureLoad[]>;
  };
  burnBlocks: {
    /** Those that canonical blocks are anchored to, highest first. */
    page(limit: number, offset: number): Promise<OffsetPage<AnchorBurnBlock>>;
    find(id: BlockId): Promise<AnchorBurnBlock | undefined>;
    /** The blocks anchored to one, highest first. */
    blocks(id: BlockId, limit: number, offset: number): Promise<OffsetPage<ChainBlock> | undefined>;
  };
  /** Of Stacks 2.x. */
  microblocks: {
    /** Those of the canonical chain and those that wait on its tip, newest first. */
    page(limit: number, offset: number): Promise<OffsetPage<ChainMicroblock>>;
    find(hash: Uint8Array): Promise<ChainMicroblock | undefined>;
    /** Transactions that stand in those that wait, newest first. */
    transactions(): Promise<TransactionDetail[]>;
  };
  transactions: {
    /** Of the canonical chain, with those of microblocks that wait on its tip where they are asked for. */
    search(
      filter: TransactionFilter,
      order: TransactionOrder,
      limit: number,
      offset: number,
      withStreamed: boolean,
    ): Promise<OffsetPage<TransactionDetail>>;
    /** Of a block of any fork; an orphaned one has none. Undefined where no fork has such a block. */
    inBlock(
      search: BlockSearch,
      order: 'asc' | 'desc',
      limit: number,
      offset: number,
    ): Promise<OffsetPage<TransactionDetail> | undefined>;
    /**
     * Canonical, else, if asked for, in a microblock that waits on the tip, else waiting or dropped, else in an orphaned
     * block; undefined where the id is unknown.
     */
    findInForks(
      txId: Uint8Array,
      events: { limit: number; offset: number },
      withStreamed: boolean,
    ): Promise<FoundInForks | undefined>;
    /** All of the canonical chain, newest first. */
    page(limit: number, from: CursorKey | null): Promise<Page<TransactionSummary>>;
    /** Last of the block first; undefined where there is no such canonical block. */
    ofBlock(id: BlockId, limit: number, from: CursorKey | null): Promise<Page<TransactionSummary> | undefined>;
    /** Newest first. */
    ofPrincipal(principal: string, limit: number, from: CursorKey | null): Promise<Page<PrincipalTransaction>>;
    /** Canonical, else waiting or dropped; undefined where the id is unknown. */
    find(txId: Uint8Array): Promise<FoundTransaction | undefined>;
    /** What identifies the present state of a transaction; undefined where the id is unknown. */
    state(txId: Uint8Array): Promise<{ indexBlockHash: Uint8Array | null; status: string } | undefined>;
  };
  events: {
    /** In the order they happened; undefined where the id is not of a canonical transaction. */
    ofTransaction(txId: Uint8Array, limit: number, from: CursorKey | null): Promise<Page<TransactionEvent> | undefined>;
    /** Of some kinds, the last first; none where the id is not of a canonical transaction. */
    lastFirst(
      txId: Uint8Array,
      kinds: readonly TransactionEvent['kind'][],
      limit: number,
      offset: number,
    ): Promise<TransactionEvent[]>;
  };
  mempool: {
    /** One that waited at some time, as pending where it is mined; undefined where none of the id ever did. */
    find(txId: Uint8Array): Promise<PendingTransactionDetail | undefined>;
    /** Pending ones, newest receipt first, ties by id. */
    page(limit: number, from: CursorKey | null): Promise<Page<PendingTransaction>>;
    search(
      filter: PendingFilter,
      order: PendingOrder,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<PendingTransactionDetail>>;
    /** Of all that wait. */
    figures(): Promise<PendingFigures[]>;
    /** Of those that wait, by type. */
    fees(): Promise<OfferedFee[]>;
    /** Greater with every change of the mempool, and none twice, whatever becomes of the index. */
    version(): Promise<number>;
    /** Pending ones that the principal sends, receives by, or is the contract of; in the order of `page`. */
    ofPrincipal(principal: string, limit: number, from: CursorKey | null): Promise<Page<PendingTransaction>>;
  };
  principals: {
    /** Whether a transaction of the canonical chain concerns it. */
    isKnown(principal: string): Promise<boolean>;
    stxBalance(principal: string): Promise<StxBalance>;
    /** Up to a block, or to the tip where that is below the height. */
    stxHistory(principal: string, height: number): Promise<StxHistory>;
    nonces(principal: string): Promise<Nonces>;
    /** Tokens of which there is some: greatest balance first, then by identifier. */
    ftBalances(principal: string, limit: number, from: CursorKey | null): Promise<Page<FtBalance>>;
    /** Base units, decimal; `0` where there are none. */
    ftBalance(principal: string, asset: string): Promise<string>;
    /** By asset identifier, then value; of one asset where that is given. */
    nftBalances(
      principal: string,
      asset: string | null,
      limit: number,
      from: CursorKey | null,
    ): Promise<Page<NftInstance>>;
    /** Newest transaction first; of each STX, then fungible, then non-fungible tokens by identifier. */
    balanceChanges(
      principal: string,
      txIds: readonly Uint8Array[],
      limit: number,
      from: CursorKey | null,
    ): Promise<Page<BalanceChange>>;
  };
  /** Lists of a principal by offset, newest first. Heights beyond the tip's are the tip's. */
  addresses: {
    /** Of each token that the principal took part in an event of. */
    tokens(principal: string, height: number): Promise<TokenHistory[]>;
    /** Of which it has some, by identifier in either case. */
    ftBalances(principal: string, limit: number, offset: number): Promise<OffsetPage<FtBalance>>;
    /** Events of some kinds that name it, and what it logged as a contract. */
    events(
      principal: string,
      kinds: readonly TransactionEvent['kind'][],
      limit: number,
      offset: number,
    ): Promise<PlacedEvent[]>;
    /** Events that moved its assets, and locks of its STX, up to a height. */
    assetEvents(principal: string, height: number, limit: number, offset: number): Promise<OffsetPage<PlacedEvent>>;
    inboundTransfers(
      principal: string,
      heights: Heights,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<ReceivedStx>>;
    transactions(
      principal: string,
      heights: Heights,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<TransactionDetail>>;
    /** Those of which it is not only the sponsor; of one block, all at once. */
    transactionsWithTransfers(
      principal: string,
      heights: Heights,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<AddressTransaction>>;
    /** Undefined where the principal has no part in the transaction, or is only its sponsor. */
    transactionWithTransfers(principal: string, txId: Uint8Array): Promise<AddressTransaction | undefined>;
    /** Undefined where the page should start in a block that is none of the chain. */
    chainPage(
      principal: string,
      limit: number,
      start: ChainStart<TransactionKey>,
    ): Promise<ChainPage<AddressTransaction, TransactionKey> | undefined>;
    /** In order; undefined where the transaction is none of the chain. */
    eventsOfTransaction(
      principal: string,
      txId: Uint8Array,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<AssetEvent> | undefined>;
    /** Pending ones, newest receipt first. */
    mempool(principal: string, limit: number, offset: number): Promise<OffsetPage<PendingTransactionDetail>>;
  };
  /** Lists of tokens by offset. */
  tokenLists: {
    /** Greatest balance first, then by address, with those who have nothing left. */
    stxHolders(limit: number, offset: number): Promise<HolderPage>;
    ftHolders(asset: string, limit: number, offset: number): Promise<HolderPage>;
    /** Newest first. @param assets null for all */
    nftHoldings(
      principal: string,
      assets: readonly string[] | null,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): Promise<OffsetPage<NftHolding>>;
    nftHistory(
      asset: string,
      value: Uint8Array,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): Promise<OffsetPage<NftEvent>>;
    nftMints(asset: string, limit: number, offset: number, withTransactions: boolean): Promise<OffsetPage<NftEvent>>;
  };
  /** One row an event, newest first. */
  transfers: {
    stx(
      principal: string,
      direction: 'inbound' | 'outbound',
      limit: number,
      from: CursorKey | null,
    ): Promise<Page<StxTransfer>>;
    ft(principal: string, asset: string, limit: number, from: CursorKey | null): Promise<Page<FtTransfer>>;
  };
  tokens: {
    /** micro-STX ever minted and mined, less burnt; decimal. */
    stxSupply(): Promise<string>;
    /** The same as it was after the block of that height. */
    stxSupplyAt(height: number): Promise<string>;
    /** Base units, decimal; `0` for an unknown token. */
    ftSupply(asset: string): Promise<string>;
    /** Greatest balance first, then by address. */
    stxHolders(limit: number, from: CursorKey | null): Promise<Page<Holder>>;
    ftHolders(asset: string, limit: number, from: CursorKey | null): Promise<Page<Holder>>;
    /** Every event of an instance, newest first. */
    nftHistory(asset: string, value: Uint8Array, limit: number, from: CursorKey | null): Promise<Page<Move>>;
  };
  stacking: StackingReader;
  staking: StakingReader;
  rewardCycles: RewardCycleReader;
  burnRewards: BurnRewardReader;
  contracts: {
    /** Undefined where none of that id was deployed with success. */
    find(contractId: string): Promise<SmartContract | undefined>;
    /** Of the newest that was mined, whatever came of it, else of the first that waits; undefined where there is none. */
    deployment(contractId: string): Promise<Deployment | undefined>;
    /** The newest whose interface is known, canonical before orphaned, else the newest; undefined where there is none. */
    anyDeployment(contractId: string): Promise<ContractDeployment | undefined>;
    /**
     * Deployments of the canonical chain whose interface passes, newest first.
     * @param names functions that it must declare, to look for it by
     * @throws TooMuchWorkError where too many must be looked at to find the page
     */
    withInterface(
      names: readonly string[],
      passes: (contractInterface: unknown) => boolean,
      limit: number,
      offset: number,
    ): Promise<ContractDeployment[]>;
    /** As its newest deployment declares them; undefined where none is known to. */
    functions(contractId: string): Promise<ContractFunctions | undefined>;
    /** Newest first, from the newest one at or before the start; undefined where there is none. */
    logs(
      contractId: string,
      limit: number,
      start: ChainStart<EventPlace>,
    ): Promise<ChainPage<ContractLog, EventPlace> | undefined>;
  };
  /** The name system. A name is written with its namespace: `alice.btc`. */
  names: {
    /** Names that are not revoked, in order, 100 a page. @param page counted from 0 */
    page(page: number): Promise<string[]>;
    /** Those of a namespace; undefined where it is not open. */
    ofNamespace(namespace: string, page: number): Promise<string[] | undefined>;
    /** Those that are open, in order. */
    namespaces(): Promise<string[]>;
    /** Undefined where the namespace is not open. */
    price(namespace: string): Promise<PriceFunction | undefined>;
    /** Undefined where it is unknown or revoked. */
    find(name: string): Promise<NameInfo | undefined>;
    /** Undefined where it is unknown, or its name is revoked. */
    findSubdomain(subdomain: string): Promise<SubdomainInfo | undefined>;
    /** Who resolves the subdomains of its name that are not declared; undefined where none is. */
    resolver(subdomain: string): Promise<string | undefined>;
    /**
     * Of a name or subdomain; empty where it never reached us.
     * @param hash of a zonefile it has or had; null for the newest
     * @returns undefined where there is no such name, or it never had that zonefile
     */
    zonefile(name: string, hash: Uint8Array | null): Promise<string | undefined>;
    /** Of a name, in order; none of one that is unknown or revoked. */
    subdomains(name: string): Promise<string[]>;
    /** Names and subdomains of an address, in no order. */
    ofOwner(address: string): Promise<string[]>;
    /** Changes with every attachment that comes, and with the names from before the chain. */
    version(): Promise<string>;
  };
}

/** There is no snapshot to read, or no longer. */
export class NoSnapshotError extends Error {
  override readonly name: string = 'NoSnapshotError';
}

/** An answer would cost more than one request may. The message says what to ask for instead. */
export class TooMuchWorkError extends Error {
  override readonly name = 'TooMuchWorkError';
}

/** The store is closed, as when the process is stopping. */
export class StoreClosedError extends NoSnapshotError {
  override readonly name = 'StoreClosedError';
}

/** There is no index that can be read, as while it is replaced; its message says why. */
export class IndexUnavailableError extends NoSnapshotError {
  override readonly name = 'IndexUnavailableError';
}

/** The snapshot was in use for longer than one may be. */
export class SnapshotCutOffError extends NoSnapshotError {
  override readonly name = 'SnapshotCutOffError';
}

/** Runs a request on one snapshot of the index: nothing that is written meanwhile is seen. */
export interface Snapshots {
  /** @throws NoSnapshotError where there is none, or it was in use for too long */
  read<T>(request: (reader: Reader) => Promise<T>): Promise<T>;
  /** Snapshots in use are read to their end. */
  close(): void;
}
