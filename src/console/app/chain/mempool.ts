/** Expected blocks in words, and the colours of blocks. */
import type { Answer } from '../api/answer.ts';
import { count, plural } from './format.ts';

export type Projection = Answer<'/stackside/v1/mempool/blocks'>;
export type ProjectedBlock = Projection['blocks'][number];

/** Median fees in micro-STX at which the colour of a block changes. */
const LEVELS = [1_000, 10_000, 100_000, 1_000_000];

/** Returns the colour of a block by its median fee, in micro-STX: from 0 for the lowest fees to 4. */
export const feeLevel = (median: string): number => LEVELS.filter((least) => Number(median) >= least).length;

/** Returns `Next block`, or the number of earlier blocks: `1 block later`. */
export const blockTitle = (block: number): string =>
  block === 1 ? 'Next block' : `${plural(block - 1, 'block')} later`;

/** Describes the transactions outside of the expected blocks, and those that aren't shown. */
export function projectionNotes({ total, considered, waiting, beyond }: Projection): string[] {
  const notes: string[] = [];
  if (beyond > 0) notes.push(`${plural(beyond, 'transaction')} would be in later blocks.`);
  if (waiting.nonce > 0) {
    notes.push(`${plural(waiting.nonce, 'transaction')} can’t be mined before another with a lower nonce.`);
  }
  if (waiting.balance > 0) {
    notes.push(`${plural(waiting.balance, 'transaction')} can’t be paid from the account’s balance.`);
  }
  if (considered < total) {
    notes.push(`The blocks contain the ${count(considered)} transactions with the highest fees.`);
  }
  return notes;
}

/** Describes the position of a pending transaction in the expected blocks. */
export const queuePositionText = ({ block, place }: { block: number; place: number }): string =>
  block === 1
    ? `Currently number ${count(place)} of the next block.`
    : `Currently number ${count(place)} of the block after ${plural(block - 1, 'other')}.`;
