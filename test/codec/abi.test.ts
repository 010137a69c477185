import { expect, test } from 'bun:test';
import {
  type AbiFunction,
  type AbiType,
  abiTypeString,
  contractFunctions,
  functionSignature,
  typedArguments,
} from '../../src/codec/abi.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';

const types: [AbiType, string][] = [
  ['uint128', 'uint'],
  ['int128', 'int'],
  ['bool', 'bool'],
  ['principal', 'principal'],
  ['trait_reference', 'trait_reference'],
  ['none', 'none'],
  [{ buffer: { length: 20 } }, '(buff 20)'],
  [{ 'string-ascii': { length: 5 } }, '(string-ascii 5)'],
  [{ 'string-utf8': { length: 256 } }, '(string-utf8 256)'],
  [{ optional: 'uint128' }, '(optional uint)'],
  [{ response: { ok: 'bool', error: 'none' } }, '(response bool none)'],
  [{ tuple: [] }, '(tuple )'],
  [
    {
      list: {
        length: 200,
        type: {
          tuple: [
            { name: 'to', type: 'principal' },
            { name: 'amount', type: 'uint128' },
          ],
        },
      },
    },
    '(list 200 (tuple (to principal) (amount uint)))',
  ],
];

test.each(types)('the type %j has the text %s', (type, text) => {
  expect(abiTypeString(type)).toBe(text);
});

test('an unknown type gives null instead of a text, even inside another type', () => {
  const later = 'uint256' as AbiType;
  for (const type of [
    later,
    { set: { length: 3 } } as unknown as AbiType,
    null as unknown as AbiType,
    { optional: later },
    { response: { ok: 'bool', error: later } },
    { list: { type: later, length: 1 } },
    { tuple: [{ name: 'a', type: later }] },
  ] satisfies AbiType[]) {
    expect(abiTypeString(type)).toBeNull();
  }
});

test.each([
  { buffer: null },
  { buffer: {} },
  { 'string-ascii': 5 },
  { 'string-utf8': null },
  { optional: null },
  { response: null },
  { response: { ok: 'bool' } },
  { list: null },
  { list: {} },
  { list: { type: 'bool', length: 'x' } },
  { tuple: {} },
  { tuple: null },
  { tuple: [null] },
  { tuple: [{ type: 'bool' }] },
])('a type of another form gives null: %j', (type) => {
  expect(abiTypeString(type as unknown as AbiType)).toBeNull();
});

const transfer: AbiFunction = {
  name: 'transfer',
  access: 'public',
  args: [
    { name: 'amount', type: 'uint128' },
    { name: 'memo', type: { optional: { buffer: { length: 34 } } } },
  ],
};

test('a signature is the head of the definition, with a blank instead of missing arguments', () => {
  expect(functionSignature(transfer)).toBe('(define-public (transfer (amount uint) (memo (optional (buff 34)))))');
  expect(functionSignature({ name: 'tick', access: 'public', args: [] })).toBe('(define-public (tick ))');
  expect(functionSignature({ name: 'f', access: 'read_only', args: [] })).toBe('(define-read-only (f ))');
  expect(functionSignature({ name: 'f', access: 'private', args: [] })).toBe('(define-private (f ))');
});

const args = encodeArguments([clarity.uint(5), clarity.none(), clarity.bool(true)]);

test('arguments have their declared names and types, and extra ones have the types of their values', () => {
  expect(typedArguments(args, transfer)).toEqual([
    { hex: '0x0100000000000000000000000000000005', repr: 'u5', name: 'amount', type: 'uint' },
    { hex: '0x09', repr: 'none', name: 'memo', type: '(optional (buff 34))' },
    { hex: '0x03', repr: 'true', name: '', type: 'bool' },
  ]);
});

test('arguments without a declaration have an empty name and the type of their value', () => {
  expect(typedArguments(args, undefined).map(({ name, type }) => [name, type])).toEqual([
    ['', 'uint'],
    ['', '(optional UnknownType)'],
    ['', 'bool'],
  ]);
});

test('an argument of an unknown declared type has the type of its value', () => {
  const declared = { ...transfer, args: [{ name: 'amount', type: 'uint256' as AbiType }] };
  expect(typedArguments(args, declared)[0]).toMatchObject({ name: 'amount', type: 'uint' });
});

test('empty arguments give an empty list, and invalid bytes one unknown argument', () => {
  expect(typedArguments(encodeArguments([]), transfer)).toEqual([]);
  expect(typedArguments(new Uint8Array(), transfer)).toEqual([]);
  expect(typedArguments(Uint8Array.of(0, 0, 0, 9, 3), transfer)).toEqual([
    { hex: '0x0000000903', repr: '0x0000000903', name: '', type: 'UnknownType' },
  ]);
});

test('an interface nested too deeply declares nothing, and the deepest Clarity type is read', () => {
  const nestedInterface = (levels: number) => {
    const type = `${'{"optional":'.repeat(levels)}"bool"${'}'.repeat(levels)}`;
    return `{"functions":[{"name":"f","access":"public","args":[{"name":"a","type":${type}}]}]}`;
  };
  expect(contractFunctions(nestedInterface(1_000_000)).size).toBe(0);
  const declared = contractFunctions(nestedInterface(32)).get('f');
  expect(abiTypeString(declared!.args[0]!.type)).toBe(`${'(optional '.repeat(32)}bool${')'.repeat(32)}`);
});
