/**
 * Directories: contracts, fungible tokens and collections. Those that are alike in an order are listed by their numbers, the
 * newest first.
 */
import type { Database } from 'bun:sqlite';
import { dayOf, isDay } from '../../chain/day.ts';
import { heightOf } from '../../chain/position.ts';
import { FT_TOKEN } from '../../chain/token-contracts.ts';
import type { ContractsFilter, ListedContract } from '../model/contract.ts';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import { UnreadableCursorError } from '../model/read-errors.ts';
import type { FtListing, NftListing, TokensOrder } from '../model/token.ts';
import { sortable } from '../rows/amounts.ts';
import { PAYLOAD, STATUS, storedFamily, storedToken } from '../rows/enums.ts';
import { heightIn, shownTime } from '../rows/expressions.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { filteredPage, MOST_FILTERED_ROWS, numberAt } from './page.ts';

/**
 * A list from a key on, in both directions. ?1 and ?2 are the key. Those that are alike are a list of their own: SQLite finds no
 * place among them by a comparison of both parts where the number is the table's key.
 */
const ranked = (columns: string, count: string, id: string, rest: string) => {
  const from = `SELECT ${count} AS count, ${id} AS id${columns} FROM ${rest}`;
  const walk = (alike: '<=' | '>=', beyond: '<' | '>', down: '' | ' DESC'): string =>
    `${from} ${count} = ?1 AND ${id} ${alike} ?2 UNION ALL ${from} ${count} ${beyond} ?1 ORDER BY count${down}, id${down}`;
  return { down: walk('<=', '<', ' DESC'), up: walk('>=', '>', '') };
};

const family = ', (SELECT family FROM token_contracts c WHERE c.contract_id = d.contract_id) AS family';
const deployments = (types: readonly number[], compared: string) =>
  types
    .map(
      (type) =>
        `SELECT position AS position, contract_id AS id, status FROM transactions INDEXED BY transactions_by_type
          WHERE type = ${type} AND position ${compared} ?1`,
    )
    .join(' UNION ALL ');
const DEPLOYMENTS = [PAYLOAD.smart_contract, PAYLOAD.versioned_smart_contract];
const ofFamily = `SELECT position, contract_id AS id, ${STATUS.success} AS status FROM token_contracts WHERE family = ?2`;

const lists = {
  calls: ranked(family, 'd.calls', 'd.contract_id', 'contract_days d WHERE d.day = ?3 AND'),
  ftHolders: ranked('', 'holders', 'asset_id', 'ft_tokens WHERE'),
  nftHolders: ranked('', 'holders', 'asset_id', 'nft_tokens WHERE'),
  transfers: ranked('', 'events', 'asset_id', 'token_days WHERE day = ?3 AND token = ?4 AND'),
  newest: {
    down: `${deployments(DEPLOYMENTS, '<=')} ORDER BY position DESC`,
    up: `${deployments(DEPLOYMENTS, '>=')} ORDER BY position`,
  },
  newestOfFamily: {
    down: `${ofFamily} AND position <= ?1 ORDER BY position DESC`,
    up: `${ofFamily} AND position >= ?1 ORDER BY position`,
  },
};

const ONLY = sortable(String(FT_TOKEN));
const [FT, NFT] = [storedToken.numberOf('ft'), storedToken.numberOf('nft')];
const eventsOf = (token: number, asset: string): string =>
  `coalesce((SELECT events FROM token_days d WHERE d.day = ?2 AND d.token = ${token} AND d.asset_id = ${asset}), 0)`;

const single = {
  tip: 'SELECT block_time FROM blocks WHERE height = (SELECT max(height) FROM blocks)',
  contract: `SELECT p.address, coalesce((SELECT calls FROM accounts a WHERE a.principal_id = p.id), 0) AS calls,
                    coalesce((SELECT calls FROM contract_days d WHERE d.day = ?2 AND d.contract_id = p.id), 0) AS of_day,
                    (SELECT family FROM token_contracts c WHERE c.contract_id = p.id) AS family
               FROM principals p WHERE p.id = ?1`,
  // The chain takes no deployment of a contract that it has: what failed came before, however often.
  deployment: `SELECT t.position, t.tx_id, ${shownTime} AS block_time
                 FROM (SELECT max(position) AS position FROM contracts WHERE contract_id = ?1) c
                 CROSS JOIN transactions t ON t.position = c.position AND t.status = ${STATUS.success}
                 CROSS JOIN blocks b ON b.height = ${heightIn('t.position')}`,
  ft: `SELECT a.identifier, f.supply, f.holders, f.events, ${eventsOf(FT, 'f.asset_id')} AS of_day,
              t.name, t.symbol, t.decimals
         FROM ft_tokens f CROSS JOIN assets a ON a.id = f.asset_id
         LEFT JOIN token_contracts c ON c.asset_id = f.asset_id
         LEFT JOIN tokens t ON t.contract_id = c.contract_id AND t.token_id = '${ONLY}'
        WHERE f.asset_id = ?1 LIMIT 1`,
  nft: `SELECT a.identifier, n.mints, n.instances, n.holders, n.events, ${eventsOf(NFT, 'n.asset_id')} AS of_day
          FROM nft_tokens n CROSS JOIN assets a ON a.id = n.asset_id WHERE n.asset_id = ?1`,
};

/** All statements; the plan test reads them. */
export const sql: Readonly<Record<string, string>> = {
  ...single,
  ...Object.fromEntries(
    Object.entries(lists).flatMap(([list, { down, up }]) => [
      [`${list}.down`, down],
      [`${list}.up`, up],
    ]),
  ),
};

interface Ranked {
  count: number;
  id: number;
}
interface RankedContract extends Ranked {
  family: number | null;
}
type Deployed = Stored<'transactions', 'position' | 'status'> & { id: number };
type ContractRow = Stored<'principals', 'address'> & { calls: number; of_day: number; family: number | null };
type FtRow = Stored<'assets', 'identifier'> &
  Stored<'ft_tokens', 'supply' | 'holders' | 'events'> &
  Pick<FtListing, 'name' | 'symbol' | 'decimals'> & { of_day: number };
type NftRow = Stored<'assets', 'identifier'> &
  Stored<'nft_tokens', 'mints' | 'instances' | 'holders' | 'events'> & { of_day: number };

/** Above every number of a list. */
const MOST = Number.MAX_SAFE_INTEGER;

/** A page of a directory, with the day that its items tell of. */
export interface DirectoryPage<Item> extends Page<Item, number | null> {
  day: number;
}

/** @param walkRows rows that a page of contracts reads at most; tests of the bound use fewer than the default */
export function directoryQueries(db: Database, walkRows = MOST_FILTERED_ROWS) {
  const directions = <Row, Values extends (number | string)[]>({ down, up }: { down: string; up: string }) => ({
    down: prepared<Row, Values>(db, down),
    up: prepared<Row, Values>(db, up),
  });
  const calls = directions<RankedContract, [number, number, number]>(lists.calls);
  const holders = {
    ft: directions<Ranked, [number, number]>(lists.ftHolders),
    nft: directions<Ranked, [number, number]>(lists.nftHolders),
  };
  const transfers = directions<Ranked, [number, number, number, number]>(lists.transfers);
  const newest = directions<Deployed, [number]>(lists.newest);
  const newestOfFamily = directions<Deployed, [number, number]>(lists.newestOfFamily);
  const tip = prepared<Stored<'blocks', 'block_time'>, []>(db, single.tip);
  const contract = prepared<ContractRow, [number, number]>(db, single.contract);
  const deployment = prepared<Stored<'transactions', 'position' | 'tx_id'> & { block_time: number }, [number]>(
    db,
    single.deployment,
  );
  const ft = prepared<FtRow, [number, number]>(db, single.ft);
  const nft = prepared<NftRow, [number, number]>(db, single.nft);

  function listedContract(id: number, day: number): ListedContract {
    const row = contract.get(id, day);
    if (row === null) throw new Error(`no principal has the number ${id}`);
    const deployed = deployment.get(id);
    return {
      contractId: row.address,
      deployment:
        deployed === null
          ? null
          : { height: heightOf(deployed.position), time: deployed.block_time, txId: deployed.tx_id },
      calls: row.calls,
      callsOfDay: row.of_day,
      family: row.family === null ? null : storedFamily.nameOf(row.family),
    };
  }

  function ftListing(id: number, day: number): FtListing {
    const row = ft.get(id, day);
    if (row === null) throw new Error(`no fungible token has the number ${id}`);
    const { identifier: asset, of_day: eventsOfDay, ...rest } = row;
    return { asset, eventsOfDay, ...rest };
  }

  function nftListing(id: number, day: number): NftListing {
    const row = nft.get(id, day);
    if (row === null) throw new Error(`no collection has the number ${id}`);
    const { identifier: asset, of_day: eventsOfDay, ...rest } = row;
    return { asset, eventsOfDay, ...rest };
  }

  /**
   * The day of a page: the one that is asked for, or that of the cursor, so that a walk stays in the day that it began in, or
   * the newest of the chain.
   */
  function dayAt(asked: number | null, at: Cursor | null, isKeyed: boolean): number {
    if (asked !== null) return asked;
    if (!isKeyed || at === null || at.key.length === 0) return dayOf(tip.get()?.block_time ?? 0);
    const day = numberAt(at.key, 0);
    if (!isDay(day)) throw new UnreadableCursorError("the cursor's key doesn't begin with a day");
    return day;
  }

  const parts = (key: CursorKey | null): [count: number, id: number] =>
    key === null ? [MOST, MOST] : [numberAt(key, 1), numberAt(key, 2)];

  function newestContracts(type: ContractsFilter['family'], day: number, limit: number, at: Cursor | null) {
    const number = type === null ? null : storedFamily.numberOf(type);
    return filteredPage<Deployed, ListedContract>({
      limit,
      at,
      total: null,
      mostRows: walkRows,
      rows(key, isBackwards) {
        const from = key === null ? MOST : numberAt(key, 0);
        const direction = isBackwards ? 'up' : 'down';
        return number === null ? newest[direction].iterate(from) : newestOfFamily[direction].iterate(from, number);
      },
      meets: ({ status }) => status === STATUS.success,
      keyOf: ({ position }) => [position],
      itemOf: ({ id }) => listedContract(id, day),
    });
  }

  function calledContracts(type: ContractsFilter['family'], day: number, limit: number, at: Cursor | null) {
    const number = type === null ? null : storedFamily.numberOf(type);
    return filteredPage<RankedContract, ListedContract>({
      limit,
      at,
      total: null,
      mostRows: walkRows,
      rows: (key, isBackwards) => calls[isBackwards ? 'up' : 'down'].iterate(...parts(key), day),
      meets: (row) => number === null || row.family === number,
      keyOf: ({ count, id }) => [day, count, id],
      itemOf: ({ id }) => listedContract(id, day),
    });
  }

  function tokens<Item>(
    kind: 'ft' | 'nft',
    itemOf: (id: number, day: number) => Item,
    { order, day: asked }: { order: TokensOrder; day: number | null },
    limit: number,
    at: Cursor | null,
  ): DirectoryPage<Item> {
    const day = dayAt(asked, at, true);
    const page = filteredPage<Ranked, Item>({
      limit,
      at,
      total: null,
      mostRows: walkRows,
      rows(key, isBackwards) {
        const direction = isBackwards ? 'up' : 'down';
        return order === 'holders'
          ? holders[kind][direction].iterate(...parts(key))
          : transfers[direction].iterate(...parts(key), day, storedToken.numberOf(kind));
      },
      meets: () => true,
      keyOf: ({ count, id }) => [day, count, id],
      itemOf: ({ id }) => itemOf(id, day),
    });
    return { ...page, day };
  }

  return {
    /** Contracts that are deployed, or were called on a day. @param day null for the newest of the chain */
    contracts(
      { order, family: type }: ContractsFilter,
      asked: number | null,
      limit: number,
      at: Cursor | null,
    ): DirectoryPage<ListedContract> {
      const isByCalls = order === 'calls';
      const day = dayAt(asked, at, isByCalls);
      const page = (isByCalls ? calledContracts : newestContracts)(type, day, limit, at);
      return { ...page, day };
    },
    /** Fungible tokens of which there is an event. @param day null for the newest of the chain */
    fts: (order: TokensOrder, day: number | null, limit: number, at: Cursor | null) =>
      tokens('ft', ftListing, { order, day }, limit, at),
    /** Collections of which there is an event. @param day null for the newest of the chain */
    nfts: (order: TokensOrder, day: number | null, limit: number, at: Cursor | null) =>
      tokens('nft', nftListing, { order, day }, limit, at),
  };
}
