/** Texts of the dictionaries that stand in other tables once more, since lists are ordered by them. */
import { type Check, none } from './result.ts';

/** Tables with a copy of an address: whose it is. */
const addresses = {
  accounts: 'principal_id',
  ft_balances: 'principal_id',
  stacking_terms: 'stacker_id',
  cycle_stackers: 'stacker_id',
  bond_positions: 'staker_id',
  stakes: 'staker_id',
  signer_keys: 'signer_id',
};

/** Tables with a copy of an asset's identifier. */
const identifiers = ['ft_balances', 'nft_holdings'];

export const copyChecks: readonly Check[] = [
  ...Object.entries(addresses).map(([table, id]) =>
    none<{ id: number; copy: string }>(
      `addresses in ${table}`,
      `SELECT t.${id} AS id, t.address AS copy FROM ${table} t LEFT JOIN principals p ON p.id = t.${id}
        WHERE t.address IS NOT p.address`,
      ({ id, copy }) => `principal ${id} is ${copy} there`,
    ),
  ),
  ...identifiers.map((table) =>
    none<{ asset_id: number; identifier: string }>(
      `asset identifiers in ${table}`,
      `SELECT t.asset_id, t.identifier FROM ${table} t LEFT JOIN assets a ON a.id = t.asset_id
        WHERE t.identifier IS NOT a.identifier`,
      ({ asset_id, identifier }) => `asset ${asset_id} is ${identifier} there`,
    ),
  ),
];
