/** Clarity values as texts: the repr, the type, and JSON. */
import { BytesReader, decoded, uint32At } from './bytes-reader.ts';
import {
  type ClarityValue,
  decodeClarity,
  INTEGER_LENGTH,
  PREFIX,
  readCount,
  readEntries,
  readInteger,
  readPrefix,
  readPrincipal,
  skipSized,
  unknownPrefix,
} from './clarity.ts';
import { toHex } from './hex.ts';
import { latin1Text, lossyText, utf8Bytes } from './utf8.ts';

/**
 * Returns the text form of a serialized Clarity value, which the API shows as `repr`: `(tuple (amount u5) (to 'SP…))`.
 * If the bytes aren't a value, returns their hex, so that one bad row doesn't fail the whole response.
 *
 * The text is written from the bytes directly. The printers of the node and of stacks.js don't produce this text: they
 * omit the quote mark of principals, the word `list`, or the escapes.
 */
export function clarityRepr(bytes: Uint8Array): string {
  return reprOrHex(bytes, 'escaped');
}

/** Returns the repr of a value without escapes in strings: `u"héllo"`. For searches only; it can't be parsed. */
export function clarityPlainText(bytes: Uint8Array): string {
  return reprOrHex(bytes, 'plain');
}

/** How the repr writes string characters that need an escape. */
type StringForm = 'escaped' | 'plain';

function reprOrHex(bytes: Uint8Array, form: StringForm): string {
  const repr = decoded(() => readRepr(new BytesReader(bytes), 1, form));
  return repr.ok ? repr.value : toHex(bytes);
}

function readRepr(reader: BytesReader, depth: number, form: StringForm): string {
  const prefix = readPrefix(reader, depth);
  switch (prefix) {
    case PREFIX.int:
      return readDecimal(reader, true);
    case PREFIX.uint:
      return `u${readDecimal(reader, false)}`;
    case PREFIX.true:
      return 'true';
    case PREFIX.false:
      return 'false';
    case PREFIX.buffer:
      return toHex(reader.spanFrom(skipSized(reader)));
    case PREFIX.ascii: {
      const offset = skipSized(reader);
      const text = latin1Text(reader.bytes, offset, reader.offset);
      return `"${form === 'plain' ? text : escapeText(text)}"`;
    }
    case PREFIX.utf8: {
      const text = lossyText(reader.spanFrom(skipSized(reader)));
      return `u"${form === 'plain' ? text : escapeUtf8(text)}"`;
    }
    case PREFIX.standardPrincipal:
    case PREFIX.contractPrincipal:
      return `'${readPrincipal(reader, prefix)}`;
    case PREFIX.none:
      return 'none';
    case PREFIX.some:
      return `(some ${readRepr(reader, depth + 1, form)})`;
    case PREFIX.ok:
      return `(ok ${readRepr(reader, depth + 1, form)})`;
    case PREFIX.err:
      return `(err ${readRepr(reader, depth + 1, form)})`;
    case PREFIX.list: {
      // Uses Array.join, because flattening a string that was concatenated from thousands of items doubles the time.
      const texts = ['(list'];
      for (let left = readCount(reader, 'list items'); left > 0; left--) texts.push(readRepr(reader, depth + 1, form));
      return `${texts.join(' ')})`;
    }
    case PREFIX.tuple: {
      let text = '(tuple';
      for (const [key, value] of readEntries(reader, () => readRepr(reader, depth + 1, form)))
        text += ` (${key} ${value})`;
      return `${text})`;
    }
    default:
      throw unknownPrefix(reader, prefix);
  }
}

/**
 * Reads an integer in decimal. Nearly all integers are below 2^53, and a plain number makes these several times faster.
 */
function readDecimal(reader: BytesReader, signed: boolean): string {
  const { bytes, offset } = reader;
  if (reader.left >= INTEGER_LENGTH && uint32At(bytes, offset) === 0 && uint32At(bytes, offset + 4) === 0) {
    const high = uint32At(bytes, offset + 8);
    if (high < 0x200000) {
      reader.offset = offset + INTEGER_LENGTH;
      return String(high * 0x100000000 + uint32At(bytes, offset + 12));
    }
  }
  return readInteger(reader, signed).toString();
}

const NAMED_ESCAPES: Record<string, string> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '"': '\\"',
  '\\': '\\\\',
};

/** Escapes characters U+0000 to U+00FF like Rust's printer of bytes, which also escapes the single quote. */
function escapeText(text: string): string {
  return text.replace(/[^ !#-&(-[\]-~]/g, (character) => NAMED_ESCAPES[character] ?? hexEscape(character));
}

function hexEscape(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Escapes each code point beyond ASCII as the hex of its UTF-8 bytes: U+2B50 is `\u{e2ad90}`, not `\u{2b50}`. */
function escapeUtf8(text: string): string {
  return text.replace(/[^ !#-&(-[\]-~]/gu, (character) => {
    if (character > '\x7f') return `\\u{${utf8Bytes(character).toHex()}}`;
    return NAMED_ESCAPES[character] ?? hexEscape(character);
  });
}

/**
 * Type of a part that the value doesn't contain: the content of `none`, the other side of a response, the items of an
 * empty list.
 */
export const UNKNOWN_TYPE = 'UnknownType';

/**
 * Returns the type of a value, which the API shows for an argument if the contract's interface is unknown: `(buff 4)`,
 * `(optional uint)`. Sizes are the value's sizes; a list has the type of its first item.
 */
export function clarityTypeOf(value: ClarityValue): string {
  switch (value.type) {
    case 'int':
    case 'uint':
    case 'bool':
    case 'principal':
      return value.type;
    case 'buffer':
      return `(buff ${value.value.length})`;
    case 'string-ascii':
      return `(string-ascii ${value.value.length})`;
    case 'string-utf8':
      // Four times the code points: the size that a declaration reserves for a string of this length.
      return `(string-utf8 ${4 * codePoints(value.value)})`;
    case 'none':
      return `(optional ${UNKNOWN_TYPE})`;
    case 'some':
      return `(optional ${clarityTypeOf(value.value)})`;
    case 'ok':
      return `(response ${clarityTypeOf(value.value)} ${UNKNOWN_TYPE})`;
    case 'err':
      return `(response ${UNKNOWN_TYPE} ${clarityTypeOf(value.value)})`;
    case 'list': {
      const [first] = value.value;
      return `(list ${value.value.length} ${first === undefined ? UNKNOWN_TYPE : clarityTypeOf(first)})`;
    }
    case 'tuple': {
      let text = '(tuple';
      for (const [key, entry] of value.value) text += ` (${key} ${clarityTypeOf(entry)})`;
      return `${text})`;
    }
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * Returns the JSON text of a value: integers and principals as strings, because JSON numbers aren't exact; buffers as
 * hex with 0x; `none` as null and `(some x)` as x; `(ok x)` as `{"ok": x}` and `(err x)` as `{"err": x}`; lists as
 * arrays; tuples as objects with their keys in byte order.
 */
function toJson(value: ClarityValue): string {
  switch (value.type) {
    case 'int':
    case 'uint':
      return `"${value.value}"`;
    case 'bool':
      return String(value.value);
    case 'none':
      return 'null';
    case 'some':
      return toJson(value.value);
    case 'ok':
    case 'err':
      return `{"${value.type}":${toJson(value.value)}}`;
    case 'buffer':
      return `"${toHex(value.value)}"`;
    case 'principal':
    case 'string-ascii':
    case 'string-utf8':
      return JSON.stringify(value.value);
    case 'list':
      return `[${value.value.map(toJson).join()}]`;
    case 'tuple':
      return `{${[...value.value].map(([key, entry]) => `${JSON.stringify(key)}:${toJson(entry)}`).join()}}`;
  }
}

/** Returns the JSON text of a serialized value as in {@link toJson}; null if the bytes aren't a value. */
export function clarityJson(bytes: Uint8Array): string | null {
  const decoded = decodeClarity(bytes);
  return decoded.ok ? toJson(decoded.value) : null;
}
