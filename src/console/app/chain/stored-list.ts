/**
 * Reads a list that the browser has stored as JSON. Invalid items are ignored, because anybody may change the storage.
 * @param itemOf returns the item of a stored value; empty if it is invalid
 * @param most maximum number of items
 */
export function storedList<Item>(stored: string | null, itemOf: (value: unknown) => Item[], most: number): Item[] {
  try {
    const list: unknown = JSON.parse(stored ?? '[]');
    return Array.isArray(list) ? list.flatMap(itemOf).slice(0, most) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
