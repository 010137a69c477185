/**
 * Keys of Clarity values in the indexes of decoded values: a letter for the kind, then the value. Keys of integers have the
 * order of the integers, of either type; both types of strings have the same kind. A long text is replaced by a hash. Two
 * values may have the same key, so a search compares the values of the rows that it finds.
 */
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import { type ClarityField, unwrap } from '../../codec/clarity-fields.ts';
import { sha256 } from '../../codec/hash.ts';
import { payloadOf } from '../../codec/transaction.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import { sortable } from './formats.ts';
import type { Stored } from './statement.ts';

/** Maximum number of characters of a text that is stored whole. */
const MAX_CHARACTERS = 24;
/** Bytes of the hash of a longer text: long enough that no two texts share one by chance. */
const HASH_BYTES = 12;

/** A text, or for a long one its kind and a hash. */
const short = (text: string): string =>
  text.length <= MAX_CHARACTERS
    ? text
    : `${text.slice(0, 1)}~${sha256(utf8Bytes(text)).subarray(0, HASH_BYTES).toBase64()}`;

/** Maximum number of characters of a path that is stored whole. */
const MAX_PATH = 64;

/** The key of a path. */
export const pathKey = (path: string): string => (path.length <= MAX_PATH ? path : short(path));

function wholeKey(field: ClarityField): string {
  switch (field.type) {
    case 'int':
    case 'uint':
      return `n${sortable(String(field.value))}`;
    case 'bool':
      return field.value ? 't' : 'f';
    case 'none':
      return '0';
    case 'principal':
      return `p${field.value}`;
    case 'string-ascii':
    case 'string-utf8':
      return `s${field.value}`;
    case 'buffer':
    case 'list':
      return `x${field.bytes.toHex()}`;
  }
}

/** The key of a field. Keys of integers are never hashed, since they are ordered. */
export const valueKey = (field: ClarityField): string =>
  field.type === 'int' || field.type === 'uint' ? wholeKey(field) : short(wholeKey(field));

/** A range that includes the keys of all fields that meet a condition. */
export interface KeyRange {
  low: string;
  high: string;
}

function keyOfForm(form: Uint8Array): string {
  const field = unwrap(decodedOrThrow(decodeClarity(form)));
  if (field.type === 'tuple') throw new Error('a condition compares with no tuple');
  return valueKey(field);
}

function toRange(condition: ValueCondition): KeyRange {
  if (condition.type === 'range') {
    const [low, high] = [condition.least, condition.most].map((bound) => `n${sortable(String(bound))}`);
    return { low: low ?? '', high: high ?? '' };
  }
  // The forms of a literal differ only in their type, which isn't part of the key.
  const key = keyOfForm(condition.forms[0] ?? new Uint8Array(0));
  return { low: key, high: key };
}

/** The range of keys for fields that meet all conditions; empty if `low` is above `high`. */
export function keyRange(conditions: readonly ValueCondition[]): KeyRange {
  const range = { low: '', high: LAST };
  for (const { low, high } of conditions.map(toRange)) {
    if (low > range.low) range.low = low;
    if (high < range.high) range.high = high;
  }
  return range;
}

/** Greater than every key, since keys begin with a letter or a digit. */
const LAST = '~';

/** Columns of transaction_bodies. */
export type CallColumns = Stored<'transaction_bodies', 'function_args' | 'raw'>;

/** The serialized arguments of a call: of an operation made on Bitcoin from their column, of others from the transaction. */
export const callArguments = ({ function_args, raw }: CallColumns): Uint8Array =>
  function_args ?? payloadOf(raw, 'contract_call').functionArgs;
