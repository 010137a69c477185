/** Indexes of decoded values, as an operator asks for them and as they stand. */
import { heightOf, positionsOf } from '../../chain/position.ts';

/** What is found by them. */
export type ValueSubject = 'logs' | 'calls';

/** What an operator asks for. */
export interface ValueIndexChoice {
  subject: ValueSubject;
  contract: string;
  /** A field of the logs, with all fields inside it, or a function; empty for all. */
  scope: string;
}

/** A place in the chain: a transaction and an event of it, which is 0 for a call. */
export interface EventPosition {
  position: number;
  eventIndex: number;
}

/** An index as it stands. */
export interface ValueIndex extends ValueIndexChoice {
  id: number;
  /** Whether the operator still asks for it; else its entries are being removed. */
  wanted: boolean;
  /** The index has the entries of all that stands here or behind. */
  from: EventPosition;
}

/** Less than zero where the first stands before the second in the chain. */
export const compared = (a: EventPosition, b: EventPosition): number =>
  a.position - b.position || a.eventIndex - b.eventIndex;

/** Whether an index has all entries, from the first block on. */
export const isWhole = ({ from }: ValueIndex): boolean => from.position === 0;

/** The height from which on an index has all entries. */
export function lowestWholeHeight({ from: { position, eventIndex } }: ValueIndex): number {
  const height = heightOf(position);
  return eventIndex === 0 && position === positionsOf(height).first ? height : height + 1;
}
