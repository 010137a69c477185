import { memoizeByObject } from '../base/cache.ts';
import { parsedJson } from '../base/json.ts';
import { decodeArguments, decodeClarity } from './clarity.ts';
import { clarityRepr, clarityTypeOf, UNKNOWN_TYPE } from './clarity-text.ts';
import { toHex } from './hex.ts';

/** A type in a contract interface, as in the node's JSON. Newer nodes may send more types. */
export type AbiType =
  | 'uint128'
  | 'int128'
  | 'bool'
  | 'principal'
  | 'trait_reference'
  | 'none'
  | { buffer: { length: number } }
  | { 'string-ascii': { length: number } }
  | { 'string-utf8': { length: number } }
  | { optional: AbiType }
  | { response: { ok: AbiType; error: AbiType } }
  | { list: { type: AbiType; length: number } }
  | { tuple: { name: string; type: AbiType }[] };

export interface AbiFunction {
  name: string;
  access: 'public' | 'private' | 'read_only';
  args: { name: string; type: AbiType }[];
}

/** An argument of a contract call as the API shows it. */
export interface TypedArgument {
  hex: string;
  repr: string;
  /** Empty if the interface doesn't name the argument. */
  name: string;
  /** The declared type, or the value's type if none is declared. */
  type: string;
}

/**
 * Returns the text of a declared type with the declared sizes: `(list 3 (tuple (to principal) (amount uint)))`. An
 * empty tuple is `(tuple )`, with a blank that the text of a value doesn't have.
 *
 * Returns null if the type, or a type inside it, isn't known or has another form: contract interfaces are untrusted data.
 */
export function abiTypeString(type: AbiType): string | null {
  if (typeof type === 'string') return abiWord(type);
  if (typeof type !== 'object' || type === null) return null;
  if ('buffer' in type) return sizedType('buff', type.buffer);
  if ('string-ascii' in type) return sizedType('string-ascii', type['string-ascii']);
  if ('string-utf8' in type) return sizedType('string-utf8', type['string-utf8']);
  if ('optional' in type) {
    const content = abiTypeString(type.optional);
    return content === null ? null : `(optional ${content})`;
  }
  if ('response' in type) {
    if (!isRecord(type.response)) return null;
    const ok = abiTypeString(type.response.ok);
    const error = abiTypeString(type.response.error);
    return ok === null || error === null ? null : `(response ${ok} ${error})`;
  }
  if ('list' in type) {
    if (!isRecord(type.list) || typeof type.list.length !== 'number') return null;
    const item = abiTypeString(type.list.type);
    return item === null ? null : `(list ${type.list.length} ${item})`;
  }
  if ('tuple' in type) {
    if (!Array.isArray(type.tuple) || !type.tuple.every((entry) => isRecord(entry) && typeof entry.name === 'string'))
      return null;
    const entries = type.tuple.map(({ name, type: entry }) => ({ name, text: abiTypeString(entry) }));
    if (entries.some(({ text }) => text === null)) return null;
    return `(tuple ${entries.map(({ name, text }) => `(${name} ${text})`).join(' ')})`;
  }
  return null;
}

const sizedType = (word: string, size: unknown): string | null =>
  isRecord(size) && typeof size.length === 'number' ? `(${word} ${size.length})` : null;

function abiWord(word: string): string | null {
  switch (word) {
    case 'uint128':
      return 'uint';
    case 'int128':
      return 'int';
    case 'bool':
    case 'principal':
    case 'trait_reference':
    case 'none':
      return word;
    default:
      return null;
  }
}

/** The types of a function's arguments, null for unknown types. A declaration stays in memory while many calls use it. */
const argumentTypes = memoizeByObject(({ args }: AbiFunction) => args.map(({ type }) => abiTypeString(type)));

/**
 * Returns the head of a function as in Clarity source: `(define-public (transfer (to principal)))`. If there are no
 * arguments, there is a blank before the bracket: `(define-public (tick ))`.
 */
export const functionSignature = memoizeByObject((declared: AbiFunction): string => {
  const { name, access, args } = declared;
  const types = argumentTypes(declared);
  const list = args.map((arg, index) => `(${arg.name} ${types[index] ?? UNKNOWN_TYPE})`).join(' ');
  return `(define-${access.replace('_', '-')} (${name} ${list}))`;
});

/**
 * Returns the arguments of a contract call. Names and types come from the function's declaration, if there is one.
 *
 * If the bytes aren't a list of arguments, returns one argument with the hex as its text. For no bytes, returns an
 * empty list.
 */
export function typedArguments(span: Uint8Array, declared: AbiFunction | undefined): TypedArgument[] {
  if (span.length === 0) return [];
  const spans = decodeArguments(span);
  if (!spans.ok) {
    const hex = toHex(span);
    return [{ hex, repr: hex, name: '', type: UNKNOWN_TYPE }];
  }
  const types = declared === undefined ? [] : argumentTypes(declared);
  return spans.value.map((bytes, index) => ({
    hex: toHex(bytes),
    repr: clarityRepr(bytes),
    name: declared?.args[index]?.name ?? '',
    type: types[index] ?? typeOfBytes(bytes),
  }));
}

function typeOfBytes(bytes: Uint8Array): string {
  const value = decodeClarity(bytes);
  return value.ok ? clarityTypeOf(value.value) : UNKNOWN_TYPE;
}

/**
 * Returns the functions that a contract's interface declares, by name.
 *
 * @param json the node's `contract_interface`: untrusted data, in which functions of another form are omitted
 */
export function contractFunctions(json: string): Map<string, AbiFunction> {
  const abi = parsedJson(json);
  const list = isRecord(abi) && Array.isArray(abi.functions) ? abi.functions : [];
  return new Map(list.filter(isFunction).map((declaration) => [declaration.name, declaration]));
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isFunction = (value: unknown): value is AbiFunction =>
  isRecord(value) &&
  typeof value.name === 'string' &&
  typeof value.access === 'string' &&
  Array.isArray(value.args) &&
  value.args.every((arg) => isRecord(arg) && typeof arg.name === 'string' && 'type' in arg);

/** A function that a trait requires; a missing member requires nothing. */
export interface TraitFunction {
  name?: unknown;
  access?: unknown;
  args?: unknown[];
  outputs?: unknown;
}

/**
 * Returns the functions of a trait's interface, with the types of their arguments but not the names.
 * @returns null unless it is an object with a list of functions, each with a list of arguments
 */
export function traitFunctions(trait: unknown): TraitFunction[] | null {
  if (!isRecord(trait) || !Array.isArray(trait.functions)) return null;
  const functions: TraitFunction[] = [];
  for (const declaration of trait.functions) {
    if (!isRecord(declaration) || !Array.isArray(declaration.args)) return null;
    const { name, access, outputs } = declaration;
    const args = declaration.args.map((arg) => (isRecord(arg) ? { type: arg.type } : arg));
    // Compares the name first, because most functions differ in the name.
    functions.push({
      ...(name === undefined ? {} : { name }),
      ...(access === undefined ? {} : { access }),
      args,
      ...(outputs === undefined ? {} : { outputs }),
    });
  }
  return functions;
}

/**
 * Reports whether a value contains another: an object must contain each member, and a list each item in any order.
 * Other values must be equal.
 */
function contains(value: unknown, expected: unknown): boolean {
  if (Array.isArray(expected)) {
    return Array.isArray(value) && expected.every((item) => value.some((member) => contains(member, item)));
  }
  if (isRecord(expected)) {
    if (!isRecord(value) || Array.isArray(value)) return false;
    return Object.entries(expected).every(([name, member]) => name in value && contains(value[name], member));
  }
  return value === expected;
}

/** Reports whether the contract's interface declares each function of the trait. */
export function implementsTrait(contractInterface: unknown, functions: readonly TraitFunction[]): boolean {
  const declaredFunctions = isRecord(contractInterface) ? contractInterface.functions : undefined;
  return contains(Array.isArray(declaredFunctions) ? declaredFunctions : [], functions);
}
