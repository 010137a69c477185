/** The rules that an index was made with: settings of its operator, else the usual ones. */
import type { Database } from 'bun:sqlite';
import { type RecordedRules, type Rules, rulesOfRecord } from '../../chain/rules.ts';
import { prepared, type Stored } from '../rows/statement.ts';

export const sql = {
  sendMany: 'SELECT network, contract_id FROM send_many_contracts',
  only: 'SELECT principal FROM kept_principals ORDER BY principal',
  keptTransaction: `SELECT 1 AS kept FROM transactions WHERE tx_id = ?1
     UNION ALL SELECT 1 FROM orphaned_transactions WHERE tx_id = ?1
     UNION ALL SELECT 1 FROM mempool_transactions WHERE tx_id = ?1
     LIMIT 1`,
};

/** The settings that the index was made with. */
export function recordedRules(db: Database): RecordedRules {
  const rows = db.query<Stored<'send_many_contracts', 'network' | 'contract_id'>, []>(sql.sendMany).all();
  const recorded = new Map(rows.map(({ network, contract_id }) => [network, contract_id]));
  const kept = db.query<Stored<'kept_principals', 'principal'>, []>(sql.only).all();
  return {
    sendMany: { mainnet: recorded.get('mainnet') ?? null, testnet: recorded.get('testnet') ?? null },
    only: kept.map(({ principal }) => principal),
  };
}

/** The rules by which blocks are applied to the index. */
export const rulesOf = (db: Database): Rules => rulesOfRecord(recordedRules(db));

/** Whether an index of chosen accounts and contracts keeps a transaction, of a block or of the mempool. */
export function keptTransactionQuery(db: Database): (txId: Uint8Array) => boolean {
  const kept = prepared<{ kept: number }, [Uint8Array]>(db, sql.keptTransaction);
  return (txId) => kept.get(txId) !== null;
}
