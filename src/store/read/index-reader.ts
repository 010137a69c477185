/** Makes all reads of the API. Every function reads from its caller's snapshot. */
import type { Database } from 'bun:sqlite';
import { lazy } from '../../base/cache.ts';
import type { Turns } from '../../base/turns.ts';
import type { EntryReader } from '../files/payload-source.ts';
import { type HookReads, hookReads } from '../hooks/store.ts';
import type { BlockId } from '../model/block.ts';
import { type ActivityLimits, accountActivityQueries } from '../queries/accounts/account-activity.ts';
import { addressReader } from '../queries/accounts/addresses.ts';
import { principalHistoryQueries } from '../queries/accounts/principal-history.ts';
import { principalQueries } from '../queries/accounts/principals.ts';
import { startingAccountQueries } from '../queries/accounts/starting-accounts.ts';
import { blockSeries } from '../queries/blocks/block-series.ts';
import { blockQueries, tenureQueries } from '../queries/blocks/blocks.ts';
import { burnBlockQueries, burnRewardQueries } from '../queries/blocks/burn-blocks.ts';
import { chainQueries } from '../queries/blocks/chain.ts';
import { factQueries } from '../queries/blocks/facts.ts';
import { forkQueries } from '../queries/blocks/forks.ts';
import { inForks, orphanQueries } from '../queries/blocks/orphans.ts';
import { stepQueries } from '../queries/blocks/steps.ts';
import { tenureRewardQueries } from '../queries/blocks/tenures.ts';
import { microblockQueries, wholeBlockQueries } from '../queries/blocks/whole-blocks.ts';
import { windowQuery } from '../queries/blocks/windows.ts';
import { bnsNameQueries } from '../queries/bns-names.ts';
import { changeQueries } from '../queries/changes.ts';
import { contractCallSearch, contractLogQueries, contractLogSearch } from '../queries/contracts/contract-search.ts';
import { contractFunctionQueries, contractQueries, deploymentQueries } from '../queries/contracts/deployments.ts';
import { type LogWalkLimits, logWalk } from '../queries/contracts/log-walk.ts';
import { type ValueSearchLimits, valueSearch } from '../queries/contracts/value-search.ts';
import { directoryQueries } from '../queries/directories.ts';
import type { FileCache } from '../queries/file-cache.ts';
import { mempoolQueries, pendingMeeting, pendingRank, pendingSearch } from '../queries/mempool.ts';
import { mempoolProjection, type SharedProjection } from '../queries/mempool-projection.ts';
import { nameQueries } from '../queries/names.ts';
import type { SearchLimits } from '../queries/planner.ts';
import { rowTexts, type SharedTexts } from '../queries/row-texts.ts';
import { searchQueries } from '../queries/search.ts';
import { rewardCycleQueries, stackingQueries } from '../queries/staking/stacking.ts';
import { bondQueries, stakingPrincipalQueries, stakingSignerQueries } from '../queries/staking/staking.ts';
import { stakingCycleQueries } from '../queries/staking/staking-cycles.ts';
import { stakingRewardQueries } from '../queries/staking/staking-rewards.ts';
import { assetReaders, holderListQueries } from '../queries/tokens/assets.ts';
import { tokenMetadataQueries, tokenQueueQueries } from '../queries/tokens/metadata.ts';
import { nftListQueries } from '../queries/tokens/nfts.ts';
import { transferQueries } from '../queries/tokens/transfers.ts';
import { detailQueries } from '../queries/transactions/details.ts';
import { eventQueries } from '../queries/transactions/events.ts';
import { transactionSearch } from '../queries/transactions/transaction-lists.ts';
import { transactionQueries } from '../queries/transactions/transactions.ts';

/** Limits for one request if no index bounds a query. Omitted limits have defaults. */
export interface WorkLimits {
  /** Limits of a search for transactions. */
  search?: SearchLimits;
  /** Maximum number of rows that a page of transactions with conditions, or of contracts, reads. */
  walkRows?: number;
  /** Maximum number of interfaces of contracts. */
  deployments?: number;
  historyBatch?: number;
  /** Limits of an account's summary. */
  activity?: ActivityLimits;
  /** Maximum number of counted transactions with a higher fee. */
  feeRank?: number;
  /** Maximum number of pending transactions in a projection of blocks. */
  projected?: number;
  /** Limits of a search by decoded values. */
  values?: ValueSearchLimits;
  /** Limits of a list of the logs of several contracts. */
  logs?: Partial<LogWalkLimits>;
  /** Maximum number of rows that a search by text reads from each range. */
  foundRows?: number;
}

interface ReaderOptions {
  limits: WorkLimits;
  /** The cache of the connection, from one snapshot to the next. */
  cache: FileCache;
  /** Shares the thread among long queries and other work. */
  turns: Turns;
  /** The last projection of the mempool, which all connections of a thread to one file share. */
  projection: SharedProjection;
  /** The cache of texts, which these connections also share. */
  texts: SharedTexts;
}

/**
 * All queries, through one connection.
 * @param journal has the payloads of orphaned blocks
 * @param file distinguishes the file from earlier and later files at its path
 */
export function readerOf(
  db: Database,
  journal: EntryReader,
  file: number,
  { limits, cache, turns, projection, texts: sharedTexts }: ReaderOptions,
) {
  const chain = chainQueries(db, cache);
  const texts = rowTexts(chain, sharedTexts);
  const blocks = blockQueries(db, chain, texts);
  const mempool = mempoolQueries(db, texts);
  const assetQueries = assetReaders(db);
  const details = detailQueries(db, cache, texts);
  const events = eventQueries(db, details);
  const orphans = orphanQueries(db, chain, journal);
  const wholeBlocks = wholeBlockQueries(db, chain, { range: blocks.range, orphans, details, turns });
  const rewardCycles = rewardCycleQueries(db);
  const byValues = valueSearch(db, turns, limits.values);
  const hooks = lazy(() => hookReads(db));
  const names = nameQueries(db, turns);
  const search = transactionSearch(db, details, limits.search);
  return {
    /** Number of the index's file; a rebuild changes it. */
    file,
    /** Height of the tip; 0 before the first block. Synchronous, since each answer contains it. */
    height: (): number => chain.tip()?.height ?? 0,
    chain: {
      /** Null before the first event with a chain id. */
      chainId: chain.chainId,
      /** Null before the first block. */
      tip: chain.tip,
      /** The first block of an index that starts at a block; null for an index that has the whole chain. */
      start: chain.historyStart,
      /**
       * Height of the first block of a partial history; null for the whole chain. Synchronous, since every answer needs it.
       */
      historyFrom: (): number | null => chain.historyStart()?.height ?? null,
      /** The canonical block's index block hash; undefined if there is no such block. */
      blockHash: (id: BlockId) => chain.block(id)?.index_block_hash,
      /** The block received last, of any fork; undefined before the first. */
      newestArrival: chain.newestArrival,
      heightsOf: windowQuery(db),
    },
    changes: changeQueries(db, orphans),
    blocks: { ...blocks, ...wholeBlocks },
    forks: forkQueries(db, turns, limits.walkRows),
    /** The blocks that the chain applied and reverted, in the order of the log. */
    steps: stepQueries(db, chain, orphans),
    blockSeries: blockSeries(db),
    /** Microblocks of Stacks 2.x. */
    microblocks: microblockQueries(db),
    /** Facts that a node's RPC interface can confirm. */
    facts: factQueries(db),
    tenureRewards: tenureRewardQueries(db),
    tenures: tenureQueries(db),
    burnBlocks: burnBlockQueries(db, blocks.range, chain.historyStart),
    transactions: {
      ...transactionQueries(db, { chain, mempool, details, texts }, limits.walkRows),
      /** Canonical transactions by filters. */
      search,
      /**
       * The canonical transaction, else a pending or dropped one, else one of an orphan; undefined if the id is unknown.
       */
      findInForks: inForks({ details, events, mempool, orphans }),
      /** Whether an orphaned block has the transaction, which may also be mined or pending. */
      isInOrphan: orphans.hasTransaction,
    },
    events,
    mempool: {
      findAnnounced: mempool.findAnnounced,
      /** Pending transactions, newest receipt first, then by id. */
      page: mempool.page,
      /** Fees of pending transactions, by type. */
      fees: mempool.fees,
      /** Ascends with every change of the mempool; never used twice, not even by another index. */
      version: mempool.version,
      /** Pending transactions with the principal as sender, sponsor, recipient or contract, in the order of `page`. */
      ofPrincipal: mempool.ofPrincipal,
      droppedOf: mempool.droppedOf,
      ...pendingMeeting(db, limits.walkRows),
      ...pendingRank(db, limits.feeRank),
      ...pendingSearch(db, mempool),
      ...mempoolProjection(db, chain, turns, projection, limits.projected),
    },
    addresses: addressReader(db, { details, mempool, texts }, turns),
    tokenLists: { ...holderListQueries(db), ...nftListQueries(db, details) },
    principals: { ...principalQueries(db), ...startingAccountQueries(db), ...assetQueries.principals },
    activity: accountActivityQueries(db, turns, limits.activity),
    /** Every movement of a principal's assets, oldest first, in batches that may be read in several snapshots. */
    history: principalHistoryQueries(db, file, limits.historyBatch),
    /** Events that moved a token, one row each, newest first. */
    transfers: transferQueries(db),
    tokens: assetQueries.tokens,
    tokenMetadata: { ...tokenMetadataQueries(db), ...tokenQueueQueries(db, chain) },
    stacking: stackingQueries(db),
    staking: {
      ...bondQueries(db),
      ...stakingPrincipalQueries(db),
      ...stakingSignerQueries(db, rewardCycles),
      ...stakingRewardQueries(db),
      ...stakingCycleQueries(db, rewardCycles, turns),
    },
    rewardCycles,
    burnRewards: burnRewardQueries(db),
    contracts: {
      ...contractQueries(db),
      ...deploymentQueries(db, orphans, limits.deployments),
      ...contractFunctionQueries(db, orphans, cache),
      /** Logs of a contract, newest first. */
      logs: contractLogQueries(db, texts),
      /** Logs and calls by their decoded values, newest first. */
      searchLogs: contractLogSearch(db, byValues),
      searchCalls: contractCallSearch(db, byValues),
      /** Logs of several contracts, or of all that a principal deployed, newest or oldest first. */
      walkLogs: logWalk(db, turns, {
        ...(limits.walkRows === undefined ? {} : { rows: limits.walkRows }),
        ...limits.logs,
      }),
    },
    /** Lists of contracts and tokens as a whole. */
    directories: directoryQueries(db, limits.walkRows),
    /** The name system. Names include their namespace: `alice.btc`. */
    names,
    /** The second name system, by the identifier of its contract. */
    bnsNames: bnsNameQueries(db),
    /** Matches for a text, best first. */
    search: searchQueries(db, (name) => names.findSubdomain(name) !== undefined, limits.foundRows),
    /** Chainhooks, for the main thread of a process that writes. */
    get hooks(): HookReads {
      return hooks();
    },
  };
}

/** The functions of every query module in {@link readerOf}. */
export type Reader = ReturnType<typeof readerOf>;
