/**
 * The keys of fields of Clarity values, by which an index is ordered: a letter for the kind, then the value. Keys of integers
 * have the order of the integers, whichever of the two types they are of; the two types of strings have one kind. A long
 * text has a hash for its key. Two values may have one key, so whoever finds a row by it compares the value.
 */
import { decodeClarity } from '../../codec/clarity.ts';
import { type ClarityField, unwrapped } from '../../codec/clarity-fields.ts';
import { sha256 } from '../../codec/hash.ts';
import { payloadOf } from '../../codec/transaction.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import { sortable } from './amounts.ts';
import type { Stored } from './statement.ts';

/** Characters of a text that is kept as it is. */
const MOST_CHARACTERS = 24;
/** Bytes of the hash that stands for a longer one: nobody finds two texts of one such hash by chance. */
const HASH_BYTES = 12;

/** A long text as its kind and a hash. */
const short = (text: string): string =>
  text.length <= MOST_CHARACTERS
    ? text
    : `${text.slice(0, 1)}~${sha256(utf8Bytes(text)).subarray(0, HASH_BYTES).toBase64()}`;

/** Characters of a path that is kept as it is. */
const LONGEST_PATH = 64;

/** A path as the index keeps it. */
export const pathKey = (path: string): string => (path.length <= LONGEST_PATH ? path : short(path));

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

/** The key of a field. Integers are never cut, since they are ordered. */
export const valueKey = (field: ClarityField): string =>
  field.type === 'int' || field.type === 'uint' ? wholeKey(field) : short(wholeKey(field));

/** The keys that all fields have that meet a condition, and others may have. */
export interface KeyRange {
  low: string;
  high: string;
}

/** The key of a serialized value. */
function keyOfForm(form: Uint8Array): string {
  const value = decodeClarity(form);
  if (!value.ok) throw value.error;
  const field = unwrapped(value.value);
  if (field.type === 'tuple') throw new Error('a condition compares with no tuple');
  return valueKey(field);
}

function rangeOf(condition: ValueCondition): KeyRange {
  if (condition.type === 'range') {
    const [low, high] = [condition.least, condition.most].map((bound) => `n${sortable(String(bound))}`);
    return { low: low ?? '', high: high ?? '' };
  }
  // Forms of one literal differ in their type alone, which the key doesn't tell.
  const key = keyOfForm(condition.forms[0] ?? new Uint8Array(0));
  return { low: key, high: key };
}

/** The keys that fields may have that meet all of some conditions; none where the low one is above the high one. */
export function keyRange(conditions: readonly ValueCondition[]): KeyRange {
  const range = { low: '', high: LAST };
  for (const { low, high } of conditions.map(rangeOf)) {
    if (low > range.low) range.low = low;
    if (high < range.high) range.high = high;
  }
  return range;
}

/** A text that is behind every key, since a key begins with a letter or a digit. */
const LAST = '~';

/** Columns of transaction_bodies. */
export type CallColumns = Stored<'transaction_bodies', 'function_args' | 'raw'>;

/** The serialized arguments of a call: an operation made on Bitcoin has them apart, others in the transaction itself. */
export const callArguments = ({ function_args, raw }: CallColumns): Uint8Array =>
  function_args ?? payloadOf(raw, 'contract_call').functionArgs;
