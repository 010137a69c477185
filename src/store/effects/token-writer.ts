/** Fungible and non-fungible tokens: who has what, and where each instance is. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import { table } from '../rows/table.ts';
import { TOKEN } from '../rows/words.ts';
import type { Dictionaries } from './dictionary.ts';

type TokenEffect = Extract<Effect, { kind: 'token_change' | 'ft_balance' | 'ft_token' | 'nft_move' | 'nft_mints' }>;
type Of<K extends TokenEffect['kind']> = Extract<TokenEffect, { kind: K }>;

interface Instance {
  owner_id: number | null;
  events: number;
}

/** The event of an instance that stands before another. */
interface FormerEvent {
  position: number;
  event_index: number;
  recipient_id: number | null;
}

/** What applies the effects on tokens through this connection. */
export function tokenEffectsWriter(db: Database, { principals, assets }: Dictionaries) {
  const changes = table(db, 'token_changes', ['principal_id', 'position', 'token', 'asset_id', 'sent', 'received'], 4);
  const balance = db.prepare<{ balance: string; transfers: number }, [number, number]>(
    'SELECT balance, transfers FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  );
  const setBalance = db.prepare(
    `INSERT INTO ft_balances VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (asset_id, principal_id) DO UPDATE SET balance = ?3, transfers = ?4`,
  );
  const removeBalance = db.prepare('DELETE FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2');
  const countHolders = db.prepare<null, [number, number, number]>(
    'UPDATE ft_tokens SET holders = holders + ?2, accounts = accounts + ?3 WHERE asset_id = ?1',
  );
  const countTokens = db.prepare<null, [number, number]>(
    'UPDATE accounts SET ft_tokens = ft_tokens + ?2 WHERE principal_id = ?1',
  );
  const token = db.prepare<{ supply: string; events: number }, [number]>(
    'SELECT supply, events FROM ft_tokens WHERE asset_id = ?1',
  );
  const setToken = db.prepare(
    `INSERT INTO ft_tokens VALUES (?1, ?2, 0, 0, ?3)
       ON CONFLICT (asset_id) DO UPDATE SET supply = ?2, events = ?3`,
  );
  const removeToken = db.prepare('DELETE FROM ft_tokens WHERE asset_id = ?1');
  const instance = db.prepare<Instance, [number, Uint8Array]>(
    'SELECT owner_id, events FROM nft_instances WHERE asset_id = ?1 AND value = ?2',
  );
  const setInstance = db.prepare(
    `INSERT INTO nft_instances VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (asset_id, value) DO UPDATE SET owner_id = ?3, position = ?4, event_index = ?5, events = ?6`,
  );
  const removeInstance = db.prepare('DELETE FROM nft_instances WHERE asset_id = ?1 AND value = ?2');
  const former = db.prepare<FormerEvent, [number, Uint8Array, number, number]>(
    `SELECT position, event_index, recipient_id FROM events
      WHERE asset_id = ?1 AND value = ?2 AND kind >= 9 AND (position, event_index) < (?3, ?4)
      ORDER BY position DESC, event_index DESC LIMIT 1`,
  );
  const countHolding = db.prepare(
    `INSERT INTO nft_holdings VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (owner_id, identifier) DO UPDATE SET instances = instances + ?4`,
  );
  const removeHolding = db.prepare(
    'DELETE FROM nft_holdings WHERE owner_id = ?1 AND identifier = ?2 AND instances = 0',
  );
  const countNfts = db.prepare<null, [number, number]>('UPDATE accounts SET nfts = nfts + ?2 WHERE principal_id = ?1');

  const countMints = db.prepare(
    'INSERT INTO nft_mints VALUES (?1, ?2) ON CONFLICT (asset_id) DO UPDATE SET mints = mints + ?2',
  );
  const removeMints = db.prepare('DELETE FROM nft_mints WHERE asset_id = ?1 AND mints = 0');

  function changeToken({ sign, position, principal, token: kind, asset, sent, received }: Of<'token_change'>): void {
    const key = [principals.id(principal), position, TOKEN[kind], assets.id(asset)] as const;
    if (sign === 1) changes.add(...key, sent.toString(), received.toString());
    else changes.remove(...key);
  }

  function moveBalance({ sign, asset, principal, balance: moved, transfers }: Of<'ft_balance'>): void {
    const [assetId, principalId] = [assets.id(asset), principals.id(principal)];
    const known = balance.get(assetId, principalId);
    const before = known?.balance ?? sortable('0');
    const after = sortable((BigInt(decimalOf(before)) + BigInt(sign) * moved).toString());
    const count = (known?.transfers ?? 0) + sign * transfers;
    if (count === 0) removeBalance.run(assetId, principalId);
    else setBalance.run(assetId, principalId, after, count, principal, asset);
    const holders = Number(isPositive(after)) - Number(isPositive(before));
    const accounts = Number(count > 0) - Number(known !== null);
    if (holders !== 0 || accounts !== 0) countHolders.run(assetId, holders, accounts);
    if (holders !== 0) countTokens.run(principalId, holders);
  }

  function moveToken({ sign, asset, supply, events }: Of<'ft_token'>): void {
    const id = assets.id(asset);
    const known = token.get(id);
    const count = (known?.events ?? 0) + sign * events;
    if (count === 0) removeToken.run(id);
    else setToken.run(id, (BigInt(known?.supply ?? 0) + BigInt(sign) * supply).toString(), count);
  }

  function changeOwner(from: number | null, to: number | null, asset: string, assetId: number): void {
    if (from === to) return;
    if (from !== null) {
      countHolding.run(from, asset, assetId, -1);
      removeHolding.run(from, asset);
      countNfts.run(from, -1);
    }
    if (to !== null) {
      countHolding.run(to, asset, assetId, 1);
      countNfts.run(to, 1);
    }
  }

  function moveInstance({ sign, position, index, asset, value, owner }: Of<'nft_move'>): void {
    const assetId = assets.id(asset);
    const known = instance.get(assetId, value);
    const ownerBefore = known?.owner_id ?? null;
    const events = (known?.events ?? 0) + sign;
    if (sign === 1) {
      const ownerId = owner === null ? null : principals.id(owner);
      setInstance.run(assetId, value, ownerId, position, index, events);
      changeOwner(ownerBefore, ownerId, asset, assetId);
      return;
    }
    const last = former.get(assetId, value, position, index);
    if (last === null) removeInstance.run(assetId, value);
    else setInstance.run(assetId, value, last.recipient_id, last.position, last.event_index, events);
    changeOwner(ownerBefore, last?.recipient_id ?? null, asset, assetId);
  }

  function moveMints({ sign, asset, mints }: Of<'nft_mints'>): void {
    const id = assets.id(asset);
    countMints.run(id, sign * mints);
    if (sign === -1) removeMints.run(id);
  }

  return (effect: TokenEffect): void => {
    switch (effect.kind) {
      case 'token_change':
        changeToken(effect);
        return;
      case 'ft_balance':
        moveBalance(effect);
        return;
      case 'ft_token':
        moveToken(effect);
        return;
      case 'nft_move':
        moveInstance(effect);
        return;
      case 'nft_mints':
        moveMints(effect);
    }
  };
}
