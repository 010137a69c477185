/** What the API reads. Every function answers from the snapshot it is called in. */
import type {
  BalanceChange,
  BlockId,
  ChainTip,
  CursorKey,
  FoundTransaction,
  FtBalance,
  FtTransfer,
  Holder,
  Move,
  NftInstance,
  Nonces,
  Page,
  PendingTransaction,
  PrincipalTransaction,
  SmartContract,
  StxBalance,
  StxTransfer,
  TransactionEvent,
  TransactionSummary,
} from './model.ts';

export interface Reader {
  chain: {
    /** Null before the first block. */
    tip(): Promise<ChainTip | null>;
    /** The canonical block's index block hash, undefined where there is no such block. */
    blockHash(id: BlockId): Promise<Uint8Array | undefined>;
  };
  transactions: {
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
  };
  mempool: {
    /** Pending ones, newest receipt first, ties by id. */
    page(limit: number, from: CursorKey | null): Promise<Page<PendingTransaction>>;
    /** Changes with every change of the mempool. */
    version(): Promise<number>;
    /** Pending ones that the principal sends, receives by, or is the contract of; in the order of `page`. */
    ofPrincipal(principal: string, limit: number, from: CursorKey | null): Promise<Page<PendingTransaction>>;
  };
  principals: {
    stxBalance(principal: string): Promise<StxBalance>;
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
    /** Base units, decimal; `0` for an unknown token. */
    ftSupply(asset: string): Promise<string>;
    /** Greatest balance first, then by address. */
    stxHolders(limit: number, from: CursorKey | null): Promise<Page<Holder>>;
    ftHolders(asset: string, limit: number, from: CursorKey | null): Promise<Page<Holder>>;
    /** Every event of an instance, newest first. */
    nftHistory(asset: string, value: Uint8Array, limit: number, from: CursorKey | null): Promise<Page<Move>>;
  };
  contracts: {
    /** Undefined where none of that id was deployed with success. */
    find(contractId: string): Promise<SmartContract | undefined>;
  };
}

/** Runs a request on one snapshot of the index: nothing that is written meanwhile is seen. */
export interface Snapshots {
  read<T>(request: (reader: Reader) => Promise<T>): Promise<T>;
  close(): void;
}
