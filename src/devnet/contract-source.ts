/** Values that are written in Clarity source: arguments of calls, and constants. */
import { principalBytes } from '../codec/address.ts';
import { MAX_INT, MAX_UINT, MIN_INT } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { strictText } from '../codec/utf8.ts';
import { atomOf, type Form, listOf, parseFields, readForms } from './source-forms.ts';

const ENTRY = /^[a-zA-Z][a-zA-Z0-9_!?+<>=/*-]{0,127}$/;

/**
 * Returns the serialized value of a literal, or of a list, a tuple, `some`, `ok` or `err` of literals.
 * @param sender the deployer of the contract `.name`
 * @returns null for any other form, which would have to be executed
 */
function parseValue(form: Form | undefined, sender: string): Uint8Array | null {
  if (form?.kind === 'string') return unescapedString(form.text, form.isUtf8);
  if (form?.kind === 'atom') return atomValue(form.text, sender);
  const [head, ...rest] = listOf(form) ?? [];
  const name = atomOf(head);
  const fields = name === 'tuple' ? rest.map(pairOf) : parseFields(form);
  const values = (fields?.map(([, value]) => value) ?? rest).map((value) => parseValue(value, sender));
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

/** Returns the name and the form of a pair in `(tuple (name form) …)`; an empty name for another form. */
function pairOf(form: Form): [name: string, value: Form | undefined] {
  const [name, value] = listOf(form) ?? [];
  return [atomOf(name) ?? '', value];
}

/**
 * Returns the serialized value of an argument's text. @param sender the deployer of the contract `.name` @returns null
 * for other texts
 */
export function parseArgumentText(text: string, sender: string): Uint8Array | null {
  const [form, ...others] = readForms(text) ?? [];
  return others.length === 0 ? parseValue(form, sender) : null;
}

/**
 * Returns the serialized value of a constant of a contract.
 * @param sender the deployer of the contract, which is `tx-sender` during the deployment
 * @returns null if only executing the definition shows its value; undefined if the contract has no such constant
 */
export function parseConstant(source: string, name: string, sender: string): Uint8Array | null | undefined {
  const definitions = (readForms(source) ?? []).map((form) => listOf(form) ?? []);
  const definition = definitions.find(
    ([head, defined]) => atomOf(head) === 'define-constant' && atomOf(defined) === name,
  );
  if (definition === undefined) return undefined;
  const [, , value] = definition;
  // In a source, `\u{…}` is always a code point; an argument may have UTF-8.
  if (JSON.stringify(value ?? null).includes('\\u{')) return null;
  return atomOf(value) === 'tx-sender' ? clarity.principal(sender) : parseValue(value, sender);
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

function atomValue(text: string, sender: string): Uint8Array | null {
  if (text === 'true' || text === 'false') return clarity.bool(text === 'true');
  if (text === 'none') return clarity.none();
  if (/^u\d+$/.test(text)) {
    const number = BigInt(text.slice(1));
    return number > MAX_UINT ? null : clarity.uint(number);
  }
  if (/^-?\d+$/.test(text)) {
    const number = BigInt(text);
    return number > MAX_INT || number < MIN_INT ? null : clarity.int(number);
  }
  if (/^0x([0-9a-f]{2})*$/i.test(text)) return clarity.buffer(Uint8Array.fromHex(text.slice(2)));
  const principal = text.startsWith("'") ? text.slice(1) : text.startsWith('.') ? `${sender}${text}` : '';
  return principal === '' || principalBytes(principal) === null ? null : clarity.principal(principal);
}
