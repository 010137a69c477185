/** What transactions did to principals' tokens. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { table } from '../rows/table.ts';
import { tokenChangesTable } from '../rows/tables.ts';
import { storedToken } from '../rows/words.ts';
import type { Dictionaries } from './dictionary.ts';

/** What applies the effects on these sums through this connection. */
export function tokenChangeWriter(db: Database, { principals, assets }: Dictionaries) {
  const changes = table(db, tokenChangesTable);
  return ({ sign, position, principal, token, asset, sent, received }: Extract<Effect, { kind: 'token_change' }>) => {
    const key = {
      principal_id: principals.id(principal),
      position,
      token: storedToken.numberOf(token),
      asset_id: assets.id(asset),
    };
    if (sign === 1) changes.add({ ...key, sent: sent.toString(), received: received.toString() });
    else changes.remove(key);
  };
}
