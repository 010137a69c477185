/** The transactions that things of other tables were made by: the row `o` has its position. */
import type { MadeBy } from '../model/staking.ts';
import { heightIn, shownTime } from '../rows/expressions.ts';
import { placeOf } from './transfers.ts';

export const madeBy = {
  columns: `t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
            b.block_hash, b.index_block_hash, b.burn_block_height, b.burn_block_time`,
  joins: `JOIN transactions t ON t.position = o.position JOIN blocks b ON b.height = ${heightIn('o.position')}`,
};

export interface MadeByRow {
  position: number;
  tx_id: Uint8Array;
  tx_index: number;
  block_time: number;
  block_hash: Uint8Array;
  index_block_hash: Uint8Array;
  burn_block_height: number;
  burn_block_time: number;
}

export const madeByOf = (row: MadeByRow): MadeBy => ({
  ...placeOf(row),
  burnBlock: { height: row.burn_block_height, time: row.burn_block_time },
});
