/** What the API reads. Every function answers from the snapshot it is called in. */
import type { Database } from 'bun:sqlite';
import { lazy } from '../../base/cache.ts';
import { systemClock } from '../../base/clock.ts';
import { Turns } from '../../base/turns.ts';
import type { EntryReader } from '../files/payload-source.ts';
import { type HookReads, hookReads } from '../hooks/store.ts';
import type { BlockId } from '../model/block.ts';
import { addressReader, tokenListReader } from '../queries/accounts/addresses.ts';
import { principalHistoryQueries } from '../queries/accounts/principal-history.ts';
import { principalQueries } from '../queries/accounts/principals.ts';
import { blockSeries } from '../queries/blocks/block-series.ts';
import { blockQueries, tenureQueries } from '../queries/blocks/blocks.ts';
import { burnBlockQueries, burnRewardQueries } from '../queries/blocks/burn-blocks.ts';
import { chainQueries } from '../queries/blocks/chain.ts';
import { factQueries } from '../queries/blocks/facts.ts';
import { microblockQueries } from '../queries/blocks/microblocks.ts';
import { inForks, orphanQueries } from '../queries/blocks/orphans.ts';
import { streamedQueries, withStreamed } from '../queries/blocks/streamed.ts';
import { wholeBlockQueries } from '../queries/blocks/whole-blocks.ts';
import { changeQueries } from '../queries/changes.ts';
import { contractLogQueries } from '../queries/contracts/contract-logs.ts';
import { contractCallSearch, contractLogSearch } from '../queries/contracts/contract-search.ts';
import { contractFunctionQueries, contractQueries, deploymentQueries } from '../queries/contracts/deployments.ts';
import { sendManyOf } from '../queries/contracts/send-many.ts';
import { type ValueSearchLimits, valueSearch } from '../queries/contracts/value-search.ts';
import { mempoolQueries, pendingOfType, pendingRank, pendingSearch } from '../queries/mempool.ts';
import { nameQueries } from '../queries/names.ts';
import { rewardCycleQueries, stackingQueries } from '../queries/staking/stacking.ts';
import { bondQueries, stakingPrincipalQueries, stakingSignerQueries } from '../queries/staking/staking.ts';
import { assetReaders } from '../queries/tokens/assets.ts';
import { detailQueries } from '../queries/transactions/details.ts';
import { eventQueries } from '../queries/transactions/events.ts';
import { noTransactionCache, type TransactionCache } from '../queries/transactions/transaction-cache.ts';
import { type SearchLimits, transactionSearch } from '../queries/transactions/transaction-search.ts';
import { transactionQueries } from '../queries/transactions/transactions.ts';

/** How much one request may look at where no index bounds a query; what isn't given is as usual. */
export interface WorkLimits {
  /** Limits of a search for transactions. */
  search?: SearchLimits;
  /** Interfaces of contracts. */
  deployments?: number;
  /** Transactions and events of a batch of a history. */
  historyBatch?: number;
  /** Transactions with a higher fee than one that waits. */
  feeRank?: number;
  /** Limits of a search by decoded values. */
  values?: ValueSearchLimits;
}

/**
 * All queries, through one connection.
 * @param journal holds the payloads of blocks that are not canonical
 * @param file distinguishes the file from others in its place before or after
 * @param limits others than usual are for tests
 * @param cache of the connection, from one snapshot to the next; none if not given
 * @param turns shares the thread among long queries and all that it does else
 */
export function readerOf(
  db: Database,
  journal: EntryReader,
  file: number,
  limits: WorkLimits = {},
  cache: TransactionCache = noTransactionCache,
  turns: Turns = new Turns(systemClock),
) {
  const chain = chainQueries(db, cache);
  const blocks = blockQueries(db, chain);
  const mempool = mempoolQueries(db);
  const assetQueries = assetReaders(db);
  const details = detailQueries(db, cache);
  const events = eventQueries(db);
  const orphans = orphanQueries(db, chain, journal);
  const streamed = streamedQueries(db, journal, orphans.network);
  const {
    whole,
    announced,
    wholePage,
    transactions: inBlock,
  } = wholeBlockQueries(db, { range: blocks.range, orphans, details, turns });
  const rewardCycles = rewardCycleQueries(db);
  const byValues = valueSearch(db, turns, limits.values);
  const hooks = lazy(() => hookReads(db));
  const search = withStreamed(transactionSearch(db, details, limits.search), streamed);
  return {
    /** Distinguishes the file from those in its place before: after a rebuild it is another. */
    file,
    /** Height of the tip; 0 before the first block. At once, since each answer names it. */
    height: (): number => chain.tip()?.height ?? 0,
    chain: {
      /** Null before the first event that names it. */
      chainId: async () => chain.chainId(),
      /** Null before the first block. */
      tip: async () => chain.tip(),
      /** The canonical block's index block hash, undefined where there is no such block. */
      blockHash: async (id: BlockId) => chain.block(id)?.index_block_hash,
      /** The block that came last, of whichever fork; undefined before the first. */
      newestArrival: async () => chain.newestArrival(),
      /** The contracts whose prints are the memos of transfers. */
      sendMany: async () => sendManyOf(db),
    },
    changes: changeQueries(db),
    blocks: {
      ...blocks,
      /** A whole block of any fork: the canonical one, else the highest. */
      whole,
      announced,
      /** The canonical chain, highest first. */
      wholePage,
    },
    /** Blocks for charts. */
    blockSeries: blockSeries(db),
    /** Microblocks of Stacks 2.x. */
    microblocks: {
      ...microblockQueries(db, streamed),
      /** Transactions that are in those that wait, newest first. */
      transactions: async () =>
        streamed
          .transactions()
          .map(({ detail }) => detail)
          .reverse(),
    },
    /** What a node's RPC interface can confirm. */
    facts: factQueries(db),
    tenures: tenureQueries(db),
    burnBlocks: burnBlockQueries(db, blocks.range),
    transactions: {
      ...transactionQueries(db, { chain, mempool, details, cache }),
      /**
       * Transactions of the canonical chain, with those of microblocks that wait on its tip where they are asked for.
       */
      search,
      /**
       * Transactions of a block of any fork; an orphaned block has none. The answer is undefined where no fork has
       * such a block.
       */
      inBlock,
      /**
       * Canonical, else, if asked for, in a microblock that waits on the tip, else waiting or dropped, else in an orphaned
       * block; undefined where the id is unknown.
       */
      findInForks: inForks({ details, events, mempool, orphans, streamed }),
    },
    events,
    mempool: {
      /** One that waited at some time, as pending where it is mined; undefined where none of the id ever did. */
      find: async (txId: Uint8Array) => mempool.find(txId),
      findAnnounced: async (txId: Uint8Array) => mempool.findAnnounced(txId),
      /** Pending ones, newest receipt first, ties by id. */
      page: mempool.page,
      /** Fees of pending transactions, by type. */
      fees: mempool.fees,
      /** Greater with every change of the mempool, and none twice, whatever becomes of the index. */
      version: mempool.version,
      /** Pending ones that the principal sends, sponsors, receives by, or is the contract of; in the order of `page`. */
      ofPrincipal: mempool.ofPrincipal,
      ...pendingOfType(db),
      ...pendingRank(db, limits.feeRank),
      ...pendingSearch(db, mempool),
    },
    addresses: addressReader(db, details, mempool, turns),
    tokenLists: tokenListReader(db, details),
    principals: { ...principalQueries(db), ...assetQueries.principals },
    /** Every movement of a principal's assets, oldest first, in batches that may be read in several snapshots. */
    history: principalHistoryQueries(db, file, limits.historyBatch),
    /** One row an event, newest first. */
    transfers: assetQueries.transfers,
    tokens: assetQueries.tokens,
    stacking: stackingQueries(db),
    staking: { ...bondQueries(db), ...stakingPrincipalQueries(db), ...stakingSignerQueries(db, rewardCycles) },
    rewardCycles,
    burnRewards: burnRewardQueries(db),
    contracts: {
      ...contractQueries(db),
      ...deploymentQueries(db, orphans, limits.deployments),
      /** Functions as a contract's newest deployment declares them; undefined where none is known to. */
      functions: contractFunctionQueries(db, cache),
      /** Newest first. */
      logs: contractLogQueries(db),
      /** Logs and calls by their decoded values, newest first. */
      searchLogs: contractLogSearch(db, byValues),
      searchCalls: contractCallSearch(db, byValues),
    },
    /** The name system. A name is written with its namespace: `alice.btc`. */
    names: nameQueries(db, turns),
    /** Chainhooks; only the main thread of a process that writes asks for them. */
    get hooks(): HookReads {
      return hooks();
    },
  };
}

/** A query module's functions are part of it as soon as the module is in {@link readerOf}. */
export type Reader = ReturnType<typeof readerOf>;
