/**
 * The position of a transaction on the chain, as one integer: block height, then index in the block. Greater is newer.
 *
 * 20 bits for the index (a 2 MiB block contains at most some 12,000 transactions) leave 33 of a double's 53 bits for
 * the height, so positions are ordinary numbers in SQLite's rowid and in JavaScript.
 */
export const PLACE_BITS = 20;
const PLACES = 2 ** PLACE_BITS;

/** Returns the position of a transaction. @param place index in the block, from 0 */
export const positionOf = (height: number, place: number): number => height * PLACES + place;

/** Returns the block height of a position. */
export const heightOf = (position: number): number => Math.floor(position / PLACES);

/** Describes a position, such as `block 7, transaction 1`. The first transaction of a block is 0. */
export const positionText = (position: number): string =>
  `block ${heightOf(position)}, transaction ${position % PLACES}`;

/** Returns the first and the last possible position of transactions in the block at `height`. */
export const positionsOf = (height: number): { first: number; last: number } => ({
  first: height * PLACES,
  last: height * PLACES + PLACES - 1,
});
