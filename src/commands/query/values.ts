/** Values and names of columns in every form of output. */
import { toHex } from '../../codec/hex.ts';
import type { CsvValue } from '../../http/csv.ts';
import type { ResultColumn, SqlValue } from '../../store/sql/result.ts';

/** A value as text and JSON have it: bytes in hex. */
export const shown = (value: SqlValue): CsvValue => (value instanceof Uint8Array ? toHex(value) : value);

/** The names of columns; those that occur twice are told apart by their place. */
export function distinctNames(columns: readonly ResultColumn[]): string[] {
  const seen = new Set<string>();
  return columns.map(({ name }, i) => {
    const distinct = seen.has(name) ? `${name}:${i + 1}` : name;
    seen.add(distinct);
    return distinct;
  });
}
