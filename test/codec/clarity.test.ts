import { describe, expect, test } from 'bun:test';
import {
  Cl,
  cvToString,
  deserializeCV,
  type ClarityValue as LibraryValue,
  serializeCVBytes,
} from '@stacks/transactions';
import fc from 'fast-check';
import { type ClarityValue, decodeArguments, decodeClarity } from '../../src/codec/clarity.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { clarityRepr, clarityTypeOf } from '../../src/codec/clarity-text.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { decodedValue } from '../support/events/clarity-values.ts';
import { assertProperty } from '../support/property.ts';
import { address, bytesOf, clarityValue, contractName } from './arbitraries.ts';

/** A decoded value, encoded again with Stackside's encoder. */
const encode = (value: ClarityValue): Uint8Array => {
  switch (value.type) {
    case 'int':
    case 'uint':
      return clarity[value.type](value.value);
    case 'bool':
      return clarity.bool(value.value);
    case 'buffer':
      return clarity.buffer(value.value);
    case 'string-ascii':
      return clarity.ascii(value.value);
    case 'string-utf8':
      return clarity.utf8(value.value);
    case 'principal':
      return clarity.principal(value.value);
    case 'none':
      return clarity.none();
    case 'some':
    case 'ok':
    case 'err':
      return clarity[value.type](encode(value.value));
    case 'list':
      return clarity.list(value.value.map(encode));
    case 'tuple':
      return clarity.tuple(Object.fromEntries([...value.value].map(([key, entry]) => [key, encode(entry)])));
  }
};

/** The library's value with the entries of its tuples in the order the node writes them. */
function inByteOrder(value: LibraryValue): LibraryValue {
  switch (value.type) {
    case 'some':
    case 'ok':
    case 'err':
      return { ...value, value: inByteOrder(value.value) } as LibraryValue;
    case 'list':
      return Cl.list(value.value.map(inByteOrder));
    case 'tuple': {
      const entries = Object.entries(value.value).toSorted(([a], [b]) =>
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
      );
      return Cl.tuple(Object.fromEntries(entries.map(([key, entry]) => [key, inByteOrder(entry)])));
    }
    default:
      return value;
  }
}

describe('compared to stacks.js', () => {
  test('any value has the same text, type and bytes', () => {
    assertProperty(
      fc.property(clarityValue(), (sample) => {
        const bytes = bytesOf(sample);
        const value = decodedValue(bytes);
        expect(clarityRepr(bytes)).toBe(sample.repr);
        expect(clarityTypeOf(value)).toBe(sample.type);
        expect(value.bytes).toEqual(bytes);
      }),
      { always: 'each value is encoded and decoded', cases: 500 },
    );
  });

  test('any value decodes and encodes to the same value', () => {
    assertProperty(
      fc.property(clarityValue(), (sample) => {
        const bytes = encode(decodedValue(bytesOf(sample)));
        // Not the same bytes: the library orders keys by locale, the node and we by bytes.
        expect(cvToString(deserializeCV(bytes))).toBe(cvToString(inByteOrder(sample.value)));
        expect(clarityRepr(bytes)).toBe(sample.repr);
        expect(encode(decodedValue(bytes))).toEqual(bytes);
      }),
      { always: 'each value is encoded and decoded', cases: 200 },
    );
  });

  test('integers are equal up to the limits of 128 bits', () => {
    for (const n of [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 64n, 2n ** 127n - 1n]) {
      expect(clarity.uint(n)).toEqual(serializeCVBytes(Cl.uint(n)));
      expect(clarity.int(-n)).toEqual(serializeCVBytes(Cl.int(-n)));
      expect(clarityRepr(clarity.uint(n))).toBe(`u${n}`);
      expect(clarityRepr(clarity.int(-n))).toBe(`${-n}`);
    }
    expect(clarityRepr(clarity.uint(2n ** 128n - 1n))).toBe(`u${2n ** 128n - 1n}`);
    expect(clarityRepr(clarity.int(-(2n ** 127n)))).toBe(`${-(2n ** 127n)}`);
  });

  test('principals of any address are equal', () => {
    assertProperty(
      fc.property(address(), contractName(), (text, name) => {
        expect(clarity.principal(text)).toEqual(serializeCVBytes(Cl.principal(text)));
        expect(clarity.principal(`${text}.${name}`)).toEqual(serializeCVBytes(Cl.contractPrincipal(text, name)));
      }),
      { always: 'each value is encoded and decoded' },
    );
  });

  test('the span of each argument equals the span of its value', () => {
    assertProperty(
      fc.property(fc.array(clarityValue(), { maxLength: 6 }), (samples) => {
        const spans = samples.map(bytesOf);
        expect(decodeArguments(encodeArguments(spans))).toEqual({ ok: true, value: spans });
      }),
      { always: 'each value is encoded and decoded' },
    );
  });
});

// Each is the wire form, the text, and the type inferred from the value.
const table: [what: string, hex: string, repr: string, type: string][] = [
  ['an empty buffer', '0200000000', '0x', '(buff 0)'],
  ['an empty list', '0b00000000', '(list)', '(list 0 UnknownType)'],
  ['an empty tuple', '0c00000000', '(tuple)', '(tuple)'],
  ['ascii to be escaped', '0d0000000900090a0d27225c7fff', `"\\x00\\t\\n\\r\\'\\"\\\\\\x7f\\xff"`, '(string-ascii 9)'],
  ['utf8 as UTF-8 bytes', '0e00000006686920e2ad90', 'u"hi \\u{e2ad90}"', '(string-utf8 16)'],
  ['utf8 beyond 16 bits', '0e00000004f09f9880', 'u"\\u{f09f9880}"', '(string-utf8 4)'],
  ['utf8 with a byte-order mark', '0e00000004efbbbf61', 'u"\\u{efbbbf}a"', '(string-utf8 8)'],
  ['invalid utf8', '0e00000003ff6180', 'u"\\u{efbfbd}a\\u{efbfbd}"', '(string-utf8 12)'],
  ['a cut utf8 sequence as one replacement', '0e00000004f09f9861', 'u"\\u{efbfbd}a"', '(string-utf8 8)'],
  [
    'keys b, B, a',
    '0c00000003016203014204016109',
    '(tuple (B false) (a none) (b true))',
    '(tuple (B bool) (a (optional UnknownType)) (b bool))',
  ],
  ['a key given twice', '0c00000002016103016104', '(tuple (a false))', '(tuple (a bool))'],
  [
    'keys that sort differently by UTF-16',
    '0c0000000204f09f98800303efbdb004',
    '(tuple (\uff70 false) (\u{1f600} true))',
    '(tuple (\uff70 bool) (\u{1f600} bool))',
  ],
  ['a list of two types', '0b000000020309', '(list true none)', '(list 2 bool)'],
  ['an address of version 0', `0500${'00'.repeat(20)}`, "'S0000000000000000000002AA028H", 'principal'],
  ['a response', '08070a03', '(err (ok (some true)))', '(response UnknownType (response (optional bool) UnknownType))'],
];

test.each(table)('decodes %s', (_, hex, repr, type) => {
  expect(clarityRepr(fromHex(hex))).toBe(repr);
  expect(clarityTypeOf(decodedValue(fromHex(hex)))).toBe(type);
});

test('a key __proto__ is an ordinary key', () => {
  const bytes = Uint8Array.of(0x0c, 0, 0, 0, 1, 9, ...Buffer.from('__proto__'), 0x03);
  const value = decodedValue(bytes);
  expect(value.type === 'tuple' && value.value.get('__proto__')?.type).toBe('bool');
  expect(clarityRepr(bytes)).toBe('(tuple (__proto__ true))');
  expect(clarity.tuple({ ['__proto__']: clarity.bool(true) })).toEqual(bytes);
});

test('bytes after a value are ignored and not part of its span', () => {
  const bytes = fromHex('0a03ffff');
  expect(toHex(decodedValue(bytes).bytes)).toBe('0x0a03');
  expect(clarityRepr(bytes)).toBe('(some true)');
  expect(decodeArguments(fromHex('000000010309'))).toEqual({ ok: true, value: [fromHex('03')] });
});

test('bytes that are not a value are shown as hex', () => {
  expect(clarityRepr(fromHex('0f'))).toBe('0x0f');
  expect(clarityRepr(new Uint8Array())).toBe('0x');
});

test('64 levels are decoded, and 65 are rejected', () => {
  const nest = (levels: number) => Uint8Array.of(...Array<number>(levels - 1).fill(0x0a), 0x03);
  expect(decodeClarity(nest(64)).ok).toBe(true);
  expect(clarityRepr(nest(64))).toStartWith('(some (some');
  expect(decodeClarity(nest(65)).ok).toBe(false);
  expect(decodeArguments(encodeArguments([nest(65)])).ok).toBe(false);
});

test('the encoders reject values without a wire form', () => {
  expect(() => clarity.uint(-1)).toThrow(RangeError);
  expect(() => clarity.uint(2n ** 128n)).toThrow(RangeError);
  expect(() => clarity.int(2n ** 127n)).toThrow(RangeError);
  expect(() => clarity.int(-(2n ** 127n) - 1n)).toThrow(RangeError);
  expect(() => clarity.ascii('é')).toThrow(RangeError);
  expect(() => clarity.principal('SP123')).toThrow(RangeError);
  expect(() => clarity.buffer(new Uint8Array(1_048_577))).toThrow(RangeError);
  expect(() => clarity.tuple({ ['a'.repeat(129)]: clarity.none() })).toThrow(RangeError);
});
