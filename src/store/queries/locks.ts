/** What of a principal's STX was locked when a block was the tip. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../chain/position.ts';
import type { StxBalance } from '../model/account.ts';
import { heightIn } from '../rows/position-sql.ts';
import { prepared } from '../rows/statement.ts';

const poxVersions = [1, 2, 3, 4] as const;

/** The value of a pox version's forced unlock: that of the newest block that says it. */
const unlockHeight = (version: number): string =>
  `(SELECT pox_${version}_unlock_height FROM blocks WHERE pox_${version}_unlock_height IS NOT NULL
     ORDER BY height DESC LIMIT 1)`;

export const sql = {
  last: `SELECT l.amount, l.unlock_height, l.pox_version, l.position, l.event_index, t.tx_id, b.burn_block_height
           FROM stx_locks l JOIN transactions t ON t.position = l.position
           JOIN blocks b ON b.height = ${heightIn('l.position')}
          WHERE l.principal_id = ?1 AND (?2 OR l.amount IS NOT NULL) AND l.position <= ?3
          ORDER BY l.position DESC, l.event_index DESC LIMIT 1`,
  block: 'SELECT height, burn_block_height FROM blocks WHERE height <= ?1 ORDER BY height DESC LIMIT 1',
  forcedUnlocks: `SELECT ${poxVersions.map((version) => `${unlockHeight(version)} AS pox_${version}`).join(', ')}`,
};

interface LockRow {
  amount: string | null;
  unlock_height: number;
  pox_version: number;
  position: number;
  tx_id: Uint8Array;
  burn_block_height: number;
}

export type LockQuery = ReturnType<typeof lockQuery>;

export function lockQuery(db: Database) {
  const lastLock = prepared<LockRow, [number, number, number]>(db, sql.last);
  const block = prepared<{ height: number; burn_block_height: number }, [number]>(db, sql.block);
  const forcedUnlocks = prepared<Record<string, number | null>, []>(db, sql.forcedUnlocks);

  /**
   * The node's rule: a lock ends as soon as its height, or the forced one of its version, is reached.
   * @param height of the block; of the tip for a greater one
   */
  return (principal: number, height: number): StxBalance['locked'] => {
    const tip = block.get(height);
    if (tip === null) return null;
    const { last: position } = positionsOf(tip.height);
    const { burn_block_height: burnHeight } = tip;
    const last = lastLock.get(principal, 1, position);
    if (last === null || last.unlock_height <= burnHeight) return null;
    const forced = forcedUnlocks.get()?.[`pox_${last.pox_version}`] ?? 0;
    if (forced > 0 && forced <= burnHeight) return null;
    // An early end of a lock says no amount: the lock itself does.
    const row = last.amount === null ? lastLock.get(principal, 0, position) : last;
    if (row?.amount == null || row.amount === '0') return null;
    return {
      amount: BigInt(row.amount),
      poxVersion: row.pox_version,
      txId: row.tx_id,
      blockHeight: heightOf(row.position),
      burnBlockHeight: row.burn_block_height,
      unlockHeight: last.unlock_height,
    };
  };
}
