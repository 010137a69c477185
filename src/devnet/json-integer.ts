/** ES2026; the compiler's library doesn't have it yet. */
type RawJson = JSON & { rawJSON(text: string): unknown };

/** A number as the node writes it into JSON, however large: a u128 doesn't fit a double. */
export function jsonInteger(value: bigint): unknown {
  return (JSON as RawJson).rawJSON(String(value));
}
