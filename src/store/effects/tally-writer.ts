/** How many transactions there are of each type, and calls of functions of each name. A row exists while its count isn't zero. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { upserter } from '../rows/table.ts';
import { calledFunctionsTable, transactionTypesTable } from '../rows/tables.ts';

/** What applies the effects on these counts through this connection. */
export function tallyWriter(db: Database) {
  const countType = upserter(db, transactionTypesTable, { summed: ['transactions'] });
  const countCalls = upserter(db, calledFunctionsTable, { summed: ['calls'] });
  const removeType = db.prepare<null, [number]>('DELETE FROM transaction_types WHERE type = ?1 AND transactions = 0');
  const removeCalls = db.prepare<null, [string]>('DELETE FROM called_functions WHERE name = ?1 AND calls = 0');
  return ({ sign, types, functions }: Extract<Effect, { kind: 'tallies' }>): void => {
    for (const [type, count] of types) {
      countType({ type, transactions: sign * count });
      if (sign === -1) removeType.run(type);
    }
    for (const [name, count] of functions) {
      countCalls({ name, calls: sign * count });
      if (sign === -1) removeCalls.run(name);
    }
  };
}
