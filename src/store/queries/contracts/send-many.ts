/** The send-many contracts of an index: those that operators set when the index was made, else the usual ones. */
import type { Database } from 'bun:sqlite';
import { SEND_MANY, type SendMany, type SendManySetting } from '../../../chain/memo-transfers.ts';
import type { Stored } from '../../rows/statement.ts';

export const sql = { recorded: 'SELECT network, contract_id FROM send_many_contracts' };

/** The contracts that the index was made with, by network; null for the usual contract. */
export function recordedSendMany(db: Database): SendManySetting {
  const rows = db.query<Stored<'send_many_contracts', 'network' | 'contract_id'>, []>(sql.recorded).all();
  const recorded = new Map(rows.map(({ network, contract_id }) => [network, contract_id]));
  return { mainnet: recorded.get('mainnet') ?? null, testnet: recorded.get('testnet') ?? null };
}

/** The contracts whose prints are memos of transfers. */
export function sendManyOf(db: Database): SendMany {
  const { mainnet, testnet } = recordedSendMany(db);
  return new Set([mainnet ?? SEND_MANY.mainnet, testnet ?? SEND_MANY.testnet]);
}
