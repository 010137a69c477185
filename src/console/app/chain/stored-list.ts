/**
 * A list that the browser has stored as JSON. What can't be read is left out, since anybody may change it.
 * @param itemOf the item of a stored value; none for one that can't be read
 * @param most items that are kept
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
