/** Non-fungible tokens by offset, newest first: what a principal owns, what became of an instance, an asset's mints. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import type { OffsetPage } from '../model/page.ts';
import type { NftEvent, NftHolding } from '../model/token.ts';
import type { TransactionDetail } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { EVENT_KIND } from '../rows/words.ts';
import type { DetailQueries } from './details.ts';
import { type EventRow, eventColumns, eventJoins, eventOf } from './events.ts';

const newest = 'ORDER BY position DESC, event_index DESC LIMIT';
const instance = 'SELECT asset_id, value, position, event_index FROM nft_instances WHERE owner_id = ?1';

/** Instances of as many assets, whose numbers follow the first three parameters: merged, since each list is in the order of the chain. */
function ownedOf(assets: number): string {
  const lists = Array.from({ length: assets }, (_, at) => `${instance} AND asset_id = ?${at + 4}`);
  return `${lists.join(' UNION ALL ')} ${newest} ?2 OFFSET ?3`;
}

export const sql = {
  owned: `${instance} ${newest} ?2 OFFSET ?3`,
  ownedTotal: 'SELECT nfts AS total FROM accounts WHERE principal_id = ?1',
  ownedOfAsset: ownedOf(1),
  ownedOfAssets: ownedOf(3),
  ownedOfAssetTotal: 'SELECT instances AS total FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2',
  history: `SELECT position, event_index FROM events
             WHERE asset_id = ?1 AND value = ?2 AND kind >= ${EVENT_KIND.nft_transfer} ${newest} ?3 OFFSET ?4`,
  historyTotal: 'SELECT events AS total FROM nft_instances WHERE asset_id = ?1 AND value = ?2',
  mints: `SELECT position, event_index FROM events WHERE asset_id = ?1 AND kind = ${EVENT_KIND.nft_mint} ${newest} ?2 OFFSET ?3`,
  mintsTotal: 'SELECT mints AS total FROM nft_mints WHERE asset_id = ?1',
  event: `SELECT ${eventColumns}, t.tx_id FROM events e JOIN transactions t ON t.position = e.position ${eventJoins}
           WHERE e.position = ?1 AND e.event_index = ?2`,
  identifier: 'SELECT identifier FROM assets WHERE id = ?1',
  txId: 'SELECT tx_id FROM transactions WHERE position = ?1',
};

interface KeyRow {
  position: number;
  event_index: number;
}

interface InstanceRow extends KeyRow {
  asset_id: number;
  value: Uint8Array;
}

interface TotalRow {
  total: number;
}

export function nftListQueries(db: Database, details: DetailQueries) {
  const owned = prepared<InstanceRow, [number, number, number]>(db, sql.owned);
  const ownedTotal = prepared<TotalRow, [number]>(db, sql.ownedTotal);
  const ownedOfAsset = prepared<InstanceRow, number[]>(db, sql.ownedOfAsset);
  const ownedOfAssetTotal = prepared<TotalRow, [number, string]>(db, sql.ownedOfAssetTotal);
  const history = prepared<KeyRow, [number, Uint8Array, number, number]>(db, sql.history);
  const historyTotal = prepared<TotalRow, [number, Uint8Array]>(db, sql.historyTotal);
  const mints = prepared<KeyRow, [number, number, number]>(db, sql.mints);
  const mintsTotal = prepared<TotalRow, [number]>(db, sql.mintsTotal);
  const eventAt = prepared<EventRow & { tx_id: Uint8Array }, [number, number]>(db, sql.event);
  const identifier = prepared<{ identifier: string }, [number]>(db, sql.identifier);
  const txIdAt = prepared<{ tx_id: Uint8Array }, [number]>(db, sql.txId);

  const transactionAt = (position: number, wanted: boolean): TransactionDetail | null =>
    wanted ? (details.at([position])[0] ?? null) : null;

  const eventsAt = (keys: readonly KeyRow[], withTransactions: boolean): NftEvent[] =>
    keys.map(({ position, event_index }) => {
      const row = eventAt.get(position, event_index);
      const event = row === null ? null : eventOf(row);
      if (row === null || event?.kind !== 'nft') throw new Error(`no event of an instance at position ${position}`);
      return { txId: row.tx_id, event, transaction: transactionAt(position, withTransactions) };
    });

  /** Instances of some assets, of which the owner has some each. */
  function instancesOf(owner: number, assets: readonly number[], limit: number, offset: number): InstanceRow[] {
    if (assets.length === 1) return ownedOfAsset.all(owner, limit, offset, ...assets);
    // As many statements as there are numbers of assets would be too many to keep.
    const list = prepared<InstanceRow, number[]>(db, ownedOf(assets.length));
    try {
      return list.all(owner, limit, offset, ...assets);
    } finally {
      list.finalize();
    }
  }

  /** Of some assets, those of which the owner has some. */
  function heldOf(owner: number, assets: ReadonlyMap<string, number>) {
    const counts = [...assets].map(([name, asset]) => ({ asset, of: ownedOfAssetTotal.get(owner, name)?.total ?? 0 }));
    const held = counts.filter(({ of }) => of > 0);
    return { assets: held.map(({ asset }) => asset), total: held.reduce((sum, { of }) => sum + of, 0) };
  }

  return {
    /** @param assets numbers of the assets to list, by their identifiers; null for all */
    ofOwner(
      owner: number,
      assets: ReadonlyMap<string, number> | null,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): OffsetPage<NftHolding> {
      const held = assets === null ? null : heldOf(owner, assets);
      const total = held === null ? (ownedTotal.get(owner)?.total ?? 0) : held.total;
      if (offset >= total) return { items: [], total };
      const rows = held === null ? owned.all(owner, limit, offset) : instancesOf(owner, held.assets, limit, offset);
      const items = rows.map(
        ({ asset_id, value, position }): NftHolding => ({
          asset: identifier.get(asset_id)?.identifier ?? '',
          value,
          txId: txIdAt.get(position)?.tx_id ?? new Uint8Array(0),
          blockHeight: heightOf(position),
          transaction: transactionAt(position, withTransactions),
        }),
      );
      return { items, total };
    },

    history(
      asset: number,
      value: Uint8Array,
      limit: number,
      offset: number,
      withTransactions: boolean,
    ): OffsetPage<NftEvent> {
      const total = historyTotal.get(asset, value)?.total ?? 0;
      const keys = offset >= total ? [] : history.all(asset, value, limit, offset);
      return { items: eventsAt(keys, withTransactions), total };
    },

    mints(asset: number, limit: number, offset: number, withTransactions: boolean): OffsetPage<NftEvent> {
      const total = mintsTotal.get(asset)?.total ?? 0;
      const keys = offset >= total ? [] : mints.all(asset, limit, offset);
      return { items: eventsAt(keys, withTransactions), total };
    },
  };
}
