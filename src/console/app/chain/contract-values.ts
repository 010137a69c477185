/** Queries of a contract: forms and encoding of arguments, and parts of Clarity values as rows and columns. */
import { isObject } from '../../../base/json.ts';
import { type AbiType, abiTypeString } from '../../../codec/abi.ts';
import { canonicalPrincipal } from '../../../codec/address.ts';
import {
  type ClarityValue,
  decodeClarity,
  MAX_INT,
  MAX_UINT,
  MAX_VALUE_SIZE,
  MIN_INT,
} from '../../../codec/clarity.ts';
import { clarity } from '../../../codec/clarity-encode.ts';
import { type ClarityField, type ClarityFields, fieldsOf, unwrap } from '../../../codec/clarity-fields.ts';
import { clarityTypeOf } from '../../../codec/clarity-text.ts';
import { fromHex } from '../../../codec/hex.ts';
import { utf8Bytes } from '../../../codec/utf8.ts';
import { count, plural } from './format.ts';
import type { Mistake } from './hook-definition.ts';

export interface Argument {
  name: string;
  type: AbiType;
}

/** Something that a node reads from a contract without a transaction. */
export interface Readable {
  kind: 'function' | 'variable' | 'map' | 'constant';
  name: string;
  /** Arguments of a function, or the key of a map; null if this program doesn't support a type. */
  args: readonly Argument[] | null;
  /** Type of the result as Clarity text; null if this program doesn't support it. */
  output: string | null;
}

const objectsIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isObject) : []);

const isSize = (value: unknown): boolean => isObject(value) && Number.isSafeInteger(value.length);

/** Reports whether forms support a type in a contract's interface. The interface is untrusted data. */
function isType(type: unknown): type is AbiType {
  if (typeof type === 'string') return abiTypeString(type as AbiType) !== null;
  if (!isObject(type)) return false;
  if ('buffer' in type) return isSize(type.buffer);
  if ('string-ascii' in type) return isSize(type['string-ascii']);
  if ('string-utf8' in type) return isSize(type['string-utf8']);
  if ('optional' in type) return isType(type.optional);
  if ('response' in type) return isObject(type.response) && isType(type.response.ok) && isType(type.response.error);
  if ('list' in type) return isObject(type.list) && isSize(type.list) && isType(type.list.type);
  return Array.isArray(type.tuple) && type.tuple.every(isArgument);
}

const isArgument = (value: unknown): value is Argument =>
  isObject(value) && typeof value.name === 'string' && isType(value.type);

const textOf = (type: unknown): string | null => (isType(type) ? abiTypeString(type) : null);

const argumentsIn = (list: unknown): readonly Argument[] | null =>
  Array.isArray(list) && list.every(isArgument) ? list : null;

/** A function of a contract's interface. */
export type ContractFunction = Omit<Readable, 'kind'>;

const validMembers = <T extends { name: unknown; output: unknown }>(members: readonly T[]) =>
  members.flatMap(({ name, output, ...rest }) =>
    typeof name === 'string' ? [{ ...rest, name, output: textOf(output) }] : [],
  );

/** Returns the functions with an access in the node's JSON. Members of another form are left out. */
export const functionsOf = (contractInterface: unknown, access: 'public' | 'read_only'): ContractFunction[] =>
  validMembers(
    objectsIn(isObject(contractInterface) ? contractInterface.functions : null)
      .filter((member) => member.access === access)
      .map(({ name, args, outputs }) => ({
        name,
        args: argumentsIn(args),
        output: isObject(outputs) ? outputs.type : null,
      })),
  );

const KEY = 'key';

/** Returns everything that can be read, from the node's JSON. Members of another form are left out. */
export function readables(contractInterface: unknown): Readable[] {
  const { variables, maps } = isObject(contractInterface) ? contractInterface : {};
  return [
    ...functionsOf(contractInterface, 'read_only').map((member) => ({ kind: 'function' as const, ...member })),
    ...validMembers([
      ...objectsIn(variables).map(({ access, name, type }) => ({
        kind: access === 'constant' ? ('constant' as const) : ('variable' as const),
        name,
        args: [],
        output: type,
      })),
      ...objectsIn(maps).map(({ name, key, value }) => ({
        kind: 'map' as const,
        name,
        args: isType(key) ? [{ name: KEY, type: key }] : null,
        output: isType(value) ? { optional: value } : null,
      })),
    ]),
  ];
}

/** The user's input, by the path of the field. */
export type Draft = ReadonlyMap<string, string>;

/** A field in the form of an argument: a choice, the number of items of a list, or otherwise a text. */
export interface Field {
  /** Names of the argument and of tuple entries, indexes of items, `some`, `ok` and `err`, joined by dots. */
  path: string;
  /** The accepted input, in words. */
  help: string;
  /** The words of a choice. */
  choices?: readonly string[];
  /** Maximum number of items of a list. */
  maxItems?: number;
}

/** Maximum items of a list in a form. Use a program for longer lists. */
const MAX_ITEMS = 200;

const BOOLS = ['true', 'false'];
const OPTIONS = ['none', 'some'];
const SIDES = ['ok', 'err'];

/** Returns the choice in a draft: the user's choice, or the first. */
const draftChoice = (draft: Draft, path: string, choices: readonly string[]): string =>
  choices.find((choice) => choice === draft.get(path)) ?? choices[0] ?? '';

const HELP = {
  uint128: 'uint: a whole number from 0 on',
  int128: 'int: a whole number',
  principal: 'principal: an address, or a contract as ADDRESS.name',
  trait_reference: 'trait: a contract as ADDRESS.name',
};

function helpOf(type: AbiType): string {
  if (typeof type === 'string') return type in HELP ? HELP[type as keyof typeof HELP] : '';
  if ('buffer' in type) return `buff: hex after 0x, or text; at most ${plural(type.buffer.length, 'byte')}`;
  if ('string-ascii' in type) return `string-ascii: at most ${plural(type['string-ascii'].length, 'character')}`;
  if ('string-utf8' in type) return `string-utf8: at most ${plural(type['string-utf8'].length, 'character')}`;
  return '';
}

const INTEGERS = {
  uint128: { form: /^u?[0-9]+$/, min: 0n, max: MAX_UINT, encode: clarity.uint },
  int128: { form: /^[+-]?[0-9]+$/, min: MIN_INT, max: MAX_INT, encode: clarity.int },
};

/** Maximum digits of an integer. A longer text isn't read as a number. */
const MAX_DIGITS = 60;

/** Returns the bytes of a buffer's field: hex after 0x, or the text as UTF-8; null if the hex is invalid. */
function parseBuffer(text: string): Uint8Array | null {
  if (!text.startsWith('0x')) return utf8Bytes(text);
  return /^0x([0-9a-fA-F]{2})*$/.test(text) ? fromHex(text) : null;
}

/** ASCII characters that Clarity accepts in a string: printable characters and white space. */
const ASCII = /^[\t-\r -~]*$/;

/** Returns the serialized value of a text field. @returns a text if the input is invalid */
function encodeInput(type: AbiType, text: string): Uint8Array | string {
  if (type === 'uint128' || type === 'int128') {
    const { form, min, max, encode } = INTEGERS[type];
    const digits = text.trim();
    const value = form.test(digits) && digits.length <= MAX_DIGITS ? BigInt(digits.replace(/^[u+]/, '')) : null;
    return value === null || value < min || value > max
      ? `must be a whole number from ${min === 0n ? '0' : '−2^127'} to ${min === 0n ? '2^128' : '2^127'} − 1`
      : encode(value);
  }
  if (type === 'principal' || type === 'trait_reference') {
    const principal = canonicalPrincipal(text.trim());
    if (type === 'trait_reference' && !text.includes('.')) return 'must be a contract: ADDRESS.name';
    return principal === null
      ? 'must be an address, or a contract as ADDRESS.name; here a character is wrong or missing'
      : clarity.principal(principal);
  }
  if (typeof type === 'string') return `has the type ${type}, which this form doesn’t support`;
  if ('buffer' in type) {
    const bytes = parseBuffer(text);
    if (bytes === null) return 'must have hex digits in pairs after 0x';
    return lengthMistake(bytes.length, type.buffer.length, 'byte') ?? clarity.buffer(bytes);
  }
  if ('string-ascii' in type) {
    if (!ASCII.test(text)) return 'must have ASCII characters only';
    return lengthMistake(text.length, type['string-ascii'].length, 'character') ?? clarity.ascii(text);
  }
  if ('string-utf8' in type) {
    if (!text.isWellFormed()) return 'must not have half a character';
    const bytes = utf8Bytes(text);
    return (
      lengthMistake([...text].length, type['string-utf8'].length, 'character') ??
      lengthMistake(bytes.length, MAX_VALUE_SIZE, 'byte') ??
      clarity.utf8(text)
    );
  }
  throw new TypeError("a nested type can't be a field");
}

const lengthMistake = (length: number, limit: number, unit: string): string | null =>
  length > Math.min(limit, MAX_VALUE_SIZE) ? `has ${plural(length, unit)}, and at most ${count(limit)} fit` : null;

/** The form of an argument: its fields, with those of its parts, and its serialized value or all mistakes of its draft. */
interface ArgumentForm {
  fields: readonly Field[];
  /** The serialized value; null if there are mistakes. */
  value: Uint8Array | null;
  mistakes: readonly Mistake[];
}

/** Returns the form of a value with parts. @param encode serializes the value from those of its parts */
function joinForms(
  fields: readonly Field[],
  parts: readonly ArgumentForm[],
  encode: (values: Uint8Array[]) => Uint8Array,
): ArgumentForm {
  const values = parts.flatMap(({ value }) => value ?? []);
  return {
    fields: [...fields, ...parts.flatMap((part) => part.fields)],
    value: values.length < parts.length ? null : encode(values),
    mistakes: parts.flatMap(({ mistakes }) => mistakes),
  };
}

function buildForm({ name: path, type }: Argument, draft: Draft): ArgumentForm {
  const inner = (name: string | number, type: AbiType) => buildForm({ name: `${path}.${name}`, type }, draft);
  if (type === 'none') return joinForms([], [], clarity.none);
  if (type === 'bool') {
    const isTrue = draftChoice(draft, path, BOOLS) === 'true';
    return joinForms([{ path, help: 'bool', choices: BOOLS }], [], () => clarity.bool(isTrue));
  }
  if (typeof type === 'object' && 'optional' in type) {
    const choice = { path, help: 'optional', choices: OPTIONS };
    if (draftChoice(draft, path, OPTIONS) === 'none') return joinForms([choice], [], clarity.none);
    return joinForms([choice], [inner('some', type.optional)], ([value]) => clarity.some(value!));
  }
  if (typeof type === 'object' && 'response' in type) {
    const isOk = draftChoice(draft, path, SIDES) === 'ok';
    const side = isOk ? inner('ok', type.response.ok) : inner('err', type.response.error);
    const encode = isOk ? clarity.ok : clarity.err;
    return joinForms([{ path, help: 'response', choices: SIDES }], [side], ([value]) => encode(value!));
  }
  if (typeof type === 'object' && 'list' in type) {
    const maxItems = Math.min(type.list.length, MAX_ITEMS);
    const field = { path, help: `list: the number of its items, at most ${count(maxItems)}`, maxItems };
    const text = draft.get(path) ?? '0';
    const length = Number(text);
    if (!Number.isInteger(length) || length < 0 || length > maxItems || String(length) !== text) {
      const message = `must be a number of items from 0 to ${count(maxItems)}`;
      return { fields: [field], value: null, mistakes: [{ path, message }] };
    }
    const items = Array.from({ length }, (_, index) => inner(index, type.list.type));
    return joinForms([field], items, clarity.list);
  }
  if (typeof type === 'object' && 'tuple' in type) {
    const entries = type.tuple.map((entry) => inner(entry.name, entry.type));
    // Built from entries, so that a key such as `__proto__` isn't special.
    return joinForms([], entries, (values) =>
      clarity.tuple(Object.fromEntries(type.tuple.map(({ name }, index) => [name, values[index]!]))),
    );
  }
  const value = encodeInput(type, draft.get(path) ?? '');
  const fields = [{ path, help: helpOf(type) }];
  return typeof value === 'string'
    ? { fields, value: null, mistakes: [{ path, message: value }] }
    : { fields, value, mistakes: [] };
}

/** Returns the fields of arguments that their draft needs, with those of their parts. */
export const formFields = (args: readonly Argument[], draft: Draft): Field[] =>
  args.flatMap((arg) => buildForm(arg, draft).fields);

/** Returns the serialized arguments of a call, or all mistakes in its form. */
export function encodeArguments(
  args: readonly Argument[],
  draft: Draft,
): { values: readonly Uint8Array[]; mistakes: readonly Mistake[] } {
  const forms = args.map((arg) => buildForm(arg, draft));
  const mistakes = forms.flatMap((form) => form.mistakes);
  return { values: mistakes.length > 0 ? [] : forms.flatMap(({ value }) => value ?? []), mistakes };
}

/** Decodes a serialized value in hex; returns null if it is invalid. */
export function decodeHex(hex: string): ClarityValue | null {
  if (!/^(0x)?([0-9a-fA-F]{2})*$/.test(hex)) return null;
  const value = decodeClarity(fromHex(hex));
  return value.ok ? value.value : null;
}

/** A part of a value that has no parts, or is an empty list. */
export interface Leaf {
  /** Names of tuple entries and indexes of items, joined by dots; empty for the whole value. */
  path: string;
  /** Type of the part, after the types that contain it: `some uint`. */
  type: string;
  value: ClarityField;
}

const joinPath = (path: string, part: string | number): string => (path === '' ? String(part) : `${path}.${part}`);

/** Generates the parts of a value on demand. @param containers the types that contain the value, outermost first */
export function* leavesOf(value: ClarityValue, path = '', containers: readonly string[] = []): Generator<Leaf, void> {
  const partPath = (part: string | number): string => joinPath([...containers].reduce(joinPath, path), part);
  switch (value.type) {
    case 'some':
    case 'ok':
    case 'err':
      yield* leavesOf(value.value, path, [...containers, value.type]);
      return;
    case 'tuple':
      for (const [name, entry] of value.value) yield* leavesOf(entry, partPath(name));
      return;
    case 'list':
      if (value.value.length === 0) break;
      for (const [index, item] of value.value.entries()) yield* leavesOf(item, partPath(index));
      return;
  }
  const type = value.type === 'none' ? 'optional' : value.type === 'list' ? 'list' : clarityTypeOf(value);
  yield { path, type: [...containers, type].join(' '), value };
}

/** Names of fields that describe the event. Their columns come first. */
const LEADING = ['topic', 'event', 'notification', 'action', 'op', 'type', 'name'];

/** Maximum number of columns. Other fields are shown on request. */
const MAX_COLUMNS = 4;

/** Returns the fields of a log, also of a tuple inside `ok`, `err` and `some`; null if the log isn't a tuple. */
export function logFields(hex: string): ClarityFields | null {
  const value = decodeHex(hex);
  return value !== null && unwrap(value).type === 'tuple' ? fieldsOf(value.bytes) : null;
}

/** Returns the rank of a column: first the fields that describe the event, then the others; outer fields come first. */
function rank(path: string): number {
  const names = path.split('.');
  const position = LEADING.indexOf(names.at(-1) ?? '');
  return position < 0 ? 1_000_000 + names.length : position + names.length * LEADING.length;
}

const isInteger = ({ type }: ClarityField): boolean => type === 'uint' || type === 'int';

/**
 * Returns the columns of logs: fields that at least half of the tuples have, without lists, and one with an empty path
 * for logs that aren't tuples.
 */
export function logColumns(logs: readonly (ClarityFields | null)[]) {
  const tuples = logs.filter((fields) => fields !== null);
  const groups = Map.groupBy(
    tuples.flatMap((fields) => [...fields]),
    ([path]) => path,
  );
  const common = [...groups]
    .map(([path, entries]) => ({ path, fields: entries.map(([, field]) => field) }))
    .filter(({ fields }) => fields.length * 2 >= tuples.length && fields.every(({ type }) => type !== 'list'))
    .sort((a, b) => rank(a.path) - rank(b.path) || b.fields.length - a.fields.length)
    .slice(0, MAX_COLUMNS);
  const columns = common.map(({ path, fields }) => ({
    path,
    isNumber: fields.some(isInteger) && fields.every((field) => isInteger(field) || field.type === 'none'),
  }));
  return tuples.length < logs.length ? [...columns, { path: '', isNumber: false }] : columns;
}
