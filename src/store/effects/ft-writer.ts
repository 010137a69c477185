/** Fungible tokens: who has how many units, and how many there are. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import { upserter } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { ftBalancesTable, ftTokensTable } from '../tables/tokens.ts';
import type { Dictionaries } from './dictionary.ts';

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/** What applies the effects on balances of fungible tokens through this connection. */
function balanceWriter(db: Database, { principals, assets }: Dictionaries) {
  const find = db.prepare<Stored<typeof ftBalancesTable, 'balance' | 'transfers'>, [number, number]>(
    'SELECT balance, transfers FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  );
  const set = upserter(db, ftBalancesTable, { replaced: ['balance', 'transfers'] });
  const remove = db.prepare<null, [number, number]>(
    'DELETE FROM ft_balances WHERE asset_id = ?1 AND principal_id = ?2',
  );
  const countHolders = db.prepare<null, [number, number, number]>(
    'UPDATE ft_tokens SET holders = holders + ?2, accounts = accounts + ?3 WHERE asset_id = ?1',
  );
  const countTokens = db.prepare<null, [number, number]>(
    'UPDATE accounts SET ft_tokens = ft_tokens + ?2 WHERE principal_id = ?1',
  );

  return ({ sign, asset, principal, balance: moved, transfers: events }: Of<'ft_balance'>): void => {
    const [assetId, principalId] = [assets.id(asset), principals.id(principal)];
    const known = find.get(assetId, principalId);
    const before = known?.balance ?? sortable('0');
    const balance = sortable((BigInt(decimalOf(before)) + BigInt(sign) * moved).toString());
    const transfers = (known?.transfers ?? 0) + sign * events;
    if (transfers === 0) remove.run(assetId, principalId);
    else {
      set({ asset_id: assetId, principal_id: principalId, balance, transfers, address: principal, identifier: asset });
    }
    const holders = Number(isPositive(balance)) - Number(isPositive(before));
    const accounts = Number(transfers > 0) - Number(known !== null);
    if (holders !== 0 || accounts !== 0) countHolders.run(assetId, holders, accounts);
    if (holders !== 0) countTokens.run(principalId, holders);
  };
}

/** What applies the effects on fungible tokens' supplies through this connection. */
function supplyWriter(db: Database, { assets }: Dictionaries) {
  const find = db.prepare<Stored<typeof ftTokensTable, 'supply' | 'events'>, [number]>(
    'SELECT supply, events FROM ft_tokens WHERE asset_id = ?1',
  );
  const set = upserter(db, ftTokensTable, { replaced: ['supply', 'events'] });
  const remove = db.prepare<null, [number]>('DELETE FROM ft_tokens WHERE asset_id = ?1');

  return ({ sign, asset, supply, events: moved }: Of<'ft_token'>): void => {
    const id = assets.id(asset);
    const known = find.get(id);
    const events = (known?.events ?? 0) + sign * moved;
    if (events === 0) {
      remove.run(id);
      return;
    }
    const total = BigInt(known?.supply ?? 0) + BigInt(sign) * supply;
    set({ asset_id: id, supply: total.toString(), holders: 0, accounts: 0, events });
  };
}

/** What applies the effects on fungible tokens through this connection, by their kinds. */
export const ftWriters = (db: Database, dictionaries: Dictionaries) => ({
  ft_balance: balanceWriter(db, dictionaries),
  ft_token: supplyWriter(db, dictionaries),
});
