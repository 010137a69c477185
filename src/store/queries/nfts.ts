/** Non-fungible tokens: what a principal owns. */
import type { Database } from 'bun:sqlite';
import type { Cursor, Page } from '../model/page.ts';
import type { NftInstance } from '../model/token.ts';
import { prepared } from '../rows/statement.ts';
import { bytesAt, keysetPage, textAt } from './page.ts';

export const sql = {
  total: 'SELECT nfts AS total FROM accounts WHERE principal_id = ?1',
  totalOfAsset: 'SELECT instances AS total FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2',
  assetsFrom: `SELECT identifier, asset_id FROM nft_holdings WHERE owner_id = ?1 AND identifier >= ?2
                ORDER BY identifier LIMIT ?3`,
  assetsBefore: `SELECT identifier, asset_id FROM nft_holdings WHERE owner_id = ?1 AND identifier <= ?2
                  ORDER BY identifier DESC LIMIT ?3`,
  valuesFrom: `SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 AND value >= ?3
                ORDER BY value LIMIT ?4`,
  valuesBefore: `SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 AND value < ?3
                  ORDER BY value DESC LIMIT ?4`,
  lastValues: `SELECT value FROM nft_instances WHERE owner_id = ?1 AND asset_id = ?2 ORDER BY value DESC LIMIT ?3`,
};

interface AssetRow {
  identifier: string;
  asset_id: number;
}

interface ValueRow {
  value: Uint8Array;
}

const NO_BYTES = new Uint8Array(0);

export function nftQueries(db: Database) {
  const total = prepared<{ total: number }, [number]>(db, sql.total);
  const totalOfAsset = prepared<{ total: number }, [number, string]>(db, sql.totalOfAsset);
  const assetsFrom = prepared<AssetRow, [number, string, number]>(db, sql.assetsFrom);
  const assetsBefore = prepared<AssetRow, [number, string, number]>(db, sql.assetsBefore);
  const valuesFrom = prepared<ValueRow, [number, number, Uint8Array, number]>(db, sql.valuesFrom);
  const valuesBefore = prepared<ValueRow, [number, number, Uint8Array, number]>(db, sql.valuesBefore);
  const lastValues = prepared<ValueRow, [number, number, number]>(db, sql.lastValues);

  /**
   * Instances across assets in the order of their identifiers. Each asset that is looked at has an instance on the page,
   * but for the first, so there are never more look-ups than rows and one.
   */
  function across(
    assets: AssetRow[],
    only: string | null,
    count: number,
    valuesOf: (asset: AssetRow, left: number) => ValueRow[],
  ): NftInstance[] {
    const found: NftInstance[] = [];
    for (const asset of assets) {
      if (found.length >= count) break;
      if (only !== null && asset.identifier !== only) continue;
      for (const { value } of valuesOf(asset, count - found.length)) found.push({ asset: asset.identifier, value });
    }
    return found;
  }

  return {
    /** @param asset the one asset to list; null for all */
    ofOwner(owner: number, asset: string | null, limit: number, at: Cursor | null): Page<NftInstance> {
      const counted = asset === null ? total.get(owner) : totalOfAsset.get(owner, asset);
      return keysetPage<NftInstance, NftInstance>({
        limit,
        at,
        total: counted?.total ?? 0,
        rowsFrom(key, count) {
          const identifier = key === null ? (asset ?? '') : textAt(key, 0);
          const first = key === null ? NO_BYTES : bytesAt(key, 1);
          return across(assetsFrom.all(owner, identifier, count + 1), asset, count, (row, left) =>
            valuesFrom.all(owner, row.asset_id, row.identifier === identifier ? first : NO_BYTES, left),
          );
        },
        rowsBefore(key, count) {
          const identifier = textAt(key, 0);
          return across(assetsBefore.all(owner, identifier, count + 1), asset, count, (row, left) =>
            row.identifier === identifier
              ? valuesBefore.all(owner, row.asset_id, bytesAt(key, 1), left)
              : lastValues.all(owner, row.asset_id, left),
          );
        },
        keyOf: ({ asset: identifier, value }) => [identifier, value.toHex()],
        itemOf: (row) => row,
      });
    },
  };
}
