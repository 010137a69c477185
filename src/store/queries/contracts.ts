/** Contracts that were deployed. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { splitPrincipal } from '../../codec/address.ts';
import type { Deployment, SmartContract } from '../model/contract.ts';
import { heightIn, shownTime } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE, PAYLOAD, STATUS, storedTransactionStatus } from '../rows/words.ts';
import { type MadeByRow, madeByOf } from './made-by.ts';

export const sql = {
  find: `SELECT t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
                b.block_hash, b.index_block_hash, b.burn_block_height, b.burn_block_time, t.clarity_version,
                d.raw
           FROM principals p JOIN contracts c ON c.contract_id = p.id
           JOIN transactions t ON t.position = c.position JOIN transaction_bodies d ON d.position = c.position
           JOIN blocks b ON b.height = ${heightIn('c.position')}
          WHERE p.address = ?1 AND t.status = ${STATUS.success} ORDER BY c.position DESC LIMIT 1`,
  mined: `SELECT t.position, t.tx_id, t.status
            FROM principals p JOIN contracts c ON c.contract_id = p.id JOIN transactions t ON t.position = c.position
           WHERE p.address = ?1 ORDER BY c.position DESC LIMIT 1`,
  principal: 'SELECT id FROM principals WHERE address = ?1',
  // Whoever deploys a contract is its address.
  waiting: `SELECT tx_id FROM mempool_transactions
             WHERE state = ${MEMPOOL_STATE.pending} AND sender_id = ?1 AND contract_id = ?2 AND type IN (${PAYLOAD.smart_contract}, ${PAYLOAD.versioned_smart_contract}) ORDER BY nonce LIMIT 1`,
};

interface Row extends MadeByRow {
  clarity_version: number | null;
  raw: Uint8Array;
}

export function contractQueries(db: Database) {
  const find = prepared<Row, [string]>(db, sql.find);
  const mined = prepared<{ position: number; tx_id: Uint8Array; status: number }, [string]>(db, sql.mined);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const waiting = prepared<{ tx_id: Uint8Array }, [number, number]>(db, sql.waiting);
  return {
    /** Undefined where none of that id was deployed with success. */
    async find(contractId: string): Promise<SmartContract | undefined> {
      const row = find.get(contractId);
      if (row === null) return undefined;
      return { ...madeByOf(row), contractId, clarityVersion: row.clarity_version, raw: row.raw };
    },

    /**
     * The newest deployment that was mined, whatever came of it, else the first that waits; undefined where there is
     * none.
     */
    async deployment(contractId: string): Promise<Deployment | undefined> {
      const row = mined.get(contractId);
      if (row !== null)
        return { status: storedTransactionStatus.wordOf(row.status), txId: row.tx_id, height: heightOf(row.position) };
      const [deployer, contract] = [principal.get(splitPrincipal(contractId).address), principal.get(contractId)];
      const pending = deployer === null || contract === null ? null : waiting.get(deployer.id, contract.id);
      return pending === null ? undefined : { status: 'pending', txId: pending.tx_id };
    },
  };
}
