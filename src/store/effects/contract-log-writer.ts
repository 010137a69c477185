/** How many logs each contract has. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import type { Dictionaries } from './dictionary.ts';

/** What applies the effects on these counts through this connection. */
export function contractLogWriter(db: Database, { principals }: Dictionaries) {
  const count = db.prepare(
    `INSERT INTO contract_logs VALUES (?1, ?2) ON CONFLICT (contract_id) DO UPDATE SET logs = logs + ?2`,
  );
  const removeEmpty = db.prepare('DELETE FROM contract_logs WHERE contract_id = ?1 AND logs = 0');

  return ({ sign, contract, logs }: Extract<Effect, { kind: 'contract_logs' }>): void => {
    const id = principals.id(contract);
    count.run(id, sign * logs);
    if (sign === -1) removeEmpty.run(id);
  };
}
