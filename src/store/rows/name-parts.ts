/** Splits names and identifiers into searchable parts (the table name_parts), for its writer, its check and the search. */
import { NAME_PART, type NamePartKind, PART_PLACE } from './enums.ts';
import type { Stored } from './statement.ts';

/** Number of characters from the start of a name that searches match. Names of contracts have 40 at most. */
export const MAX_PART = 64;

/** A text as names are compared: case doesn't matter. */
export const folded = (text: string): string => text.toLowerCase();

/** The end of the range of texts that begin with one. */
export const endOf = (text: string): string => `${text}\u{10FFFF}`;

export type NamePartRow = Stored<'name_parts'>;

/**
 * The rows of a name: one for each of its characters.
 * @param identifier of the contract or asset, whose start also matches; null for other names
 */
export function nameParts(
  kind: NamePartKind,
  subject_id: number,
  name: string,
  identifier: string | null,
): NamePartRow[] {
  const characters = [...folded(name)].slice(0, MAX_PART);
  const rows = characters.map((_, index) => ({
    kind: NAME_PART[kind],
    place: index === 0 ? PART_PLACE.start : PART_PLACE.inside,
    part: characters.slice(index).join(''),
    subject_id,
  }));
  if (identifier === null) return rows;
  return [...rows, { kind: NAME_PART[kind], place: PART_PLACE.identifier, part: folded(identifier), subject_id }];
}
