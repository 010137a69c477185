/** What the API reads. Every function answers from the snapshot it is called in. */
import type {
  BlockId,
  ChainTip,
  CursorKey,
  FoundTransaction,
  Nonces,
  Page,
  PendingTransaction,
  PrincipalTransaction,
  StxBalance,
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
  };
  principals: {
    stxBalance(principal: string): Promise<StxBalance>;
    nonces(principal: string): Promise<Nonces>;
  };
}

/** Runs a request on one snapshot of the index: nothing that is written meanwhile is seen. */
export interface Snapshots {
  read<T>(request: (reader: Reader) => Promise<T>): Promise<T>;
  close(): void;
}
