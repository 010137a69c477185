/**
 * Fields of Clarity values as texts that an index is ordered by: a letter for the kind, then the value. Texts of integers
 * have the order of the integers, whichever of the two types they are of; the two types of strings have one kind. Two
 * values may have one key, so whoever finds a row by it compares the value.
 */

import { decodeClarity } from '../../codec/clarity.ts';
import type { ClarityField } from '../../codec/clarity-fields.ts';
import { unwrapped } from '../../codec/clarity-fields.ts';
import { sha256 } from '../../codec/hash.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import type { ValueCondition } from '../../codec/value-condition.ts';
import { sortable } from './amounts.ts';

/** Characters of a text that is kept as it is. */
const MOST_CHARACTERS = 96;
/** Characters that are kept of a longer one, which ends in a hash of the whole: 97 in all, so that no short text is one. */
const KEPT_CHARACTERS = 32;

const short = (text: string): string =>
  text.length <= MOST_CHARACTERS ? text : `${text.slice(0, KEPT_CHARACTERS)}~${sha256(utf8Bytes(text)).toHex()}`;

/** A path as the index keeps it. */
export const pathKey = short;

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

/** The key of a field. */
export const valueKey = (field: ClarityField): string => short(wholeKey(field));

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

/** A text that stands behind every key, since a key begins with a letter or a digit. */
const LAST = '~';
