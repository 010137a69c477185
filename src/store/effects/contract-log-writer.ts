/** How many logs each contract has. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { upserter } from '../rows/table.ts';
import { contractLogsTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';

/** What applies the effects on these counts through this connection. */
export function contractLogWriter(db: Database, { principals }: Dictionaries) {
  const count = upserter(db, contractLogsTable, { summed: ['logs'] });
  const removeEmpty = db.prepare('DELETE FROM contract_logs WHERE contract_id = ?1 AND logs = 0');

  return ({ sign, contract, logs }: Extract<Effect, { kind: 'contract_logs' }>): void => {
    const id = principals.id(contract);
    count({ contract_id: id, logs: sign * logs });
    if (sign === -1) removeEmpty.run(id);
  };
}
