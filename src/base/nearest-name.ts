/** Suggests the name that an unknown name was probably meant to be. */

/** Returns the edit distance: the number of letters to add, remove or replace to turn one word into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

/** Maximum share of a name that may differ in a misspelling. */
const MAX_SHARE = 0.4;

/** Maximum characters of a name to compare, because the time grows with the product of the lengths. */
const MAX_LENGTH = 100;

/** Returns the most similar of the names; null if none is similar, or if the name is too long. */
export function nearestName(name: string, names: readonly string[]): string | null {
  if (name.length > MAX_LENGTH) return null;
  const [best] = names
    .filter(({ length }) => length <= MAX_LENGTH)
    .map((candidate) => ({ candidate, edits: distance(name, candidate) }))
    .toSorted((a, b) => a.edits - b.edits);
  return best === undefined || best.edits > name.length * MAX_SHARE ? null : best.candidate;
}
