/** Clarity values as JSON, for programs that know neither Clarity nor its bytes. */
import { type ClarityValue, decodeClarity } from './clarity.ts';
import { toHex } from './hex.ts';

/**
 * The JSON text of a value: integers and principals as texts, since JSON's numbers are not exact; buffers as hex with 0x;
 * `none` as null and `(some x)` as x; `(ok x)` as `{"ok": x}` and `(err x)` as `{"err": x}`; lists as arrays, tuples as
 * objects with their keys in the order of the bytes.
 */
function jsonOf(value: ClarityValue): string {
  switch (value.type) {
    case 'int':
    case 'uint':
      return `"${value.value}"`;
    case 'bool':
      return String(value.value);
    case 'none':
      return 'null';
    case 'some':
      return jsonOf(value.value);
    case 'ok':
    case 'err':
      return `{"${value.type}":${jsonOf(value.value)}}`;
    case 'buffer':
      return `"${toHex(value.value)}"`;
    case 'principal':
    case 'string-ascii':
    case 'string-utf8':
      return JSON.stringify(value.value);
    case 'list':
      return `[${value.value.map(jsonOf).join()}]`;
    case 'tuple':
      return `{${[...value.value].map(([key, entry]) => `${JSON.stringify(key)}:${jsonOf(entry)}`).join()}}`;
  }
}

/** The JSON text of a serialized value as {@link jsonOf} has it; null for bytes that are none. */
export function clarityJson(bytes: Uint8Array): string | null {
  const decoded = decodeClarity(bytes);
  return decoded.ok ? jsonOf(decoded.value) : null;
}
