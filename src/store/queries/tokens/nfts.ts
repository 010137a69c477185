/** Reads non-fungible tokens: the instances that a principal owns, the history of an instance, and the mints of an asset. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../../chain/position.ts';
import type { Cursor, OffsetPage, Page } from '../../model/page.ts';
import type { NftEvent, NftHolding, NftInstance, NftMint } from '../../model/token.ts';
import type { TransactionDetail } from '../../model/transaction.ts';
import { EVENT_KIND, TOKEN } from '../../rows/enums.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';
import { orderedList, up } from '../list.ts';
import { numbers } from '../numbers.ts';
import { bytesAt, type RowSource, readPage, textAt } from '../page.ts';
import type { DetailQueries } from '../transactions/details.ts';
import { type EventRow, eventColumns, eventJoins, eventOf } from '../transactions/events.ts';

/** The instances of an asset that an owner has, by value. */
export const instancesOfOwner = orderedList<InstanceValue>(
  { select: 'SELECT value FROM nft_instances', where: 'owner_id = ?1 AND asset_id = ?2' },
  [up('value', 'bytes')],
);

export const sql = {
  assets: orderedList<AssetRow>({ select: 'SELECT identifier, asset_id FROM nft_holdings', where: 'owner_id = ?1' }, [
    up('identifier', 'text'),
  ]),
  values: instancesOfOwner,
  total: query<{ total: number }, [number]>`SELECT nfts AS total FROM accounts WHERE principal_id = ?1`,
  totalOfAsset: query<{ total: number }, [number, string]>`
    SELECT instances AS total FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2`,
};

type AssetRow = Stored<'nft_holdings', 'identifier' | 'asset_id'>;

export type InstanceValue = Stored<'nft_instances', 'value'>;

export function nftQueries(db: Database) {
  const { total, totalOfAsset, values: valuesOf, assets: assetsOf } = statements(db, sql);
  const { principalOf, assetOf } = numbers(db);

  /** Instances of an owner from a key on. @param asset identifier of the one asset to list; null for all */
  function instancesFrom(
    owner: number,
    asset: string | null,
    ...[key, isBackward, count]: Parameters<RowSource<NftInstance>['rows']>
  ): NftInstance[] {
    const identifier = key === null ? null : textAt(key, 0);
    const first = key === null ? null : [bytesAt(key, 1).toHex()];
    const assets =
      asset === null
        ? assetsOf([owner]).rows(identifier === null ? null : [identifier], isBackward, count + 1)
        : [{ identifier: asset, asset_id: assetOf(asset) }];
    const instances: NftInstance[] = [];
    for (const row of assets) {
      if (instances.length >= count) break;
      const from = row.identifier === identifier ? first : null;
      const values = valuesOf([owner, row.asset_id]).rows(from, isBackward, count - instances.length);
      for (const { value } of values) instances.push({ asset: row.identifier, value });
    }
    return instances;
  }

  return {
    /**
     * Instances by identifier, then value. Every asset but the first has an instance on the page, so there is at most one
     * look-up more than rows.
     * @param asset identifier of the one asset to list; null for all
     */
    ofOwner(principal: string, asset: string | null, limit: number, cursor: Cursor | null): Page<NftInstance> {
      const owner = principalOf(principal);
      const row = asset === null ? total.get(owner) : totalOfAsset.get(owner, asset);
      return readPage<NftInstance, NftInstance>({
        limit,
        cursor,
        total: row?.total ?? 0,
        rows: (...page) => instancesFrom(owner, asset, ...page),
        keyOf: ({ asset: identifier, value }) => [identifier, value.toHex()],
        itemOf: (row) => row,
      });
    },
  };
}

const newest = 'ORDER BY position DESC, event_index DESC LIMIT';
const instance = 'SELECT asset_id, value, position, event_index FROM nft_instances WHERE owner_id = ?1';

/**
 * Instances of some assets; the assets' numbers follow the first three parameters. SQLite merges the lists, each of which is in
 * the order of the chain.
 */
function ownedQuery(assets: number) {
  const lists = Array.from({ length: assets }, (_, index) => `${instance} AND asset_id = ?${index + 4}`);
  return query<InstanceRow, number[]>`${lists.join(' UNION ALL ')} ${newest} ?2 OFFSET ?3`;
}

export const nftListsSql = {
  owned: query<InstanceRow, [number, number, number]>`${instance} ${newest} ?2 OFFSET ?3`,
  ownedTotal: sql.total,
  ownedOfAsset: ownedQuery(1),
  ownedOfAssets: ownedQuery(3),
  ownedOfAssetTotal: sql.totalOfAsset,
  history: query<KeyRow, [number, Uint8Array, number, number]>`
    SELECT position, event_index FROM events
     WHERE asset_id = ?1 AND value = ?2 AND kind >= ${EVENT_KIND.nft_transfer} ${newest} ?3 OFFSET ?4`,
  historyTotal: query<TotalRow, [number, Uint8Array]>`
    SELECT events AS total FROM nft_instances WHERE asset_id = ?1 AND value = ?2`,
  mints: query<KeyRow, [number, number, number]>`
    SELECT position, event_index FROM events WHERE asset_id = ?1 AND kind = ${EVENT_KIND.nft_mint} ${newest} ?2 OFFSET ?3`,
  mintsTotal: query<TotalRow, [number]>`
    SELECT mints AS total FROM asset_totals WHERE token = ${TOKEN.nft} AND asset_id = ?1`,
  owner: query<{ address: string | null }, [number, Uint8Array]>`
    SELECT p.address FROM nft_instances i LEFT JOIN principals p ON p.id = i.owner_id
     WHERE i.asset_id = ?1 AND i.value = ?2`,
  event: query<EventRow & { tx_id: Uint8Array }, [number, number]>`
    SELECT ${eventColumns}, t.tx_id FROM events e JOIN transactions t ON t.position = e.position ${eventJoins}
     WHERE e.position = ?1 AND e.event_index = ?2`,
  txId: query<Stored<'transactions', 'tx_id'>, [number]>`SELECT tx_id FROM transactions WHERE position = ?1`,
};

type KeyRow = Stored<'events', 'position' | 'event_index'>;

type InstanceRow = KeyRow & Stored<'nft_instances', 'asset_id' | 'value'>;

interface TotalRow {
  total: number;
}

export function nftListQueries(db: Database, details: DetailQueries) {
  const read = statements(db, nftListsSql);
  const { principalOf, assetOf, identifierOf } = numbers(db);

  const transactionAt = (position: number, isIncluded: boolean): TransactionDetail | null =>
    isIncluded ? (details.at([position])[0] ?? null) : null;

  const eventsAt = (keys: readonly KeyRow[], withTransactions: boolean): NftEvent[] =>
    keys.map(({ position, event_index }) => {
      const row = read.event.get(position, event_index);
      const event = row === null ? null : eventOf(row);
      if (row === null || event?.kind !== 'nft') throw new Error(`no event of an instance at position ${position}`);
      return { txId: row.tx_id, event, transaction: transactionAt(position, withTransactions) };
    });

  /** Instances of assets; the owner has at least one of each asset. */
  function readInstances(owner: number, assets: readonly number[], limit: number, offset: number): InstanceRow[] {
    if (assets.length === 1) return read.ownedOfAsset.all(owner, limit, offset, ...assets);
    // A cached statement for each number of assets would be too many.
    const list = ownedQuery(assets.length).prepared(db);
    try {
      return list.all(owner, limit, offset, ...assets);
    } finally {
      list.finalize();
    }
  }

  function ownedAssets(owner: number, assets: readonly string[]) {
    const counts = [...new Set(assets)].map((asset) => ({
      asset: assetOf(asset),
      count: read.ownedOfAssetTotal.get(owner, asset)?.total ?? 0,
    }));
    const owned = counts.filter(({ count }) => count > 0);
    return { assets: owned.map(({ asset }) => asset), total: owned.reduce((sum, { count }) => sum + count, 0) };
  }

  return {
    /** Newest first. @param assets null for all */
    nftHoldings(
      principal: string,
      assets: readonly string[] | null,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): OffsetPage<NftHolding> {
      const owner = principalOf(principal);
      const owned = assets === null ? null : ownedAssets(owner, assets);
      const total = owned === null ? (read.ownedTotal.get(owner)?.total ?? 0) : owned.total;
      if (offset >= total) return { items: [], total };
      const rows =
        owned === null ? read.owned.all(owner, limit, offset) : readInstances(owner, owned.assets, limit, offset);
      const items = rows.map(
        ({ asset_id, value, position }): NftHolding => ({
          asset: identifierOf(asset_id),
          value,
          txId: read.txId.get(position)?.tx_id ?? new Uint8Array(0),
          blockHeight: heightOf(position),
          transaction: transactionAt(position, withTransactions),
        }),
      );
      return { items, total };
    },

    nftHistory(
      asset: string,
      value: Uint8Array,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): OffsetPage<NftEvent> {
      const id = assetOf(asset);
      const total = read.historyTotal.get(id, value)?.total ?? 0;
      const keys = offset >= total ? [] : read.history.all(id, value, limit, offset);
      return { items: eventsAt(keys, withTransactions), total };
    },

    nftMints(asset: string, limit: number, offset: number, withTransactions: boolean): OffsetPage<NftMint> {
      const id = assetOf(asset);
      const total = read.mintsTotal.get(id)?.total ?? 0;
      const keys = offset >= total ? [] : read.mints.all(id, limit, offset);
      const items = eventsAt(keys, withTransactions).map((mint) => ({
        ...mint,
        owner: read.owner.get(id, mint.event.value)?.address ?? null,
      }));
      return { items, total };
    },

    /** The present owner of an instance, null if it is burnt; undefined if it never was. */
    nftOwner: (asset: string, value: Uint8Array): string | null | undefined =>
      optional(read.owner.get(assetOf(asset), value), (row) => row.address),
  };
}
