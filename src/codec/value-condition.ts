/**
 * The grammar of conditions on Clarity values, which filters of chainhooks and queries share:
 *
 *     condition = literal | operator ":" literal | "between:" literal "," literal
 *     operator  = "eq" | "gt" | "gte" | "lt" | "lte"
 *     literal   = digits, signed or not, for an integer of either type | "u" digits for an unsigned one
 *               | "0x" and the hex of a serialized value | "true" | "false" | "none" | a principal, with or without '
 *               | a text in double quotes | any other text, for a string of either type
 *
 * Operators other than `eq` compare integers.
 */
import { bytesEqual } from '../base/bytes-equal.ts';
import { canonicalPrincipal } from './address.ts';
import { decodeClarity, MAX_INT, MAX_UINT, MIN_INT } from './clarity.ts';
import { clarity } from './clarity-encode.ts';
import { type ClarityField, unwrap } from './clarity-fields.ts';
import { fromHex } from './hex.ts';

type IntegerType = 'int' | 'uint';

interface IntegerLiteral {
  integer: bigint;
  types: readonly IntegerType[];
}

/** A parsed literal: an integer, or the serialized values that it can stand for. */
export type Literal = IntegerLiteral | { forms: readonly Uint8Array[] };

/** A parsed condition: an integer within inclusive bounds, or one of several serialized values. */
export type ValueCondition =
  | { type: 'range'; least: bigint; most: bigint; types: readonly IntegerType[] }
  | { type: 'one'; forms: readonly Uint8Array[] };

/** Thrown if a text isn't a condition. The message is the broken rule and follows the name of a field or parameter. */
export class ConditionError extends Error {
  override readonly name = 'ConditionError';
  constructor(readonly rule: string) {
    super(rule);
  }
}

const BOTH: readonly IntegerType[] = ['int', 'uint'];
const MIN_INTEGER: Readonly<Record<IntegerType, bigint>> = { int: MIN_INT, uint: 0n };
const MAX_INTEGER: Readonly<Record<IntegerType, bigint>> = { int: MAX_INT, uint: MAX_UINT };

const isOf = (type: IntegerType, integer: bigint): boolean =>
  integer >= MIN_INTEGER[type] && integer <= MAX_INTEGER[type];

/** More digits can't be a 128-bit integer. The limit bounds the work of parsing. */
const INTEGER = /^(u[0-9]{1,60}|-?[0-9]{1,60})$/;
const DIGITS = /^(u|-?)[0-9]+$/;
const PRINCIPAL = /^'?S[A-Z][0-9A-Z]{26,39}(\..*)?$/;

/** Parses a literal. @throws ConditionError */
export function literalOf(text: string): Literal {
  if (INTEGER.test(text)) {
    return text.startsWith('u')
      ? { integer: BigInt(text.slice(1)), types: ['uint'] }
      : { integer: BigInt(text), types: BOTH };
  }
  if (DIGITS.test(text)) throw new ConditionError(NOT_128_BITS);
  if (text.startsWith('0x')) return { forms: [parseSerialized(text)] };
  if (text === 'true' || text === 'false') return { forms: [clarity.bool(text === 'true')] };
  if (text === 'none') return { forms: [clarity.none()] };
  if (text.startsWith("'") || PRINCIPAL.test(text)) return { forms: [parsePrincipal(text)] };
  const quotedText = /^"(.*)"$/s.exec(text)?.[1];
  return { forms: stringForms(quotedText ?? text) };
}

export const NOT_128_BITS = 'must be an integer that fits into 128 bits';

function parseSerialized(text: string): Uint8Array {
  if (/^0x([0-9a-fA-F]{2})+$/.test(text)) return fromHex(text);
  throw new ConditionError('must have the hex digits of a serialized Clarity value after 0x');
}

function parsePrincipal(text: string): Uint8Array {
  const canonical = canonicalPrincipal(text.replace(/^'/, ''));
  if (canonical === null) {
    throw new ConditionError('must be a principal with a correct checksum; put quotes around it to look for a string');
  }
  return clarity.principal(canonical);
}

/** Returns the serialized forms of a string: as string-ascii and string-utf8, or string-utf8 only. */
function stringForms(text: string): Uint8Array[] {
  const utf8 = clarity.utf8(text);
  return /^\p{ASCII}*$/u.test(text) ? [clarity.ascii(text), utf8] : [utf8];
}

/** Returns the serialized values that a literal can stand for; empty for an integer above 128 bits. */
export function serializedForms(literal: Literal): readonly Uint8Array[] {
  if ('forms' in literal) return literal.forms;
  const { integer, types } = literal;
  return types.filter((type) => isOf(type, integer)).map((type) => clarity[type](integer));
}

/** Parses an integer after an operator. @throws ConditionError */
function integerOf(text: string, operator: string): IntegerLiteral {
  const literal = literalOf(text);
  if (!('integer' in literal)) throw new ConditionError(`must have an integer after ${operator}:`);
  if (!literal.types.some((type) => isOf(type, literal.integer))) throw new ConditionError(NOT_128_BITS);
  return literal;
}

/** Makes a condition from inclusive bounds. @throws ConditionError if no integer is between them */
function range(min: bigint, max: bigint, types: readonly IntegerType[]): ValueCondition {
  if (min > max) throw new ConditionError('must leave at least one integer between its bounds');
  return { type: 'range', least: min, most: max, types };
}

/** Unwraps a serialized value, because fields are compared without `some`, `ok` and `err`. */
function unwrapForm(form: Uint8Array): Uint8Array {
  const value = decodeClarity(form);
  if (!value.ok || value.value.bytes.length !== form.length) {
    throw new ConditionError('must have the hex digits of a serialized Clarity value after 0x');
  }
  const inner = unwrap(value.value);
  if (inner.type === 'tuple') throw new ConditionError('must not be a tuple: name the fields of the tuple');
  return inner.bytes;
}

function equal(literal: Literal): ValueCondition {
  if ('forms' in literal) return { type: 'one', forms: literal.forms.map(unwrapForm) };
  const { integer, types } = literal;
  if (!types.some((type) => isOf(type, integer))) throw new ConditionError(NOT_128_BITS);
  return { type: 'range', least: integer, most: integer, types };
}

function between(text: string): ValueCondition {
  const ends = text.split(',');
  const [first, second] = ends;
  if (first === undefined || second === undefined || ends.length > 2) {
    throw new ConditionError('must have two integers after between:, separated by a comma');
  }
  const [low, high] = [integerOf(first, 'between'), integerOf(second, 'between')];
  const types = low.types.filter((type) => high.types.includes(type));
  return range(low.integer, high.integer, types);
}

/** Parses a condition. @throws ConditionError */
export function conditionOf(text: string): ValueCondition {
  const [, operator, operand] = /^(eq|gt|gte|lt|lte|between):(.*)$/s.exec(text) ?? [];
  if (operator === undefined || operand === undefined) return equal(literalOf(text));
  if (operator === 'eq') return equal(literalOf(operand));
  if (operator === 'between') return between(operand);
  const { integer, types } = integerOf(operand, operator);
  const isUnsigned = types.length === 1;
  const [lowest, highest] = [isUnsigned ? MIN_INTEGER.uint : MIN_INTEGER.int, MAX_INTEGER.uint];
  switch (operator) {
    case 'gt':
      return range(integer + 1n, highest, types);
    case 'gte':
      return range(integer, highest, types);
    case 'lt':
      return range(lowest, integer - 1n, types);
    default:
      return range(lowest, integer, types);
  }
}

/** Reports whether a field meets a condition. */
export function meets(field: ClarityField, condition: ValueCondition): boolean {
  if (condition.type === 'one') return condition.forms.some((form) => bytesEqual(form, field.bytes));
  if (field.type !== 'int' && field.type !== 'uint') return false;
  const { least, most, types } = condition;
  return types.includes(field.type) && field.value >= least && field.value <= most;
}
