/** Lists of objects that the browser stores, newest first. */
import { parsedJson } from '../../../base/json.ts';

interface Stored {
  kind: string;
  id: string;
}

/** Reports whether two items are the same object. */
export const isSame = (one: Stored, other: Stored): boolean => one.kind === other.kind && one.id === other.id;

/** Returns the list without an object. */
export const without = <Item extends Stored>(list: readonly Item[], item: Stored): Item[] =>
  list.filter((other) => !isSame(item, other));

/** Returns the list with an object as its first. @param limit maximum number of items */
export const withFirst = <Item extends Stored>(list: readonly Item[], item: Item, limit: number): Item[] =>
  [item, ...without(list, item)].slice(0, limit);

/**
 * Reads a stored list. Invalid items are left out, because anybody may change the storage.
 * @param parseItem returns the item of a stored value; empty if it is invalid
 * @param limit maximum number of items
 */
export function parseList<Item>(stored: string | null, parseItem: (value: unknown) => Item[], limit: number): Item[] {
  const list = parsedJson(stored ?? '[]');
  return Array.isArray(list) ? list.flatMap(parseItem).slice(0, limit) : [];
}
