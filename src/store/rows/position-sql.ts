/** Positions in SQL: what chain/position.ts says of them, as expressions. */
import { PLACE_BITS } from '../../chain/position.ts';

/** The height of the block that a position is in. @param position an expression */
export const heightIn = (position: string): string => `${position} >> ${PLACE_BITS}`;

/**
 * The time of the block that shows a transaction, for a query whose FROM has `transactions t` and `blocks b`. Block 0's
 * transactions are shown in block 1 with the time of block 0, if that has one.
 */
export const shownTime = 'coalesce(nullif(t.genesis_block_time, 0), b.block_time)';

/** The first position of a block. @param height an expression */
export const firstPositionIn = (height: string): string => `${height} << ${PLACE_BITS}`;
