/** Fungible tokens: who has how many units, and how many there are. */
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import { tokenCounter } from './account-writer.ts';
import type { BusyRows } from './busy-rows.ts';
import type { Dictionaries } from './dictionary.ts';

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/** What applies the effects on balances of fungible tokens. */
function balanceWriter({ principals, assets }: Dictionaries, busy: BusyRows) {
  const { ftBalances, ftTokens } = busy;
  const countTokens = tokenCounter(busy, 'ft_tokens');

  function countHolders(asset_id: number, holders: number, accounts: number): void {
    const token = ftTokens.get({ asset_id });
    if (token === null) return;
    ftTokens.put({ ...token, holders: token.holders + holders, accounts: token.accounts + accounts });
  }

  return ({ sign, asset, principal, balance: moved, transfers: events }: Of<'ft_balance'>): void => {
    const key = { asset_id: assets.id(asset), principal_id: principals.id(principal) };
    const known = ftBalances.get(key);
    const before = known?.balance ?? sortable('0');
    const balance = sortable((BigInt(decimalOf(before)) + BigInt(sign) * moved).toString());
    const transfers = (known?.transfers ?? 0) + sign * events;
    if (transfers === 0) ftBalances.remove(key);
    else ftBalances.put({ ...key, balance, transfers, address: principal, identifier: asset });
    const holders = Number(isPositive(balance)) - Number(isPositive(before));
    const accounts = Number(transfers > 0) - Number(known !== null);
    if (holders !== 0 || accounts !== 0) countHolders(key.asset_id, holders, accounts);
    if (holders !== 0) countTokens(key.principal_id, holders);
  };
}

/** What applies the effects on fungible tokens' supplies. */
function supplyWriter({ assets }: Dictionaries, { ftTokens }: BusyRows) {
  return ({ sign, asset, supply, events: moved }: Of<'ft_token'>): void => {
    const key = { asset_id: assets.id(asset) };
    const known = ftTokens.get(key) ?? { ...key, supply: '0', holders: 0, accounts: 0, events: 0 };
    const events = known.events + sign * moved;
    const total = BigInt(known.supply) + BigInt(sign) * supply;
    if (events === 0) ftTokens.remove(key);
    else ftTokens.put({ ...known, supply: total.toString(), events });
  };
}

/** What applies the effects on fungible tokens, by their kinds. */
export const ftWriters = (dictionaries: Dictionaries, busy: BusyRows) => ({
  ft_balance: balanceWriter(dictionaries, busy),
  ft_token: supplyWriter(dictionaries, busy),
});
