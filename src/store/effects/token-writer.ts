/** Writes fungible tokens (balances and supplies) and non-fungible ones (owners of instances, and counts of their instances). */

import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { EVENT_KIND, TOKEN } from '../rows/enums.ts';
import { decimalOf, isPositive, sortable } from '../rows/formats.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { nftInstancesTable } from '../rows/tables.ts';
import { tokenCounter } from './account-writer.ts';
import type { Dictionaries } from './dictionary.ts';
import type { HotRows } from './hot-rows.ts';
import { namePartWriter } from './name-part-writer.ts';

/** The totals of a token without an event. */
const NO_TOTALS = { supply: '0', holders: 0, accounts: 0, mints: 0, events: 0 };

/** Applies effects on balances of fungible tokens. */
export function ftBalanceWriter({ principals, assets }: Dictionaries, hot: HotRows) {
  const { ftBalances, assetTotals } = hot;
  const countTokens = tokenCounter(hot, 'ft_tokens');

  function countHolders(asset_id: number, holders: number, accounts: number): void {
    const token = assetTotals.get({ token: TOKEN.ft, asset_id });
    if (token === null) return;
    assetTotals.put({ ...token, holders: token.holders + holders, accounts: token.accounts + accounts });
  }

  return ({ sign, asset, principal, balance: moved, transfers: events }: EffectOf<'ft_balance'>): void => {
    const key = { asset_id: assets.id(asset), principal_id: principals.id(principal) };
    const row = ftBalances.get(key);
    const before = row?.balance ?? sortable('0');
    const balance = sortable((BigInt(decimalOf(before)) + BigInt(sign) * moved).toString());
    const transfers = (row?.transfers ?? 0) + sign * events;
    if (transfers === 0) ftBalances.remove(key);
    else ftBalances.put({ ...key, balance, transfers, address: principal, identifier: asset });
    const holders = Number(isPositive(balance)) - Number(isPositive(before));
    const accounts = Number(transfers > 0) - Number(row !== null);
    if (holders !== 0 || accounts !== 0) countHolders(key.asset_id, holders, accounts);
    if (holders !== 0) countTokens(key.principal_id, holders);
  };
}

/** Applies effects on the supplies of fungible tokens. */
export function ftSupplyWriter(db: Database, { assets }: Dictionaries, { assetTotals }: HotRows) {
  const parts = namePartWriter(db);
  return ({ sign, asset, supply, events: moved }: EffectOf<'ft_token'>): void => {
    const key = { token: TOKEN.ft, asset_id: assets.id(asset) };
    const before = assetTotals.get(key);
    const row = before ?? { ...key, ...NO_TOTALS };
    const events = row.events + sign * moved;
    const total = BigInt(row.supply) + BigInt(sign) * supply;
    if (events === 0) assetTotals.remove(key);
    else assetTotals.put({ ...row, supply: total.toString(), events });
    if (before === null) parts.asset(1, 'ft', key.asset_id, asset);
    else if (events === 0) parts.asset(-1, 'ft', key.asset_id, asset);
  };
}

/** Counts the instances of owners. It returns by how many the collection has more holders. */
function holdingCounter(hot: HotRows) {
  const { nftHoldings } = hot;
  const countAll = tokenCounter(hot, 'nfts');

  /** @returns by how many the collection has more holders */
  function count(owner_id: number, identifier: string, asset_id: number, by: number): number {
    const key = { owner_id, identifier };
    const before = nftHoldings.get(key)?.instances ?? 0;
    const instances = before + by;
    if (instances === 0) nftHoldings.remove(key);
    else nftHoldings.put({ ...key, asset_id, instances });
    countAll(owner_id, by);
    return Number(instances > 0) - Number(before > 0);
  }

  return (from: number | null, to: number | null, identifier: string, assetId: number): number => {
    if (from === to) return 0;
    const fewer = from === null ? 0 : count(from, identifier, assetId, -1);
    return fewer + (to === null ? 0 : count(to, identifier, assetId, 1));
  };
}

type InstanceEvent = Stored<'events', 'position' | 'event_index' | 'recipient_id'>;

/** Applies effects on instances of non-fungible tokens. */
export function nftWriter(db: Database, { principals, assets }: Dictionaries, hot: HotRows) {
  const instances = table(db, nftInstancesTable);
  // The last event of an instance before a position.
  const previousEvent = query<InstanceEvent, [number, Uint8Array, number, number]>`
    SELECT position, event_index, recipient_id FROM events
     WHERE asset_id = ?1 AND value = ?2 AND kind >= ${EVENT_KIND.nft_transfer} AND (position, event_index) < (?3, ?4)
     ORDER BY position DESC, event_index DESC LIMIT 1`.prepared(db);
  const countOwner = holdingCounter(hot);
  const { assetTotals } = hot;
  const parts = namePartWriter(db);

  /** Moves an instance to another owner in the counts of owners and of its collection. */
  function move(
    { sign, asset, isMint }: EffectOf<'nft_move'>,
    asset_id: number,
    from: number | null,
    to: number | null,
  ) {
    const holders = countOwner(from, to, asset, asset_id);
    const key = { token: TOKEN.nft, asset_id };
    const before = assetTotals.get(key);
    const row = before ?? { ...key, ...NO_TOTALS };
    const events = row.events + sign;
    if (events === 0) assetTotals.remove(key);
    else {
      assetTotals.put({
        ...row,
        mints: row.mints + (isMint ? sign : 0),
        supply: String(Number(row.supply) + Number(to !== null) - Number(from !== null)),
        holders: row.holders + holders,
        events,
      });
    }
    if (before === null) parts.asset(1, 'nft', asset_id, asset);
    else if (events === 0) parts.asset(-1, 'nft', asset_id, asset);
  }

  return (effect: EffectOf<'nft_move'>): void => {
    const { sign, position, index, asset, value, owner } = effect;
    const key = { asset_id: assets.id(asset), value };
    const row = instances.find(key);
    const ownerBefore = row?.owner_id ?? null;
    const events = (row?.events ?? 0) + sign;
    if (sign === 1) {
      const ownerId = owner === null ? null : principals.id(owner);
      instances.put({ ...key, owner_id: ownerId, position, event_index: index, events });
      move(effect, key.asset_id, ownerBefore, ownerId);
      return;
    }
    const last = previousEvent.get(key.asset_id, value, position, index);
    if (last === null) instances.remove(key);
    else {
      const { recipient_id: owner_id, ...place } = last;
      instances.put({ ...key, ...place, owner_id, events });
    }
    move(effect, key.asset_id, ownerBefore, last?.recipient_id ?? null);
  };
}
