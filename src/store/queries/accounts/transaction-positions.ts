/** Positions of transactions by their index in the block. */
import type { Database } from 'bun:sqlite';
import { ANCHORED_SEQUENCE } from '../../../chain/block.ts';
import { positionsOf } from '../../../chain/position.ts';
import type { PositionInBlock } from '../../model/block.ts';
import { query } from '../../rows/statement.ts';

export const sql = {
  // Reads the transactions of one block at most.
  transaction: query<{ position: number; tx_index: number; sequence: number }, [number, number, number, number]>`
    SELECT position, tx_index, coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}) AS sequence FROM transactions
     WHERE position BETWEEN ?1 AND ?2 AND (coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}), tx_index) <= (?3, ?4)
     ORDER BY position DESC LIMIT 1`,
};

/** A height above every block. */
export const LAST_HEIGHT = 2 ** 32;

export function transactionPositionQuery(db: Database) {
  const transaction = sql.transaction.prepared(db);

  /** The position of the last transaction at or before an index in a block, else that before the block; `exact`: at the index. */
  return ({ height, microblockSequence, txIndex }: PositionInBlock & { height: number }) => {
    const { first, last } = positionsOf(Math.min(height, LAST_HEIGHT));
    const row = transaction.get(first, last, microblockSequence, txIndex);
    if (row === null) return { position: first - 1, exact: false };
    return { position: row.position, exact: row.sequence === microblockSequence && row.tx_index === txIndex };
  };
}
