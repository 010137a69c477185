/**
 * Directories: contracts, fungible tokens and collections. Ties in an order are sorted by their numbers, the
 * newest first.
 */
import type { Database, Statement } from 'bun:sqlite';
import { dayOf, isDay } from '../../base/utc-time.ts';
import { heightOf } from '../../chain/position.ts';
import type { ContractsFilter, ListedContract } from '../model/contract.ts';
import type { Cursor, Page } from '../model/page.ts';
import { UnreadableCursorError } from '../model/read-errors.ts';
import type { FtListing, NftListing, TokensOrder } from '../model/token.ts';
import { DAILY, DEPLOYMENTS, PAYLOAD, STATUS, storedFamily, TOKEN } from '../rows/enums.ts';
import { heightIn, shownTime } from '../rows/expressions.ts';
import { FT_TOKEN_ID } from '../rows/formats.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { down, type ListedRows, orderedList, walked } from './list.ts';
import { MAX_FILTERED_ROWS, numberAt, type RowSource, readPage } from './page.ts';

/** A list by a count, then by a number, which is the table's key. */
const rankedList = <Row extends Ranked>(count: string, id: string, table: string, where: string, columns = '') =>
  orderedList<Row>(
    { select: `SELECT ${count} AS count, ${id} AS id${columns} FROM ${table}`, where },
    [down(count), down(id)],
    { isSplit: true },
  );

const family = ', (SELECT family FROM token_contracts c WHERE c.contract_id = d.subject_id) AS family';
const byPosition = [down('position')];

const countOfDay = (kind: number, subject: string): string =>
  `coalesce((SELECT count FROM daily_counts d WHERE d.day = ?2 AND d.kind = ${kind} AND d.subject_id = ${subject}), 0)`;

export const sql = {
  tip: query<Stored<'blocks', 'block_time'>>`
    SELECT block_time FROM blocks WHERE height = (SELECT max(height) FROM blocks)`,
  contract: query<ContractRow, [number, number]>`
    SELECT p.address, coalesce((SELECT calls FROM accounts a WHERE a.principal_id = p.id), 0) AS calls,
           ${countOfDay(DAILY.calls, 'p.id')} AS of_day,
           (SELECT family FROM token_contracts c WHERE c.contract_id = p.id) AS family
      FROM principals p WHERE p.id = ?1`,
  // The chain rejects a second deployment of a contract, so failed deployments always come before the successful one.
  deployment: query<Stored<'transactions', 'position' | 'tx_id'> & { block_time: number }, [number]>`
    SELECT t.position, t.tx_id, ${shownTime} AS block_time
      FROM (SELECT max(position) AS position FROM transactions
             WHERE contract_id = ?1 AND type IN (${DEPLOYMENTS})) c
      CROSS JOIN transactions t ON t.position = c.position AND t.status = ${STATUS.success}
      CROSS JOIN blocks b ON b.height = ${heightIn('t.position')}`,
  ft: query<FtListing, [number, number]>`
    SELECT a.identifier AS asset, f.supply, f.holders, f.events, ${countOfDay(DAILY.ft, 'f.asset_id')} AS eventsOfDay,
           t.name, t.symbol, t.decimals
      FROM asset_totals f CROSS JOIN assets a ON a.id = f.asset_id
      LEFT JOIN token_contracts c ON c.asset_id = f.asset_id
      LEFT JOIN tokens t ON t.contract_id = c.contract_id AND t.token_id = '${FT_TOKEN_ID}'
     WHERE f.token = ${TOKEN.ft} AND f.asset_id = ?1 LIMIT 1`,
  nft: query<NftListing, [number, number]>`
    SELECT a.identifier AS asset, n.mints, CAST(n.supply AS INTEGER) AS instances, n.holders, n.events,
           ${countOfDay(DAILY.nft, 'n.asset_id')} AS eventsOfDay
      FROM asset_totals n CROSS JOIN assets a ON a.id = n.asset_id WHERE n.token = ${TOKEN.nft} AND n.asset_id = ?1`,
  calls: rankedList<RankedContract>(
    'd.count',
    'd.subject_id',
    'daily_counts d',
    `d.day = ?1 AND d.kind = ${DAILY.calls}`,
    family,
  ),
  ftHolders: rankedList('holders', 'asset_id', 'asset_totals', `token = ${TOKEN.ft}`),
  nftHolders: rankedList('holders', 'asset_id', 'asset_totals', `token = ${TOKEN.nft}`),
  transfers: rankedList('count', 'subject_id', 'daily_counts', 'day = ?1 AND kind = ?2'),
  newest: orderedList<DeploymentRow>(
    [PAYLOAD.smart_contract, PAYLOAD.versioned_smart_contract].map((type) => ({
      select: 'SELECT position, contract_id AS id, status FROM transactions INDEXED BY transactions_by_type',
      where: `type = ${type}`,
    })),
    byPosition,
  ),
  newestOfFamily: orderedList<DeploymentRow>(
    {
      select: `SELECT position, contract_id AS id, ${STATUS.success} AS status FROM token_contracts`,
      where: 'family = ?1',
    },
    byPosition,
  ),
};

interface Ranked {
  count: number;
  id: number;
}
interface RankedContract extends Ranked {
  family: number | null;
}
type DeploymentRow = Stored<'transactions', 'position' | 'status'> & { id: number };
type ContractRow = Stored<'principals', 'address'> & { calls: number; of_day: number; family: number | null };
/** A page of a directory, with the day that its counts cover. */
export interface DirectoryPage<Item> extends Page<Item, number | null> {
  day: number;
}

/** @param walkRows maximum number of rows that a page of contracts reads; tests use fewer than the default */
export function directoryQueries(db: Database, walkRows = MAX_FILTERED_ROWS) {
  const read = statements(db, sql);

  function listedContract(id: number, day: number): ListedContract {
    const row = read.contract.get(id, day);
    if (row === null) throw new Error(`no principal has the number ${id}`);
    const deployment = read.deployment.get(id);
    return {
      contractId: row.address,
      deployment:
        deployment === null
          ? null
          : { height: heightOf(deployment.position), time: deployment.block_time, txId: deployment.tx_id },
      calls: row.calls,
      callsOfDay: row.of_day,
      family: row.family === null ? null : storedFamily.nameOf(row.family),
    };
  }

  /**
   * The day of a page: the requested day, else the cursor's day, so that a walk stays in its first day, else the newest day
   * of the chain.
   */
  function dayAt(requestedDay: number | null, cursor: Cursor | null, isKeyed: boolean): number {
    if (requestedDay !== null) return requestedDay;
    if (!isKeyed || cursor === null || cursor.key.length === 0) return dayOf(read.tip.get()?.block_time ?? 0);
    const day = numberAt(cursor.key, 0);
    if (!isDay(day)) throw new UnreadableCursorError("the cursor's key doesn't begin with a day");
    return day;
  }

  /** A list by a count of a day. Its keys start with the day. */
  const dailyList = <Row extends Ranked>(day: number, list: ListedRows<Row>): RowSource<Row> => {
    const { rows } = walked({ ...list, keyOf: ({ count, id }: Row) => [count, id] });
    return {
      rows: (key, ...rest) => rows(key === null ? null : [numberAt(key, 1), numberAt(key, 2)], ...rest),
      keyOf: ({ count, id }) => [day, count, id],
    };
  };

  function newestContracts(type: ContractsFilter['family'], day: number, limit: number, cursor: Cursor | null) {
    return readPage<DeploymentRow, ListedContract, number | null>({
      limit,
      cursor,
      total: null,
      maxRows: walkRows,
      ...walked(type === null ? read.newest([]) : read.newestOfFamily([storedFamily.numberOf(type)])),
      meets: ({ status }) => status === STATUS.success,
      itemOf: ({ id }) => listedContract(id, day),
    });
  }

  function calledContracts(type: ContractsFilter['family'], day: number, limit: number, cursor: Cursor | null) {
    const number = type === null ? null : storedFamily.numberOf(type);
    return readPage<RankedContract, ListedContract, number | null>({
      limit,
      cursor,
      total: null,
      maxRows: walkRows,
      ...dailyList(day, read.calls([day])),
      meets: (row) => number === null || row.family === number,
      itemOf: ({ id }) => listedContract(id, day),
    });
  }

  function tokens<Item>(
    kind: 'ft' | 'nft',
    item: Statement<Item, [number, number]>,
    { order, day: requestedDay }: { order: TokensOrder; day: number | null },
    limit: number,
    cursor: Cursor | null,
  ): DirectoryPage<Item> {
    const day = dayAt(requestedDay, cursor, true);
    const list = order === 'holders' ? read[`${kind}Holders`]([]) : read.transfers([day, DAILY[kind]]);
    const page = readPage<Ranked, Item, number | null>({
      limit,
      cursor,
      total: null,
      ...dailyList(day, list),
      itemOf: ({ id }) => item.get(id, day)!,
    });
    return { ...page, day };
  }

  return {
    /** Contracts that are deployed, or were called on a day. @param day null for the newest of the chain */
    contracts(
      { order, family: type }: ContractsFilter,
      requestedDay: number | null,
      limit: number,
      cursor: Cursor | null,
    ): DirectoryPage<ListedContract> {
      const isByCalls = order === 'calls';
      const day = dayAt(requestedDay, cursor, isByCalls);
      const page = (isByCalls ? calledContracts : newestContracts)(type, day, limit, cursor);
      return { ...page, day };
    },
    /** Fungible tokens that have an event. @param day null for the newest of the chain */
    fts: (order: TokensOrder, day: number | null, limit: number, cursor: Cursor | null) =>
      tokens('ft', read.ft, { order, day }, limit, cursor),
    /** Collections that have an event. @param day null for the newest of the chain */
    nfts: (order: TokensOrder, day: number | null, limit: number, cursor: Cursor | null) =>
      tokens('nft', read.nft, { order, day }, limit, cursor),
  };
}
