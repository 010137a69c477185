/** Clarity values in tests: results as JavaScript values, and arguments as literals that the compiler checks. */
import { decodedOrThrow } from '../codec/bytes-reader.ts';
import { type ClarityValue, decodeClarity } from '../codec/clarity.ts';

/**
 * A Clarity value in JavaScript. Integers are bigints; principals and strings are texts; a buffer is `0x` and hex. `none`
 * is null, and `(some x)` is x. `(ok x)` is `{ ok: x }`, and `(err x)` is `{ err: x }`.
 */
export type Value = bigint | boolean | string | null | Value[] | { [name: string]: Value };

/** A response in JavaScript. */
export type Response<Ok extends Value = Value, Err extends Value = Value> = { ok: Ok } | { err: Err };

/** A serialized value, which any parameter accepts. */
type Serialized = `0x${string}`;
/** Literals of the types of parameters. */
export type Uint = `u${bigint}` | Serialized;
export type Int = `${bigint}` | Serialized;
export type Bool = 'true' | 'false' | Serialized;
export type Principal = `'${string}` | `.${string}` | Serialized;
export type Buffer = Serialized;
export type Ascii = `"${string}"` | Serialized;
export type Utf8 = `u"${string}"` | Serialized;
export type Optional<T extends string = string> = 'none' | `(some ${T})` | Serialized;
export type List = `(list${string})` | Serialized;
export type Tuple = `{${string}}` | Serialized;

function plain(value: ClarityValue): Value {
  switch (value.type) {
    case 'none':
      return null;
    case 'some':
      return plain(value.value);
    case 'ok':
      return { ok: plain(value.value) };
    case 'err':
      return { err: plain(value.value) };
    case 'list':
      return value.value.map(plain);
    case 'tuple':
      return Object.fromEntries([...value.value].map(([name, member]) => [name, plain(member)]));
    case 'buffer':
      return `0x${Buffer.from(value.value).toString('hex')}`;
    default:
      return value.value;
  }
}

/** Returns the value of a serialized Clarity value. @param hex with 0x @throws DecodeError */
export function decodedValue(hex: string): Value {
  // Node 20 has no Uint8Array.fromHex.
  return plain(decodedOrThrow(decodeClarity(Buffer.from(hex.slice(2), 'hex'))));
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
const quoted = (text: string): `"${string}"` => `"${text.replace(/[\n\t\r"\\]/g, (character) => NAMED[character]!)}"`;

/** Makes literals for arguments. */
export const cl = {
  uint: (value: bigint | number): `u${bigint}` => `u${BigInt(value)}`,
  int: (value: bigint | number): `${bigint}` => `${BigInt(value)}`,
  bool: (value: boolean): 'true' | 'false' => (value ? 'true' : 'false'),
  /** @param principal address or contract identifier */
  principal: (principal: string): `'${string}` => `'${principal}`,
  /** @param bytes the bytes, or their hex with or without 0x */
  buffer: (bytes: Uint8Array | string): `0x${string}` =>
    `0x${typeof bytes === 'string' ? bytes.replace(/^0x/, '') : Buffer.from(bytes).toString('hex')}`,
  ascii: (text: string): `"${string}"` => quoted(text),
  utf8: (text: string): `u"${string}"` => `u${quoted(text)}`,
  none: 'none' as const,
  some: <T extends string>(literal: T): `(some ${T})` => `(some ${literal})`,
  list: (literals: readonly string[]): `(list${string})` => `(list ${literals.join(' ')})`,
  tuple: (members: Readonly<Record<string, string>>): `{${string}}` =>
    `{ ${Object.entries(members)
      .map(([name, literal]) => `${name}: ${literal}`)
      .join(', ')} }`,
};
