/** Read-only snapshots of the index for requests. */
import type { Database, Statement } from 'bun:sqlite';
import { openReader } from './database.ts';
import type { BlockId } from './model.ts';
import { assetReaders } from './queries/assets.ts';
import { blockQueries } from './queries/blocks.ts';
import { burnBlockQueries } from './queries/burn-blocks.ts';
import { chainQueries } from './queries/chain.ts';
import { contractFunctionQueries } from './queries/contract-functions.ts';
import { contractLogQueries } from './queries/contract-logs.ts';
import { contractQueries } from './queries/contracts.ts';
import { detailQueries } from './queries/details.ts';
import { eventQueries } from './queries/events.ts';
import { mempoolQueries } from './queries/mempool.ts';
import { principalQueries } from './queries/principals.ts';
import { transactionQueries } from './queries/transactions.ts';
import { type Reader, type Snapshots, StoreClosedError } from './reader.ts';

/** All queries, through one connection. */
function readerOf(db: Database): Reader {
  const chain = chainQueries(db);
  const blocks = blockQueries(db, chain);
  const mempool = mempoolQueries(db);
  const assetQueries = assetReaders(db);
  return {
    chain: {
      tip: async () => chain.tip(),
      blockHash: async (id: BlockId) => chain.block(id)?.index_block_hash,
    },
    blocks,
    burnBlocks: burnBlockQueries(db, blocks.range),
    transactions: transactionQueries(db, chain, mempool, detailQueries(db)),
    events: eventQueries(db),
    mempool: { page: mempool.page, fees: mempool.fees, version: mempool.version, ofPrincipal: mempool.ofPrincipal },
    principals: { ...principalQueries(db), ...assetQueries.principals },
    transfers: assetQueries.transfers,
    tokens: assetQueries.tokens,
    contracts: { ...contractQueries(db), functions: contractFunctionQueries(db), logs: contractLogQueries(db) },
  };
}

interface Connection {
  db: Database;
  reader: Reader;
  begin: Statement;
  end: Statement;
}

/**
 * Opens snapshots of a data directory. Requests that overlap have a connection each, since a connection has one
 * snapshot at a time; connections are kept for the requests to come.
 */
export function openSnapshots(directory: string): Snapshots {
  const idle: Connection[] = [];
  let closed = false;
  const connect = (): Connection => {
    const db = openReader(directory);
    return { db, reader: readerOf(db), begin: db.prepare('BEGIN'), end: db.prepare('COMMIT') };
  };
  idle.push(connect());
  return {
    async read(request) {
      if (closed) throw new StoreClosedError('The store is closed');
      const connection = idle.pop() ?? connect();
      connection.begin.run();
      try {
        return await request(connection.reader);
      } finally {
        connection.end.run();
        if (closed) connection.db.close();
        else idle.push(connection);
      }
    },
    close() {
      closed = true;
      for (const { db } of idle.splice(0)) db.close();
    },
  };
}
