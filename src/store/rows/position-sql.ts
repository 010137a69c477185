/** Positions in SQL: what chain/position.ts says of them, as expressions. */
import { PLACE_BITS } from '../../chain/position.ts';

/** The height of the block that a position is in. @param position an expression */
export const heightIn = (position: string): string => `${position} >> ${PLACE_BITS}`;

/** The first position of a block. @param height an expression */
export const firstPositionIn = (height: string): string => `${height} << ${PLACE_BITS}`;
