import { expect, test } from 'bun:test';
import { Cl } from '@stacks/transactions';
import fc from 'fast-check';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { clarityRepr } from '../../src/codec/clarity-text.ts';
import { toHex } from '../../src/codec/hex.ts';
import { parseArgumentText, parseConstant } from '../../src/devnet/contract-source.ts';
import { formPositions } from '../../src/devnet/source-forms.ts';
import { bytesOf, clarityValue } from '../codec/arbitraries.ts';
import { assertProperty, Seen } from '../support/property.ts';

const SENDER = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';

test('reads constants, and omits those that an expression computes', () => {
  const source = `
    (define-constant number -5) (define-constant text "pl\\"ain") (define-constant bytes 0x00ff) (define-constant wide u"ü")
    (define-constant friend .friend) (define-constant other 'ST000000000000000000002AMW42H) (define-constant nothing none)
    (define-constant owner tx-sender) (define-constant failure (err u4)) (define-constant both { a: u1, b: (list 2) })
    (define-constant sum (+ u1 u2)) (define-constant huge u999999999999999999999999999999999999999)
    (define-constant escaped (some u"\\u{c3a9}")) (define-data-var total uint u0)`;
  const constant = (name: string) => parseConstant(source, name, SENDER);
  const values = {
    number: clarity.int(-5),
    text: clarity.ascii('pl"ain'),
    bytes: clarity.buffer(Uint8Array.of(0, 255)),
    wide: clarity.utf8('ü'),
    friend: clarity.principal(`${SENDER}.friend`),
    other: clarity.principal('ST000000000000000000002AMW42H'),
    nothing: clarity.none(),
    owner: clarity.principal(SENDER),
    failure: clarity.err(clarity.uint(4)),
    both: clarity.tuple({ a: clarity.uint(1), b: clarity.list([clarity.int(2)]) }),
  };
  for (const [name, value] of Object.entries(values)) expect([name, constant(name)]).toEqual([name, value]);
  expect(['sum', 'huge', 'escaped'].map(constant)).toEqual([null, null, null]);
  expect(['total', 'missing'].map(constant)).toEqual([undefined, undefined]);
});

test('a source with unbalanced brackets, or too deep ones, has no constants', () => {
  for (const source of ['(', ')', '(define-constant a', '"open', '(}', '('.repeat(100_000), '{'.repeat(70)])
    expect(parseConstant(`(define-constant a u1) ${source}`, 'a', SENDER)).toBeUndefined();
});

test.each([
  ...['u1', '-7', 'true', 'none', '"text"', 'u"☕"', '0x0102', `'${SENDER}`, `'${SENDER}.shop`],
  ...[
    '(list)',
    '(list u1 u2)',
    '(some (list (ok u1) (err u2)))',
    '{ a: u1, b: { c: none } }',
    '(tuple (a u1) (b "x"))',
  ],
])('an argument is the value of %s', (text) => {
  const bytes = parseArgumentText(text, SENDER);
  expect(bytes === null ? null : toHex(bytes)).toBe(`0x${Cl.serialize(Cl.parse(text))}`);
});

test('an argument may be any repr that the API prints', () => {
  const seen = new Seen({ escapes: 20 });
  assertProperty(
    fc.property(clarityValue(), (value) => {
      // Clarity has no empty tuple.
      fc.pre(!value.repr.includes('(tuple)'));
      const bytes = bytesOf(value);
      seen.add('escapes', Number(value.repr.includes('\\')));
      // The library sorts a tuple's names differently than the chain, so the bytes may differ.
      const repr = clarityRepr(bytes);
      expect(clarityRepr(parseArgumentText(repr, SENDER) ?? new Uint8Array())).toBe(repr);
    }),
    { seen },
  );
});

test.each([
  ['u"a\\"b"', Cl.stringUtf8('a"b')],
  ['u"\\u{e9}"', Cl.stringUtf8('é')],
  ['u"\\u{c3a9}"', Cl.stringUtf8('é')],
  ['u"\\u{1f980}"', Cl.stringUtf8('🦀')],
  ['(some u"\\t")', Cl.some(Cl.stringUtf8('\t'))],
  ['"a\\\\b\\n\\x01"', Cl.stringAscii('a\\b\n\x01')],
  ['0x6d79', Cl.buffer(new Uint8Array([0x6d, 0x79]))],
])('an argument is the value of the escapes in %s', (text, value) => {
  expect(toHex(parseArgumentText(text, SENDER)!)).toBe(`0x${Cl.serialize(value)}`);
});

test('an argument names contracts of the deployer by their end', () => {
  expect(parseArgumentText('(list .shop)', SENDER)).toEqual(clarity.list([clarity.principal(`${SENDER}.shop`)]));
});

test.each([
  ...['', 'u', 'u1 u2', '(list u1', '(list x)', '(some)', '(some u1 u2)', '(+ u1 u2)', 'name', '(list u1 (+ 1 2))'],
  ...['"\\q"', '"\\u{e9}"', '"é"', 'u"\\u{110000}"', 'u"\\u{d800}"'],
  ...['{}', '{ a: x }', '{ a: u1, a: u2 }', '{ 1: u1 }', '(tuple a)', '(tuple)', `{ ${'a'.repeat(129)}: u1 }`],
])('%s is no argument', (text) => {
  expect(parseArgumentText(text, SENDER)).toBeNull();
});

test('each form has its first line and column, and its end', () => {
  const source = ';; one (\n(a "(\n")\n\n b {c: (d)} ; (\n  (e\n f)';
  const texts = formPositions(source).complete.map(({ line, column, end }) => [
    line,
    column,
    source.slice(0, end).split('\n').at(-1),
  ]);
  expect(texts).toEqual([
    [2, 1, '")'],
    [5, 2, ' b'],
    [5, 4, ' b {c: (d)}'],
    [6, 3, ' f)'],
  ]);
  const complete = [{ line: 1, column: 1, end: 3 }];
  expect(formPositions('(a) \n(b')).toEqual({ complete, unbalanced: { line: 2, column: 1 } });
  expect(formPositions('(a)\n\n )(b)')).toEqual({ complete, unbalanced: { line: 3, column: 2 } });
  expect(formPositions('(a)\n (b "c)')).toEqual({ complete, unbalanced: { line: 2, column: 2 } });
});
