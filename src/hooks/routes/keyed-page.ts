/** Pages by the number of a row, as the lists of chainhooks are walked. */
import type { CursorKey, Page } from '../../store/model/page.ts';

interface NumberedPage<T> {
  items: T[];
  total: number;
  current: number | null;
  next: number | null;
  previous: number | null;
}

const keyOf = (id: number | null): CursorKey | null => (id === null ? null : [id]);

/** A page with cursor keys, made of one whose keys are numbers. */
export const keyed = <T>({ items, total, current, next, previous }: NumberedPage<T>): Page<T> => ({
  items,
  total,
  current: keyOf(current),
  next: keyOf(next),
  previous: keyOf(previous),
});

/** The row that a page starts with, null for the newest. */
export const startOf = (key: CursorKey | null): number | null => (typeof key?.[0] === 'number' ? key[0] : null);
