/** Arguments that come from outside: whether they are of the declared types, and their values. */
import type { AbiType } from '../codec/abi.ts';
import type { ClarityValue } from '../codec/clarity.ts';

const codePoints = (text: string): number => [...text].length;

/** Whether a value may be passed where a type is declared. Nothing may be passed for a type that isn't known. */
export function isOfType(value: ClarityValue, type: AbiType): boolean {
  if (typeof type === 'string') return isOfPlainType(value, type);
  if ('buffer' in type) return value.type === 'buffer' && value.value.length <= type.buffer.length;
  if ('string-ascii' in type) return value.type === 'string-ascii' && value.value.length <= type['string-ascii'].length;
  if ('string-utf8' in type)
    return value.type === 'string-utf8' && codePoints(value.value) <= type['string-utf8'].length;
  if ('optional' in type) {
    return value.type === 'none' || (value.type === 'some' && isOfType(value.value, type.optional));
  }
  if ('response' in type) {
    if (value.type === 'ok') return isOfType(value.value, type.response.ok);
    return value.type === 'err' && isOfType(value.value, type.response.error);
  }
  if ('list' in type) {
    const { length, type: item } = type.list;
    return value.type === 'list' && value.value.length <= length && value.value.every((entry) => isOfType(entry, item));
  }
  if (value.type !== 'tuple' || value.value.size !== type.tuple.length) return false;
  return type.tuple.every(({ name, type: field }) => {
    const entry = value.value.get(name);
    return entry !== undefined && isOfType(entry, field);
  });
}

function isOfPlainType(value: ClarityValue, type: Extract<AbiType, string>): boolean {
  switch (type) {
    case 'uint128':
      return value.type === 'uint';
    case 'int128':
      return value.type === 'int';
    case 'bool':
    case 'principal':
    case 'none':
      return value.type === type;
    case 'trait_reference':
      return value.type === 'principal' && value.value.includes('.');
  }
}

const wrongType = (expected: string): TypeError =>
  new TypeError(`an argument is not ${expected}, though it was checked`);

/** The number of an argument that was checked to be a uint. */
export function uintOf(value: ClarityValue | undefined): bigint {
  if (value?.type !== 'uint') throw wrongType('a uint');
  return value.value;
}

/** The text of an argument that was checked to be a principal. */
export function principalOf(value: ClarityValue | undefined): string {
  if (value?.type !== 'principal') throw wrongType('a principal');
  return value.value;
}

/** The bytes of an argument that was checked to be a buffer. */
export function bufferOf(value: ClarityValue | undefined): Uint8Array {
  if (value?.type !== 'buffer') throw wrongType('a buffer');
  return value.value;
}

/** The text of an argument that was checked to be an ASCII string. */
export function textOf(value: ClarityValue | undefined): string {
  if (value?.type !== 'string-ascii') throw wrongType('an ASCII string');
  return value.value;
}

/** What an argument that was checked to be optional holds; undefined for `none`. */
export function someOf(value: ClarityValue | undefined): ClarityValue | undefined {
  if (value?.type === 'none') return undefined;
  if (value?.type !== 'some') throw wrongType('optional');
  return value.value;
}

/** The items of an argument that was checked to be a list. */
export function itemsOf(value: ClarityValue | undefined): readonly ClarityValue[] {
  if (value?.type !== 'list') throw wrongType('a list');
  return value.value;
}

/** A field of a value that was checked to be a tuple. */
export function fieldOf(value: ClarityValue | undefined, name: string): ClarityValue | undefined {
  if (value?.type !== 'tuple') throw wrongType('a tuple');
  return value.value.get(name);
}
