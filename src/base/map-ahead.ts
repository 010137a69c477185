/** Work on items ahead of their reader. */

/** Number of items that are mapped before the reader requests them. */
const AHEAD = 3;

/** Maps items in order, a few ahead of the reader. @throws the error of an item when the reader reaches the item */
export async function* mapAhead<T, R>(items: readonly T[], map: (item: T) => Promise<R>): AsyncGenerator<R> {
  const results: Promise<R>[] = [];
  for (let next = 0; next < items.length || results.length > 0; ) {
    for (; next < items.length && results.length <= AHEAD; next++) {
      const mapped = map(items[next]!);
      // The reader may stop before it reaches this item.
      mapped.catch(() => {});
      results.push(mapped);
    }
    yield await results.shift()!;
  }
}
