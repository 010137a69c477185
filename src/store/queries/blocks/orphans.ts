/** Orphaned blocks with their transactions, and transactions by id in any fork. */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import type { Block, ChainTransaction } from '../../../chain/block.ts';
import { involvementsOf } from '../../../chain/involvements.ts';
import { networkOf, TESTNET_CHAIN_ID } from '../../../chain/network.ts';
import { blockOfPayload, type EntryReader } from '../../files/payload-source.ts';
import type { AddressTransaction } from '../../model/account.ts';
import type { BlockSearch } from '../../model/block.ts';
import type { NftMove } from '../../model/token.ts';
import type { AssetEvent, FoundInForks, TransactionEvent } from '../../model/transaction.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';
import type { MempoolQueries } from '../mempool.ts';
import { type DetailQueries, indexedEvents, orphanedDetail } from '../transactions/details.ts';
import type { EventQueries } from '../transactions/events.ts';
import type { ChainQueries } from './chain.ts';

const orphanRows = 'SELECT index_block_hash, height FROM orphaned_blocks';

export const sql = {
  byHeight: query<Row, [number]>`${orphanRows} WHERE height = ?1 LIMIT 1`,
  byHash: query<Row, [Uint8Array]>`${orphanRows} WHERE block_hash = ?1 ORDER BY height DESC LIMIT 1`,
  byIndexHash: query<Row, [Uint8Array]>`${orphanRows} WHERE index_block_hash = ?1`,
  byBurnHash: query<Row, [Uint8Array]>`${orphanRows} WHERE burn_block_hash = ?1 ORDER BY height DESC LIMIT 1`,
  byBurnHeight: query<Row, [number]>`${orphanRows} WHERE burn_block_height = ?1 ORDER BY height DESC LIMIT 1`,
  // Few forks have the same transaction.
  ofTransaction: query<Row, [Uint8Array]>`
    SELECT t.index_block_hash, b.height FROM orphaned_transactions t
      JOIN orphaned_blocks b ON b.index_block_hash = t.index_block_hash WHERE t.tx_id = ?1`,
  ofContract: query<Row & Stored<'orphaned_transactions', 'tx_id'>, [string]>`
    SELECT t.index_block_hash, b.height, t.tx_id FROM orphaned_transactions t
      JOIN orphaned_blocks b ON b.index_block_hash = t.index_block_hash WHERE t.contract = ?1`,
  payload: query<Stored<'block_payloads', 'journal_id'>, [Uint8Array]>`
    SELECT journal_id FROM block_payloads WHERE index_block_hash = ?1`,
};

type Row = Stored<'orphaned_blocks', 'height' | 'index_block_hash'>;

export interface OrphanedTransaction {
  block: Block;
  transaction: ChainTransaction;
}

const highestFirst = (a: Row, b: Row): number => b.height - a.height;

export type OrphanQueries = ReturnType<typeof orphanQueries>;

/**
 * @param chain reads the chain id
 * @param journal has the payloads
 */
export function orphanQueries(
  db: Database,
  chain: Pick<ChainQueries, 'chainId' | 'historyStart'>,
  journal: EntryReader,
) {
  const select = statements(db, sql);

  /** A block as the node sent it, canonical or not; undefined if its payload is no longer stored. */
  function sentBlock(indexBlockHash: Uint8Array): Block | undefined {
    const source = select.payload.get(indexBlockHash);
    const text = source === null ? undefined : journal.read(source.journal_id)?.text;
    const network = networkOf(chain.chainId() ?? TESTNET_CHAIN_ID);
    return text === undefined ? undefined : blockOfPayload(text, indexBlockHash, network);
  }

  /** Whether a block is below the history: it may be an ancestor of the first block, so it may not be an orphan. */
  const isOlder = ({ height }: Row): boolean => height < (chain.historyStart()?.height ?? 0);

  function rowOf(search: BlockSearch): Row | null {
    const row = anyRowOf(search);
    return row === null || isOlder(row) ? null : row;
  }

  function anyRowOf(search: BlockSearch): Row | null {
    if ('height' in search) return select.byHeight.get(search.height);
    if ('hash' in search) return select.byHash.get(search.hash);
    if ('indexHash' in search) return select.byIndexHash.get(search.indexHash);
    if ('burnHash' in search) return select.byBurnHash.get(search.burnHash);
    return select.byBurnHeight.get(search.burnHeight);
  }

  function findIn({ index_block_hash }: Row, txId: Uint8Array): OrphanedTransaction | undefined {
    const block = sentBlock(index_block_hash);
    const transaction = block?.transactions.find(({ txId: id }) => bytesEqual(id, txId));
    return block === undefined || transaction === undefined ? undefined : { block, transaction };
  }

  /** The highest orphan that has a transaction; undefined if there is none. */
  function rowOfTransaction(txId: Uint8Array): Row | undefined {
    const row = select.ofTransaction.all(txId).sort(highestFirst)[0];
    return row === undefined || isOlder(row) ? undefined : row;
  }

  return {
    sentBlock,

    /** Whether the index has such an orphan. */
    has: (search: BlockSearch): boolean => rowOf(search) !== null,

    /** The highest orphaned block that a search finds. */
    block: (search: BlockSearch): Block | undefined =>
      optional(rowOf(search), (row) => sentBlock(row.index_block_hash)),

    /** A transaction in the highest orphan that has it. */
    transaction(txId: Uint8Array): OrphanedTransaction | undefined {
      const row = rowOfTransaction(txId);
      return row === undefined ? undefined : findIn(row, txId);
    },

    hasTransaction: (txId: Uint8Array): boolean => rowOfTransaction(txId) !== undefined,

    /** Orphaned deployments of a contract, highest block first. */
    deployments: (contractId: string): OrphanedTransaction[] =>
      select.ofContract
        .all(contractId)
        .sort(highestFirst)
        .flatMap((row) => (isOlder(row) ? [] : (findIn(row, row.tx_id) ?? []))),
  };
}

const isAssetEvent = (event: TransactionEvent): event is AssetEvent => 'action' in event;

/** The transactions of an orphan, last first, with their effects on each wanted principal that doesn't only sponsor them. */
export function* addressTransactionsOf(
  block: Block,
  isWanted: (principal: string) => boolean,
): Generator<[principal: string, AddressTransaction]> {
  for (const content of block.transactions.toReversed()) {
    const transaction = orphanedDetail(content, block);
    const assetEvents = indexedEvents(content).filter(isAssetEvent);
    for (const involvements of involvementsOf(content)) {
      for (const [principal, { sponsorOnly, sent, received }] of involvements) {
        if (sponsorOnly || !isWanted(principal)) continue;
        const events = assetEvents.filter(({ sender, recipient }) => sender === principal || recipient === principal);
        yield [principal, { transaction, stx: { sent, received }, events }];
      }
    }
  }
}

/** The moves of non-fungible tokens in an orphan, in order. */
export const nftEventsOf = ({ height, transactions }: Block): NftMove[] =>
  transactions.flatMap((transaction) =>
    indexedEvents(transaction).flatMap((event): NftMove[] => {
      if (event.kind !== 'nft') return [];
      const { index: eventIndex, action, asset, value, sender, recipient } = event;
      const { txId, txIndex } = transaction;
      return [{ txId, txIndex, blockHeight: height, eventIndex, action, asset, value, sender, recipient }];
    }),
  );

interface Sources {
  details: DetailQueries;
  events: EventQueries;
  mempool: MempoolQueries;
  orphans: OrphanQueries;
}

export const inForks =
  ({ details, events, mempool, orphans }: Sources) =>
  (txId: Uint8Array): FoundInForks | undefined => {
    const canonical = details.find(txId);
    if (canonical !== undefined) {
      return { mined: true, transaction: canonical, events: (limit, offset) => events.page(txId, limit, offset) };
    }
    const pending = mempool.find(txId);
    if (pending !== undefined) return { mined: false, transaction: pending };
    const orphan = orphans.transaction(txId);
    if (orphan === undefined) return undefined;
    const { block, transaction } = orphan;
    return {
      mined: true,
      transaction: orphanedDetail(transaction, block),
      events: (limit, offset) => indexedEvents(transaction).slice(offset, offset + limit),
    };
  };
