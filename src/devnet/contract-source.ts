/** Contracts that users deploy: their interface, read from the source without executing it. */
import type { AbiType } from '../codec/abi.ts';
import { principalBytes } from '../codec/address.ts';
import { MAX_INT, MAX_UINT, MIN_INT } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { strictText } from '../codec/utf8.ts';
import { type ContractInterface, type ContractTemplate, contractInterface } from './contract.ts';
import { atomOf, type Form, listOf, parseFields, readForms, SourceError } from './source-forms.ts';

interface ParsedSource {
  readonly template: ContractTemplate;
  /** The error of an invalid source; null if the source is valid. */
  readonly flaw: string | null;
  /** A top-level expression, which a deployment would execute; null if there is none. */
  readonly executed: string | null;
}

/** Forms that declare something private, and execute nothing. */
const silentForms = new Set(['define-private', 'define-trait', 'impl-trait', 'use-trait']);

type Draft = { -readonly [K in keyof ContractInterface]: ContractInterface[K] } & {
  readonly constants: Record<string, Uint8Array>;
  readonly values: Record<string, Uint8Array>;
};

/** Placeholder type: a public function returns a response, and only an analysis could find its types. */
const unknownResponse: AbiType = { response: { ok: 'none', error: 'none' } };

function parseName(form: Form | undefined): string {
  const name = atomOf(form);
  if (name === undefined || !/^[a-zA-Z][\w!?+<>=/*-]*$|^[-+=/*<>]=?$/.test(name)) {
    throw new SourceError(':0:0: expected a name');
  }
  return name;
}

function addFunction(draft: Draft, form: Form | undefined, access: ContractInterface['functions'][number]['access']) {
  const [name, ...parameters] = listOf(form) ?? [];
  const args = parameters.map((parameter) => {
    const [argument, type] = listOf(parameter) ?? [];
    return { name: parseName(argument), type: parseType(type) };
  });
  draft.functions.push({
    access,
    args,
    name: parseName(name),
    outputs: { type: access === 'public' ? unknownResponse : 'none' },
  });
}

/** Adds a define form to the interface, by the form's name. @throws SourceError */
const definitions: Readonly<Record<string, (draft: Draft, rest: readonly Form[], sender: string) => void>> = {
  'define-public': (draft, [head]) => addFunction(draft, head, 'public'),
  'define-read-only': (draft, [head]) => addFunction(draft, head, 'read_only'),
  'define-private': (draft, [head]) => addFunction(draft, head, 'private'),
  'define-constant': (draft, [name, value], sender) => {
    const literal = parseLiteral(value, sender);
    draft.variables.push({ access: 'constant', name: parseName(name), type: literal?.type ?? 'none' });
    if (literal !== null) draft.constants[parseName(name)] = literal.value;
  },
  'define-data-var': (draft, [name, type, value], sender) => {
    draft.variables.push({ access: 'variable', name: parseName(name), type: parseType(type) });
    const literal = parseLiteral(value, sender);
    if (literal !== null) draft.values[parseName(name)] = literal.value;
  },
  'define-map': (draft, [name, key, value]) => {
    draft.maps.push({ name: parseName(name), key: parseType(key), value: parseType(value) });
  },
  'define-fungible-token': (draft, [name]) => {
    draft.fungible_tokens.push({ name: parseName(name) });
  },
  'define-non-fungible-token': (draft, [name, type]) => {
    draft.non_fungible_tokens.push({ name: parseName(name), type: parseType(type) });
  },
};

/** Reads the definitions. @returns an expression that isn't a definition, or null @throws SourceError */
function readInto(draft: Draft, source: string, sender: string): string | null {
  let executed: string | null = null;
  for (const form of readForms(source)) {
    const [head, ...rest] = listOf(form) ?? [];
    const name = atomOf(head) ?? '';
    if (Object.hasOwn(definitions, name)) definitions[name]!(draft, rest, sender);
    else if (!silentForms.has(name)) executed ??= name === '' ? 'a value' : `(${name} …)`;
  }
  return executed;
}

/**
 * Reads the source of a user's contract. Its functions can't be called. Constants, variables and maps have their values
 * after the deployment.
 * @param clarityVersion null for the epoch's version
 * @param sender the deployer
 */
export function readSource(name: string, source: string, clarityVersion: number | null, sender: string): ParsedSource {
  const abi = contractInterface({ clarity_version: `Clarity${clarityVersion ?? 3}` });
  const draft: Draft = { ...abi, constants: {}, values: {} };
  let executed: string | null = null;
  let flaw: string | null = null;
  try {
    executed = readInto(draft, source, sender);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    flaw = error.message;
  }
  const variables = Object.entries(draft.values).map(([variable, value]) => [variable, () => value] as const);
  const template: ContractTemplate = {
    name,
    clarityVersion: clarityVersion ?? undefined,
    source,
    abi,
    constants: draft.constants,
    variables: Object.fromEntries(variables),
    maps: Object.fromEntries(draft.maps.map(({ name: map }) => [map, () => undefined])),
  };
  return { template, flaw, executed };
}

const plainTypes: Readonly<Record<string, AbiType>> = {
  uint: 'uint128',
  int: 'int128',
  bool: 'bool',
  principal: 'principal',
};

const MAX_LENGTH = 1_048_576;

function parseLength(form: Form | undefined): number {
  const text = atomOf(form) ?? '';
  const length = Number(text);
  if (!/^\d+$/.test(text) || length > MAX_LENGTH) throw new SourceError(':0:0: created a type which was invalid');
  return length;
}

/** Returns the type in a form. @throws SourceError for other forms */
function parseType(form: Form | undefined): AbiType {
  const atom = atomOf(form);
  if (atom !== undefined) {
    if (Object.hasOwn(plainTypes, atom)) return plainTypes[atom]!;
    if (/^<.+>$/.test(atom)) return 'trait_reference';
    throw new SourceError(`:0:0: invalid type description: ${atom}`);
  }
  const fields = parseFields(form);
  if (fields !== undefined) return { tuple: fields.map(([name, type]) => ({ name, type: parseType(type) })) };
  const [head, first, second] = listOf(form) ?? [];
  switch (atomOf(head)) {
    case 'buff':
      return { buffer: { length: parseLength(first) } };
    case 'string-ascii':
      return { 'string-ascii': { length: parseLength(first) } };
    case 'string-utf8':
      return { 'string-utf8': { length: parseLength(first) } };
    case 'optional':
      return { optional: parseType(first) };
    case 'response':
      return { response: { ok: parseType(first), error: parseType(second) } };
    case 'list':
      return { list: { type: parseType(second), length: parseLength(first) } };
    case 'tuple':
      return { tuple: parsePairs(form).map(([name, type]) => ({ name, type: parseType(type) })) };
    default:
      throw new SourceError(':0:0: invalid type description');
  }
}

/** Returns the pairs of `(tuple (name form) …)`. @throws SourceError */
function parsePairs(form: Form | undefined): [name: string, value: Form][] {
  return (listOf(form) ?? []).slice(1).map((pair) => {
    const [name, value] = listOf(pair) ?? [];
    if (atomOf(name) === undefined || value === undefined) throw new SourceError(':0:0: invalid tuple');
    return [atomOf(name)!, value];
  });
}

interface Literal {
  /** Serialized. */
  readonly value: Uint8Array;
  readonly type: AbiType;
}

/**
 * Returns the value of a literal. @param sender the deployer of the contract `.name`
 * @returns null for an expression that would have to be executed
 */
function parseLiteral(form: Form | undefined, sender: string): Literal | null {
  if (form?.kind === 'atom') return atomValue(form.text, sender);
  // Clarity's escapes differ from JSON's, so strings with escapes count as expressions.
  if (form?.kind === 'string') return form.text.includes('\\') ? null : stringValue(form.text, form.isUtf8);
  const [head, inner] = listOf(form) ?? [];
  const wrap = atomOf(head);
  if (listOf(form)?.length !== 2 || (wrap !== 'ok' && wrap !== 'err' && wrap !== 'some')) return null;
  const content = parseLiteral(inner, sender);
  if (content === null) return null;
  const value = clarity[wrap](content.value);
  if (wrap === 'some') return { value, type: { optional: content.type } };
  const [ok, error] = wrap === 'ok' ? [content.type, 'none' as const] : ['none' as const, content.type];
  return { value, type: { response: { ok, error } } };
}

const ENTRY = /^[a-zA-Z][a-zA-Z0-9_!?+<>=/*-]{0,127}$/;

/**
 * Returns the serialized value of an argument: a literal, or a list, a tuple, `some`, `ok` or `err` of such values.
 * @param sender the deployer of the contract `.name`
 * @returns null for any other form
 * @throws SourceError for an invalid tuple
 */
function parseArgument(form: Form | undefined, sender: string): Uint8Array | null {
  if (form?.kind === 'string') return unescapedString(form.text, form.isUtf8);
  const literal = parseLiteral(form, sender);
  if (literal !== null) return literal.value;
  const [head, ...rest] = listOf(form) ?? [];
  const name = atomOf(head);
  const fields = name === 'tuple' ? parsePairs(form) : parseFields(form);
  const values = (fields?.map(([, value]) => value) ?? rest).map((value) => parseArgument(value, sender));
  if (!values.every((value) => value !== null)) return null;
  if (fields !== undefined) {
    const entries = new Map(fields.map(([key], index) => [key, values[index]!]));
    const isTuple =
      entries.size > 0 && entries.size === fields.length && [...entries.keys()].every((key) => ENTRY.test(key));
    return isTuple ? clarity.tuple(Object.fromEntries(entries)) : null;
  }
  if (name === 'list') return clarity.list(values);
  const [value] = values;
  const holds = name === 'some' || name === 'ok' || name === 'err';
  return holds && value !== undefined && values.length === 1 ? clarity[name](value) : null;
}

/**
 * Returns the serialized value of an argument's text. @param sender the deployer of the contract `.name` @returns null
 * for other texts
 */
export function parseArgumentText(text: string, sender: string): Uint8Array | null {
  try {
    const forms = readForms(text);
    return forms.length === 1 ? parseArgument(forms[0], sender) : null;
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return null;
  }
}

/** Characters of escape sequences: a backslash and another character. */
const ESCAPED: Readonly<Record<string, string>> = {
  t: '\t',
  n: '\n',
  r: '\r',
  '0': '\0',
  "'": "'",
  '"': '"',
  '\\': '\\',
};

const ESCAPE = /\\(?:u\{(?<digits>[0-9a-fA-F]{1,8})\}|x(?<byte>[0-7][0-9a-fA-F])|(?<named>[\s\S]))/g;

/**
 * Returns the serialized value of the text between a string's quotes, with the escapes of Clarity or of the API's repr;
 * null if it has other escapes.
 */
function unescapedString(escaped: string, isUtf8: boolean): Uint8Array | null {
  let isValid = true;
  const text = escaped.replace(ESCAPE, (_, digits?: string, byte?: string, letter?: string): string => {
    const char = digits !== undefined ? decodeUnicode(digits) : byte !== undefined ? latin1(byte) : ESCAPED[letter!];
    if (char === undefined || (digits !== undefined && !isUtf8)) isValid = false;
    return char ?? '';
  });
  if (!isValid) return null;
  if (isUtf8) return clarity.utf8(text);
  return /^\p{ASCII}*$/u.test(text) ? clarity.ascii(text) : null;
}

const latin1 = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));

/**
 * Returns the character of `\u{…}`. The API and nodes write the bytes of its UTF-8; Clarity's parser reads a code
 * point. Digits that are one character in UTF-8 are read as UTF-8.
 */
function decodeUnicode(digits: string): string | undefined {
  const utf8 = digits.length >= 4 && digits.length % 2 === 0 ? strictText(Uint8Array.fromHex(digits)) : null;
  if (utf8 !== null && [...utf8].length === 1) return utf8;
  const codePoint = Number.parseInt(digits, 16);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  return codePoint > 0x10ffff || isSurrogate ? undefined : String.fromCodePoint(codePoint);
}

function stringValue(text: string, isUtf8: boolean): Literal | null {
  if (isUtf8) return { value: clarity.utf8(text), type: { 'string-utf8': { length: [...text].length } } };
  const isAscii = /^[\x20-\x7e]*$/.test(text);
  return isAscii ? { value: clarity.ascii(text), type: { 'string-ascii': { length: text.length } } } : null;
}

function atomValue(text: string, sender: string): Literal | null {
  if (text === 'true' || text === 'false') return { value: clarity.bool(text === 'true'), type: 'bool' };
  if (text === 'none') return { value: clarity.none(), type: { optional: 'none' } };
  if (/^u\d+$/.test(text)) {
    const number = BigInt(text.slice(1));
    return number > MAX_UINT ? null : { value: clarity.uint(number), type: 'uint128' };
  }
  if (/^-?\d+$/.test(text)) {
    const number = BigInt(text);
    return number > MAX_INT || number < MIN_INT ? null : { value: clarity.int(number), type: 'int128' };
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
