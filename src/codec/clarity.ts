import { BytesReader, uint32At } from './bytes-reader.ts';
import {
  INTEGER_LENGTH,
  PREFIX,
  readCount,
  readPrefix,
  readPrincipal,
  skipSized,
  unknownPrefix,
  walkClarity,
} from './clarity-wire.ts';
import { type Decoded, decoded } from './decode-error.ts';
import { compareUtf8, latin1Text, lossyText } from './utf8.ts';

/**
 * A decoded Clarity value. `bytes` is the exact span it took on the wire, a view of the input.
 *
 * Principals are address text, contracts as `ADDRESS.name`. `string-ascii` has one character per byte, whatever the
 * byte; invalid UTF-8 is U+FFFD. Tuple keys are in ascending byte order, and of a key given twice the last counts.
 */
export type ClarityValue =
  | { type: 'int'; value: bigint; bytes: Uint8Array }
  | { type: 'uint'; value: bigint; bytes: Uint8Array }
  | { type: 'bool'; value: boolean; bytes: Uint8Array }
  | { type: 'buffer'; value: Uint8Array; bytes: Uint8Array }
  | { type: 'string-ascii'; value: string; bytes: Uint8Array }
  | { type: 'string-utf8'; value: string; bytes: Uint8Array }
  | { type: 'principal'; value: string; bytes: Uint8Array }
  | { type: 'none'; bytes: Uint8Array }
  | { type: 'some'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'ok'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'err'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'list'; value: ClarityValue[]; bytes: Uint8Array }
  | { type: 'tuple'; value: Map<string, ClarityValue>; bytes: Uint8Array };

/** Decodes one serialized Clarity value (SIP-005). Bytes after it are ignored. */
export function decodeClarity(bytes: Uint8Array): Decoded<ClarityValue> {
  return decoded(() => readClarity(new BytesReader(bytes), 1));
}

/**
 * The spans of the arguments of a contract call: u32 count, then that many values. Each span is checked to be one
 * whole value, and nothing is decoded. Bytes after the last are ignored.
 */
export function decodeArguments(span: Uint8Array): Decoded<Uint8Array[]> {
  return decoded(() => {
    const reader = new BytesReader(span);
    const spans: Uint8Array[] = [];
    for (let left = reader.count('arguments'); left > 0; left--) {
      const start = reader.offset;
      walkClarity(reader);
      spans.push(reader.spanFrom(start));
    }
    return spans;
  });
}

function readClarity(reader: BytesReader, depth: number): ClarityValue {
  const start = reader.offset;
  const prefix = readPrefix(reader, depth);
  switch (prefix) {
    case PREFIX.int:
      return { type: 'int', value: readInteger(reader, true), bytes: reader.spanFrom(start) };
    case PREFIX.uint:
      return { type: 'uint', value: readInteger(reader, false), bytes: reader.spanFrom(start) };
    case PREFIX.true:
    case PREFIX.false:
      return { type: 'bool', value: prefix === PREFIX.true, bytes: reader.spanFrom(start) };
    case PREFIX.buffer: {
      const at = skipSized(reader);
      return { type: 'buffer', value: reader.spanFrom(at), bytes: reader.spanFrom(start) };
    }
    case PREFIX.ascii: {
      const at = skipSized(reader);
      const value = latin1Text(reader.bytes, at, reader.offset);
      return { type: 'string-ascii', value, bytes: reader.spanFrom(start) };
    }
    case PREFIX.utf8: {
      const at = skipSized(reader);
      return { type: 'string-utf8', value: lossyText(reader.spanFrom(at)), bytes: reader.spanFrom(start) };
    }
    case PREFIX.standardPrincipal:
    case PREFIX.contractPrincipal:
      return { type: 'principal', value: readPrincipal(reader, prefix), bytes: reader.spanFrom(start) };
    case PREFIX.none:
      return { type: 'none', bytes: reader.spanFrom(start) };
    case PREFIX.some:
      return { type: 'some', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.ok:
      return { type: 'ok', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.err:
      return { type: 'err', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.list: {
      const value: ClarityValue[] = [];
      for (let left = readCount(reader, 'list items'); left > 0; left--) value.push(readClarity(reader, depth + 1));
      return { type: 'list', value, bytes: reader.spanFrom(start) };
    }
    case PREFIX.tuple: {
      const value = readEntries(reader, () => readClarity(reader, depth + 1));
      return { type: 'tuple', value, bytes: reader.spanFrom(start) };
    }
    default:
      throw unknownPrefix(reader, prefix);
  }
}

/**
 * The entries of a tuple after its prefix, in ascending byte order of their keys. A map, because a key such as
 * `__proto__` would vanish in a plain object.
 */
export function readEntries<T>(reader: BytesReader, readValue: () => T): Map<string, T> {
  const entries = new Map<string, T>();
  let ascending = true;
  let last: string | null = null;
  for (let left = readCount(reader, 'tuple entries'); left > 0; left--) {
    const key = reader.name('a tuple key');
    ascending &&= last === null || compareUtf8(last, key) < 0;
    entries.set(key, readValue());
    last = key;
  }
  // The node writes keys in order, so sorting is for bytes of other makers.
  return ascending ? entries : new Map([...entries].sort(([a], [b]) => compareUtf8(a, b)));
}

/** The 16 bytes of an `int` (two's complement) or `uint`. */
export function readInteger(reader: BytesReader, signed: boolean): bigint {
  const { bytes } = reader;
  const at = reader.skip(INTEGER_LENGTH, 'a 128-bit integer');
  const high = (BigInt(uint32At(bytes, at)) << 32n) | BigInt(uint32At(bytes, at + 4));
  const low = (BigInt(uint32At(bytes, at + 8)) << 32n) | BigInt(uint32At(bytes, at + 12));
  const value = (high << 64n) | low;
  return signed ? BigInt.asIntN(128, value) : value;
}
