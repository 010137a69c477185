import { expect, test } from 'bun:test';
import { Cl } from '@stacks/transactions';
import fc from 'fast-check';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { clarityRepr } from '../../src/codec/clarity-text.ts';
import { toHex } from '../../src/codec/hex.ts';
import { parseArgumentText, readSource } from '../../src/devnet/contract-source.ts';
import { formPositions } from '../../src/devnet/source-forms.ts';
import { templates } from '../../src/devnet/traffic.ts';
import { bytesOf, clarityValue } from '../codec/arbitraries.ts';
import { assertProperty, Seen } from '../support/property.ts';

const deployer = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const read = (source: string) => readSource('sample', source, 3, deployer);

test('the interface of each built-in demo contract matches its source', () => {
  for (const { name, source, abi } of templates) {
    const { template, flaw, executed } = read(source);
    expect([name, flaw, executed]).toEqual([name, null, null]);
    const stated = template.abi.functions.filter(({ access }) => access !== 'private');
    const heads = stated.map(({ name: called, access, args }) => ({ name: called, access, args }));
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
    expect(heads.toSorted(byName)).toEqual(
      abi.functions.map(({ name: called, access, args }) => ({ name: called, access, args })).toSorted(byName),
    );
    expect(template.abi.fungible_tokens).toEqual(abi.fungible_tokens);
    expect(template.abi.non_fungible_tokens).toEqual(abi.non_fungible_tokens);
    expect(template.abi.variables).toEqual(abi.variables);
  }
});

test('reads Clarity types in all their forms', () => {
  const { template } = read(`
    (define-map entries
      { who: principal, when:uint }
      (tuple (text (string-utf8 5)) (flag bool) (state (response (list 3 int) (optional (buff 2))))))
    (define-public (use (token <sip-010>) (memo (string-ascii 7))) (ok true))`);
  expect(template.abi.maps).toEqual([
    {
      name: 'entries',
      key: {
        tuple: [
          { name: 'who', type: 'principal' },
          { name: 'when', type: 'uint128' },
        ],
      },
      value: {
        tuple: [
          { name: 'text', type: { 'string-utf8': { length: 5 } } },
          { name: 'flag', type: 'bool' },
          {
            name: 'state',
            type: {
              response: { ok: { list: { type: 'int128', length: 3 } }, error: { optional: { buffer: { length: 2 } } } },
            },
          },
        ],
      },
    },
  ]);
  expect(template.abi.functions[0]?.args).toEqual([
    { name: 'token', type: 'trait_reference' },
    { name: 'memo', type: { 'string-ascii': { length: 7 } } },
  ]);
});

test('reads literal values, and omits values that need execution', () => {
  const { template } = read(`
    (define-constant number -5) (define-constant text "plain") (define-constant bytes 0x00ff) (define-constant wide u"ü")
    (define-constant friend .friend) (define-constant other 'ST000000000000000000002AMW42H) (define-constant nothing none)
    (define-constant sum (+ u1 u2)) (define-constant escaped "a\\"b") (define-constant huge u999999999999999999999999999999999999999)
    (define-data-var total uint u0) (define-data-var made uint (* u2 u3))`);
  expect(template.constants).toEqual({
    number: clarity.int(-5),
    text: clarity.ascii('plain'),
    bytes: clarity.buffer(Uint8Array.of(0, 255)),
    wide: clarity.utf8('ü'),
    friend: clarity.principal(`${deployer}.friend`),
    other: clarity.principal('ST000000000000000000002AMW42H'),
    nothing: clarity.none(),
  });
  expect(Object.keys(template.variables ?? {})).toEqual(['total']);
});

test('an invalid contract has an error, and executed code is reported', () => {
  const flawed = [
    '(',
    ')',
    '(define-public (a)',
    '(define-map a uint)',
    '(define-data-var a nothing u1)',
    '"open',
    '(}',
  ];
  for (const source of [...flawed, '('.repeat(100_000), '{'.repeat(70)]) expect(read(source).flaw).toMatch(/^:0:0: /);
  expect(read('(define-constant a u1)\n(map-set entries u1 u2)').executed).toBe('(map-set …)');
  expect(read(';; only a comment').executed).toBeNull();
  expect(read('u1').executed).toBe('a value');
});

const SENDER = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';

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
