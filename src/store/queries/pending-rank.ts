/** The places of a pending transaction among what waits, by its fee. */
import type { Database } from 'bun:sqlite';
import type { FeeRank } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE, typeNumbers, typeWord } from '../rows/words.ts';

/** The most transactions with a higher fee that are counted, so that an answer costs no more where more than these wait. */
const MOST_COUNTED = 10_000;

const higher = `SELECT 1 FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`;

export const sql = {
  pending: `SELECT type, fee FROM mempool_transactions WHERE tx_id = ?1 AND state = ${MEMPOOL_STATE.pending}`,
  // Fees are length-prefixed, so that their texts compare as numbers.
  ahead: `SELECT count(*) AS n FROM (${higher} AND fee > ?1 LIMIT ?2)`,
  aheadOfType: `SELECT count(*) AS n FROM (${higher} AND type = ?3 AND fee > ?1 LIMIT ?2)`,
};

/** @param most transactions that are counted; another number than usual is for tests */
export function pendingRank(db: Database, most = MOST_COUNTED) {
  const pending = prepared<{ type: number; fee: string }, [Uint8Array]>(db, sql.pending);
  const ahead = prepared<{ n: number }, [string, number]>(db, sql.ahead);
  const aheadOfType = prepared<{ n: number }, [string, number, number]>(db, sql.aheadOfType);

  const placeAfter = (higherFees: number): number | null => (higherFees > most ? null : higherFees + 1);

  return {
    /** Where the fee of a pending transaction stands; null for what doesn't wait. */
    async feeRank(txId: Uint8Array): Promise<FeeRank | null> {
      const row = pending.get(txId);
      if (row === null) return null;
      const ofType = typeNumbers(typeWord(row.type)).map(
        (number) => aheadOfType.get(row.fee, most + 1, number)?.n ?? 0,
      );
      return {
        ofAll: placeAfter(ahead.get(row.fee, most + 1)?.n ?? 0),
        ofType: placeAfter(ofType.reduce((sum, n) => sum + n, 0)),
      };
    },
  };
}
