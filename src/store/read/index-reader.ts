/** All that the API reads of the index, through one connection. */
import type { Database } from 'bun:sqlite';
import type { EntryReader } from '../files/payload-source.ts';
import type { BlockId } from '../model/block.ts';
import type { Reader } from '../model/reader.ts';
import { addressReaders } from '../queries/addresses.ts';
import { assetReaders } from '../queries/assets.ts';
import { blockQueries } from '../queries/blocks.ts';
import { bondQueries } from '../queries/bonds.ts';
import { burnBlockQueries } from '../queries/burn-blocks.ts';
import { burnRewardQueries } from '../queries/burn-rewards.ts';
import { chainQueries } from '../queries/chain.ts';
import { changeQueries } from '../queries/changes.ts';
import { contractFunctionQueries } from '../queries/contract-functions.ts';
import { contractLogQueries } from '../queries/contract-logs.ts';
import { contractQueries } from '../queries/contracts.ts';
import { deploymentQueries } from '../queries/deployments.ts';
import { detailQueries } from '../queries/details.ts';
import { eventQueries } from '../queries/events.ts';
import { inForks } from '../queries/in-forks.ts';
import { mempoolQueries } from '../queries/mempool.ts';
import { microblockQueries } from '../queries/microblocks.ts';
import { nameQueries } from '../queries/names.ts';
import { orphanQueries } from '../queries/orphans.ts';
import { pendingSearch } from '../queries/pending-search.ts';
import { principalQueries } from '../queries/principals.ts';
import { rewardCycleQueries } from '../queries/reward-cycles.ts';
import { stackingQueries } from '../queries/stacking.ts';
import { stakingPrincipalQueries } from '../queries/staking-principals.ts';
import { stakingSignerQueries } from '../queries/staking-signers.ts';
import { streamedQueries } from '../queries/streamed.ts';
import { withStreamed } from '../queries/streamed-search.ts';
import { tenureQueries } from '../queries/tenures.ts';
import { transactionSearch } from '../queries/transaction-search.ts';
import { transactionQueries } from '../queries/transactions.ts';
import { wholeBlockQueries } from '../queries/whole-blocks.ts';

/**
 * All queries, through one connection.
 * @param journal null where there is none
 * @param file tells the file from others that stand in its place before or after
 */
export function readerOf(db: Database, journal: EntryReader | null, file: number): Reader {
  const chain = chainQueries(db);
  const blocks = blockQueries(db, chain);
  const mempool = mempoolQueries(db);
  const assetQueries = assetReaders(db);
  const details = detailQueries(db);
  const events = eventQueries(db);
  const orphans = orphanQueries(db, journal);
  const streamed = streamedQueries(db, journal, orphans.network);
  const { whole, wholePage, transactions: inBlock } = wholeBlockQueries(db, { range: blocks.range, orphans, details });
  const search = withStreamed(transactionSearch(db, details), streamed);
  return {
    file,
    chain: {
      tip: async () => chain.tip(),
      blockHash: async (id: BlockId) => chain.block(id)?.index_block_hash,
      newestArrival: async () => chain.newestArrival(),
    },
    changes: changeQueries(db),
    blocks: { ...blocks, whole, wholePage },
    microblocks: {
      ...microblockQueries(db, streamed),
      transactions: async () =>
        streamed
          .transactions()
          .map(({ detail }) => detail)
          .reverse(),
    },
    tenures: tenureQueries(db),
    burnBlocks: burnBlockQueries(db, blocks.range),
    transactions: {
      ...transactionQueries(db, chain, mempool, details),
      search,
      inBlock,
      findInForks: inForks({ details, events, mempool, orphans, streamed }),
    },
    events,
    mempool: {
      find: async (txId) => mempool.find(txId),
      page: mempool.page,
      fees: mempool.fees,
      version: mempool.version,
      ofPrincipal: mempool.ofPrincipal,
      ...pendingSearch(db, mempool),
    },
    ...addressReaders(db, details, mempool),
    principals: { ...principalQueries(db), ...assetQueries.principals },
    transfers: assetQueries.transfers,
    tokens: assetQueries.tokens,
    stacking: stackingQueries(db),
    staking: { ...bondQueries(db), ...stakingPrincipalQueries(db), ...stakingSignerQueries(db) },
    rewardCycles: rewardCycleQueries(db),
    burnRewards: burnRewardQueries(db),
    contracts: {
      ...contractQueries(db),
      ...deploymentQueries(db, orphans),
      functions: contractFunctionQueries(db),
      logs: contractLogQueries(db),
    },
    names: nameQueries(db),
  };
}
