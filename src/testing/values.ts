/** Clarity values in tests: results as JavaScript values, and arguments as literals that the compiler checks. */
import { principalBytes } from '../codec/address.ts';
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

/** Returns an exact integer between two bounds. @throws RangeError */
function integer(name: string, value: bigint | number, minimum: bigint, maximum: bigint): bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    const remedy = Number.isInteger(value) ? ': from 2^53 on, numbers are rounded. Write a bigint, such as 5n.' : '.';
    throw new RangeError(`cl.${name} can't take the number ${value}${remedy}`);
  }
  const exact = BigInt(value);
  if (exact >= minimum && exact <= maximum) return exact;
  throw new RangeError(`cl.${name} takes ${minimum} to ${maximum}, not ${exact}.`);
}

/** Returns a text that has the form of a literal. @throws TypeError */
function formed<T extends string>(name: string, text: T, isValid: boolean, rule: string): T {
  if (isValid) return text;
  throw new TypeError(`cl.${name} takes ${rule}, not ${JSON.stringify(text)}.`);
}

const HEX = /^(0x)?([0-9a-fA-F]{2})*$/;
/** Characters of an ASCII string: printable ones, and those with an escape. */
const ASCII = /^[\n\r\t -~]*$/;
const [UINT_MAX, INT_MAX] = [2n ** 128n - 1n, 2n ** 127n - 1n];

/** Makes literals for arguments. Each function throws a RangeError or a TypeError for a value that its type can't have. */
export const cl = {
  uint: (value: bigint | number): `u${bigint}` => `u${integer('uint', value, 0n, UINT_MAX)}`,
  int: (value: bigint | number): `${bigint}` => `${integer('int', value, -INT_MAX - 1n, INT_MAX)}`,
  bool: (value: boolean): 'true' | 'false' => (value ? 'true' : 'false'),
  /** @param principal address or contract identifier */
  principal: (principal: string): `'${string}` =>
    `'${formed('principal', principal, principalBytes(principal) !== null, 'an address or a contract identifier')}`,
  /** @param bytes the bytes, or their hex with or without 0x */
  buffer: (bytes: Uint8Array | string): `0x${string}` =>
    typeof bytes === 'string'
      ? `0x${formed('buffer', bytes, HEX.test(bytes), 'whole bytes in hex').replace(/^0x/, '')}`
      : `0x${Buffer.from(bytes).toString('hex')}`,
  ascii: (text: string): `"${string}"` => quoted(formed('ascii', text, ASCII.test(text), 'ASCII characters')),
  utf8: (text: string): `u"${string}"` => `u${quoted(text)}`,
  none: 'none' as const,
  some: <T extends string>(literal: T): `(some ${T})` => `(some ${literal})`,
  list: (literals: readonly string[]): `(list${string})` => `(list ${literals.join(' ')})`,
  tuple: (members: Readonly<Record<string, string>>): `{${string}}` =>
    `{ ${Object.entries(members)
      .map(([name, literal]) => `${name}: ${literal}`)
      .join(', ')} }`,
};
