import { BytesReader, uint32At } from './bytes-reader.ts';
import { readEntries, readInteger } from './clarity.ts';
import {
  INTEGER_LENGTH,
  PREFIX,
  readCount,
  readPrefix,
  readPrincipal,
  skipSized,
  unknownPrefix,
} from './clarity-wire.ts';
import { decoded } from './decode-error.ts';
import { toHex } from './hex.ts';
import { latin1Text, lossyText, utf8Bytes } from './utf8.ts';

/**
 * The text form of a serialized Clarity value, as the API shows it under `repr`: `(tuple (amount u5) (to 'SP…))`.
 * Bytes that are no value give their hex instead, so that one bad row does not cost the whole answer.
 *
 * Written from the bytes directly. Neither the node's own printer nor that of stacks.js gives this text: they leave
 * out the quote mark of principals, the word `list`, or the escapes.
 */
export function clarityRepr(bytes: Uint8Array): string {
  const repr = decoded(() => readRepr(new BytesReader(bytes), 1));
  return repr.ok ? repr.value : toHex(bytes);
}

function readRepr(reader: BytesReader, depth: number): string {
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
      const at = skipSized(reader);
      return `"${escaped(latin1Text(reader.bytes, at, reader.offset))}"`;
    }
    case PREFIX.utf8:
      return `u"${escapedUtf8(lossyText(reader.spanFrom(skipSized(reader))))}"`;
    case PREFIX.standardPrincipal:
    case PREFIX.contractPrincipal:
      return `'${readPrincipal(reader, prefix)}`;
    case PREFIX.none:
      return 'none';
    case PREFIX.some:
      return `(some ${readRepr(reader, depth + 1)})`;
    case PREFIX.ok:
      return `(ok ${readRepr(reader, depth + 1)})`;
    case PREFIX.err:
      return `(err ${readRepr(reader, depth + 1)})`;
    case PREFIX.list: {
      // Joined, since the engine takes as long again to flatten what thousands of items were added to one by one.
      const texts = ['(list'];
      for (let left = readCount(reader, 'list items'); left > 0; left--) texts.push(readRepr(reader, depth + 1));
      return `${texts.join(' ')})`;
    }
    case PREFIX.tuple: {
      let text = '(tuple';
      for (const [key, value] of readEntries(reader, () => readRepr(reader, depth + 1))) text += ` (${key} ${value})`;
      return `${text})`;
    }
    default:
      throw unknownPrefix(reader, prefix);
  }
}

/** An integer in decimal, through a plain number when it is below 2^53: several times faster, and nearly all are. */
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

/** Characters U+0000 to U+00FF as the printer of Rust bytes writes them: the single quote is escaped as well. */
function escaped(text: string): string {
  return text.replace(/[^ !#-&(-[\]-~]/g, (character) => NAMED_ESCAPES[character] ?? hexEscape(character));
}

function hexEscape(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Escapes each code point beyond ASCII as the hex of its UTF-8 bytes: U+2B50 is `\u{e2ad90}`, not `\u{2b50}`. */
function escapedUtf8(text: string): string {
  return text.replace(/[^ !#-&(-[\]-~]/gu, (character) => {
    if (character > '\x7f') return `\\u{${utf8Bytes(character).toHex()}}`;
    return NAMED_ESCAPES[character] ?? hexEscape(character);
  });
}
