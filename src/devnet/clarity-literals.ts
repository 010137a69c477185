/** Values and types that stand in a Clarity source as such. */
import type { AbiType } from '../codec/abi.ts';
import { principalBytes } from '../codec/address.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { atomOf, type Form, fieldsOf, listOf, SourceError } from './clarity-forms.ts';

const plainTypes: Readonly<Record<string, AbiType>> = {
  uint: 'uint128',
  int: 'int128',
  bool: 'bool',
  principal: 'principal',
};

const MAX_LENGTH = 1_048_576;

function lengthOf(form: Form | undefined): number {
  const text = atomOf(form) ?? '';
  const length = Number(text);
  if (!/^\d+$/.test(text) || length > MAX_LENGTH) throw new SourceError(':0:0: created a type which was invalid');
  return length;
}

/** The type that a form states. @throws SourceError where it is none */
export function typeOf(form: Form | undefined): AbiType {
  const plain = atomOf(form);
  if (plain !== undefined) {
    if (Object.hasOwn(plainTypes, plain)) return plainTypes[plain]!;
    if (/^<.+>$/.test(plain)) return 'trait_reference';
    throw new SourceError(`:0:0: invalid type description: ${plain}`);
  }
  const fields = fieldsOf(form);
  if (fields !== undefined) return { tuple: fields.map(([name, type]) => ({ name, type: typeOf(type) })) };
  const [head, first, second] = listOf(form) ?? [];
  switch (atomOf(head)) {
    case 'buff':
      return { buffer: { length: lengthOf(first) } };
    case 'string-ascii':
      return { 'string-ascii': { length: lengthOf(first) } };
    case 'string-utf8':
      return { 'string-utf8': { length: lengthOf(first) } };
    case 'optional':
      return { optional: typeOf(first) };
    case 'response':
      return { response: { ok: typeOf(first), error: typeOf(second) } };
    case 'list':
      return { list: { type: typeOf(second), length: lengthOf(first) } };
    case 'tuple':
      return { tuple: pairsOf(form).map(([name, type]) => ({ name, type: typeOf(type) })) };
    default:
      throw new SourceError(':0:0: invalid type description');
  }
}

/** The pairs of `(tuple (name form) …)`. @throws SourceError */
function pairsOf(form: Form | undefined): [name: string, value: Form][] {
  return (listOf(form) ?? []).slice(1).map((pair) => {
    const [name, value] = listOf(pair) ?? [];
    if (atomOf(name) === undefined || value === undefined) throw new SourceError(':0:0: invalid tuple');
    return [atomOf(name)!, value];
  });
}

/** A value that is written out, with its type. */
export interface Literal {
  /** Serialized. */
  readonly value: Uint8Array;
  readonly type: AbiType;
}

/**
 * The value of a literal. @param sender the deployer, of whom `.name` is a contract
 * @returns null for an expression that only execution could tell
 */
export function literalOf(form: Form | undefined, sender: string): Literal | null {
  if (form?.kind === 'atom') return atomValue(form.text, sender);
  // Escapes of Clarity are not those of JSON, so strings that have any are left to execution.
  if (form?.kind === 'string') return form.text.includes('\\') ? null : stringValue(form.text, form.isUtf8);
  const [head, inner] = listOf(form) ?? [];
  const wrap = atomOf(head);
  if (listOf(form)?.length !== 2 || (wrap !== 'ok' && wrap !== 'err' && wrap !== 'some')) return null;
  const held = literalOf(inner, sender);
  if (held === null) return null;
  const value = clarity[wrap](held.value);
  if (wrap === 'some') return { value, type: { optional: held.type } };
  const [ok, error] = wrap === 'ok' ? [held.type, 'none' as const] : ['none' as const, held.type];
  return { value, type: { response: { ok, error } } };
}

function stringValue(text: string, isUtf8: boolean): Literal | null {
  if (isUtf8) return { value: clarity.utf8(text), type: { 'string-utf8': { length: [...text].length } } };
  const isAscii = /^[\x20-\x7e]*$/.test(text);
  return isAscii ? { value: clarity.ascii(text), type: { 'string-ascii': { length: text.length } } } : null;
}

const MAX_UINT = 2n ** 128n - 1n;
const MAX_INT = 2n ** 127n - 1n;

function atomValue(text: string, sender: string): Literal | null {
  if (text === 'true' || text === 'false') return { value: clarity.bool(text === 'true'), type: 'bool' };
  if (text === 'none') return { value: clarity.none(), type: { optional: 'none' } };
  if (/^u\d+$/.test(text)) {
    const number = BigInt(text.slice(1));
    return number > MAX_UINT ? null : { value: clarity.uint(number), type: 'uint128' };
  }
  if (/^-?\d+$/.test(text)) {
    const number = BigInt(text);
    return number > MAX_INT || number < -MAX_INT - 1n ? null : { value: clarity.int(number), type: 'int128' };
  }
  if (/^0x([0-9a-f]{2})*$/i.test(text)) {
    const bytes = Uint8Array.fromHex(text.slice(2));
    return { value: clarity.buffer(bytes), type: { buffer: { length: bytes.length } } };
  }
  const principal = text.startsWith("'") ? text.slice(1) : text.startsWith('.') ? `${sender}${text}` : '';
  return principal === '' || principalBytes(principal) === null
    ? null
    : { value: clarity.principal(principal), type: 'principal' };
}
