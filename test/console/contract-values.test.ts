/** Forms for the arguments of contract functions, and logs as columns, without a browser. */
import { describe, expect, test } from 'bun:test';
import { Cl, type ClarityValue as LibraryValue, serializeCVBytes } from '@stacks/transactions';
import fc from 'fast-check';
import { type AbiType, abiTypeString } from '../../src/codec/abi.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { clarityTypeOf } from '../../src/codec/clarity-text.ts';
import { toHex } from '../../src/codec/hex.ts';
import {
  decodeHex,
  encodeArguments,
  formFields,
  functionsOf,
  leavesOf,
  logColumns,
  logFields,
  readables,
} from '../../src/console/app/chain/contract-values.ts';
import { printableText } from '../../src/console/app/chain/format.ts';
import { address, contractName } from '../codec/arbitraries.ts';
import { assertProperty, character } from '../support/property.ts';

/**
 * A type, a value of the type in another implementation, and the texts to type for it, by path below the argument's.
 */
interface Filled {
  type: AbiType;
  value: LibraryValue;
  typed: [path: string, text: string][];
}

const below = (part: string | number, typed: Filled['typed']): Filled['typed'] =>
  typed.map(([path, text]) => [path === '' ? `.${part}` : `.${part}${path}`, text]);

const leaf = (type: AbiType, value: LibraryValue, text: string): Filled => ({ type, value, typed: [['', text]] });

const MAX_BYTES = 40;

const leaves: fc.Arbitrary<Filled> = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((n) => leaf('uint128', Cl.uint(n), String(n))),
  fc.nat().map((n) => leaf('uint128', Cl.uint(n), ` u${n} `)),
  fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }).map((n) => leaf('int128', Cl.int(n), String(n))),
  fc.boolean().map((b) => leaf('bool', Cl.bool(b), String(b))),
  address().map((text) => leaf('principal', Cl.principal(text), text)),
  fc
    .tuple(address(), contractName(), fc.constantFrom('principal' as const, 'trait_reference' as const))
    .map(([text, name, type]) => leaf(type, Cl.contractPrincipal(text, name), `${text}.${name}`)),
  fc
    .uint8Array({ maxLength: MAX_BYTES })
    .map((bytes) => leaf({ buffer: { length: MAX_BYTES } }, Cl.buffer(bytes), toHex(bytes))),
  fc
    .string({ unit: character, maxLength: 10 })
    .filter((text) => !text.startsWith('0x'))
    .map((text) => leaf({ buffer: { length: MAX_BYTES } }, Cl.buffer(Buffer.from(text)), text)),
  fc
    .stringMatching(/^[ -~]{0,40}$/)
    .map((text) => leaf({ 'string-ascii': { length: 40 } }, Cl.stringAscii(text), text)),
  fc
    .string({ unit: character, maxLength: 20 })
    .map((text) => leaf({ 'string-utf8': { length: 20 } }, Cl.stringUtf8(text), text)),
);

/** Values of the same type, for the items of a list. */
const sameType = (items: readonly Filled[]): Filled[] => {
  const [first] = items;
  return first === undefined ? [] : items.filter(({ type }) => abiTypeString(type) === abiTypeString(first.type));
};

const filled: fc.Arbitrary<Filled> = fc.letrec<{ any: Filled }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    fc
      .tuple(tie('any'), fc.boolean())
      .map(([{ type, value, typed }, isSome]) => ({
        type: { optional: type },
        value: isSome ? Cl.some(value) : Cl.none(),
        typed: isSome ? [['', 'some'], ...below('some', typed)] : [],
      })),
    fc.tuple(tie('any'), tie('any'), fc.constantFrom('ok', 'err')).map(([ok, error, side]) => {
      const { value, typed } = side === 'ok' ? ok : error;
      return {
        type: { response: { ok: ok.type, error: error.type } },
        value: side === 'ok' ? Cl.ok(value) : Cl.error(value),
        typed: [['', side], ...below(side, typed)],
      };
    }),
    fc.array(tie('any'), { minLength: 1, maxLength: 4 }).map((all) => {
      const items = sameType(all);
      return {
        type: { list: { type: items[0]?.type ?? 'bool', length: 4 } },
        value: Cl.list(items.map(({ value }) => value)),
        typed: [['', String(items.length)], ...items.flatMap(({ typed }, place) => below(place, typed))],
      };
    }),
    fc
      .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,4}$/), tie('any')), {
        minLength: 1,
        maxLength: 4,
        selector: ([name]) => name,
      })
      .map((entries) => ({
        type: { tuple: entries.map(([name, { type }]) => ({ name, type })) },
        value: Cl.tuple(Object.fromEntries(entries.map(([name, { value }]) => [name, value]))),
        typed: entries.flatMap(([name, { typed }]) => below(name, typed)),
      })),
  ) as fc.Arbitrary<Filled>,
})).any;

const draftOf = (name: string, { typed }: Filled) => new Map(typed.map(([path, text]) => [`${name}${path}`, text]));

describe("an argument's form", () => {
  test('encodes each value like stacks.js, and decodes it', () => {
    assertProperty(
      fc.property(filled, (example) => {
        const { values, mistakes } = encodeArguments([{ name: 'a', type: example.type }], draftOf('a', example));
        expect(mistakes).toEqual([]);
        const [bytes = new Uint8Array(0)] = values;
        expect(toHex(bytes)).toBe(toHex(serializeCVBytes(example.value)));
        const value = decodeHex(toHex(bytes));
        expect(toHex(value?.bytes ?? new Uint8Array(0))).toBe(toHex(bytes));
      }),
      { always: 'each value is checked' },
    );
  });

  test('has exactly one field for each typed text', () => {
    assertProperty(
      fc.property(filled, (example) => {
        const fields = formFields([{ name: 'a', type: example.type }], draftOf('a', example));
        const paths = fields.map(({ path }) => path);
        expect(new Set(paths).size).toBe(paths.length);
        const typed = new Set(draftOf('a', example).keys());
        expect(typed.difference(new Set(paths)).size).toBe(0);
        const left = new Set(paths).difference(typed);
        // A field without typed text is a choice, and its first option is none.
        for (const path of left) expect(fields.find((field) => field.path === path)?.choices?.[0]).toBe('none');
      }),
      { always: 'each value is checked' },
    );
  });

  const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
  const notAddress = 'must be an address, or a contract as ADDRESS.name; here a character is wrong or missing';

  test.each<[AbiType, string, string]>([
    ['uint128', '', 'must be a whole number from 0 to 2^128 − 1'],
    ['uint128', '-1', 'must be a whole number from 0 to 2^128 − 1'],
    ['uint128', String(2n ** 128n), 'must be a whole number from 0 to 2^128 − 1'],
    ['uint128', '1,5', 'must be a whole number from 0 to 2^128 − 1'],
    ['uint128', '9'.repeat(100_000), 'must be a whole number from 0 to 2^128 − 1'],
    ['int128', String(2n ** 127n), 'must be a whole number from −2^127 to 2^127 − 1'],
    ['int128', 'u5', 'must be a whole number from −2^127 to 2^127 − 1'],
    ['principal', '', notAddress],
    ['principal', `${ADDRESS}A`, notAddress],
    ['trait_reference', ADDRESS, 'must be a contract: ADDRESS.name'],
    [{ buffer: { length: 2 } }, '0x010203', 'has 3 bytes, and at most 2 fit'],
    [{ buffer: { length: 2 } }, '0x123', 'must have hex digits in pairs after 0x'],
    [{ buffer: { length: 2 } }, '0xzz', 'must have hex digits in pairs after 0x'],
    [{ buffer: { length: 3 } }, 'äß', 'has 4 bytes, and at most 3 fit'],
    [{ 'string-ascii': { length: 3 } }, 'four', 'has 4 characters, and at most 3 fit'],
    [{ 'string-ascii': { length: 3 } }, 'é', 'must have ASCII characters only'],
    [{ 'string-ascii': { length: 3 } }, '\u0000', 'must have ASCII characters only'],
    [{ 'string-utf8': { length: 1 } }, '⭐⭐', 'has 2 characters, and at most 1 fit'],
    [{ 'string-utf8': { length: 1 } }, '\ud83d', 'must not have half a character'],
    [{ list: { type: 'bool', length: 3 } }, '4', 'must be a number of items from 0 to 3'],
    [{ list: { type: 'bool', length: 3 } }, '1.5', 'must be a number of items from 0 to 3'],
    [{ list: { type: 'bool', length: 1_000_000 } }, '1000000', 'must be a number of items from 0 to 200'],
  ])('for %j rejects %j with a message', (type, text, message) => {
    const { values, mistakes } = encodeArguments([{ name: 'it', type }], new Map([['it', text]]));
    expect([values, mistakes]).toEqual([[], [{ path: 'it', message }]]);
  });

  test('reports all mistakes at once, each with the path of its field', () => {
    const [to, n] = [{ name: 'to', type: 'principal' } as const, { name: 'n', type: 'uint128' } as const];
    const who = { name: 'who', type: { list: { type: { tuple: [to, n] }, length: 9 } } };
    const draft = new Map(Object.entries({ who: '2', 'who.0.to': ADDRESS, 'who.1.n': '5' }));
    const { mistakes } = encodeArguments([who, { name: 'fee', type: 'int128' }], draft);
    expect(mistakes.map(({ path }) => path)).toEqual(['who.0.n', 'who.1.to', 'fee']);
  });

  test('has all fields of a tuple with 30 levels, and of keys that a prototype has', () => {
    let type: AbiType = 'uint128';
    for (let level = 0; level < 30; level++) type = { tuple: [{ name: 'in', type }] };
    const path = `deep${'.in'.repeat(30)}`;
    expect(formFields([{ name: 'deep', type }], new Map()).map((field) => field.path)).toEqual([path]);
    const [bytes = new Uint8Array(0)] = encodeArguments([{ name: 'deep', type }], new Map([[path, '7']])).values;
    expect([...leavesOf(decodeHex(toHex(bytes))!)]).toMatchObject([{ path: path.slice(5), type: 'uint' }]);

    const odd: AbiType = { tuple: [{ name: '__proto__', type: 'bool' }] };
    const { values } = encodeArguments([{ name: 'a', type: odd }], new Map([['a.__proto__', 'false']]));
    expect(values.map(toHex)).toEqual(['0x0c00000001095f5f70726f746f5f5f04']);
  });
});

describe('the readable parts of a contract', () => {
  test('are the parts of its interface that the form supports', () => {
    const contractInterface = {
      functions: [
        { name: 'get-it', access: 'read_only', args: [{ name: 'id', type: 'uint128' }], outputs: { type: 'bool' } },
        { name: 'set-it', access: 'public', args: [], outputs: { type: 'bool' } },
        { name: 'new?', access: 'read_only', args: [{ name: 'id', type: { matrix: 3 } }], outputs: { type: 'tensor' } },
        { name: 'odd', access: 'read_only', args: [{ type: { buffer: null } }] },
        { name: 7, access: 'read_only', args: [] },
        null,
      ],
      variables: [
        { name: 'total', access: 'variable', type: 'uint128' },
        { name: 'MOST', access: 'constant', type: { optional: 'int128' } },
      ],
      maps: [{ name: 'owners', key: { tuple: [{ name: 'id', type: 'uint128' }] }, value: 'principal' }],
    };
    const summary = readables(contractInterface).map(({ kind, name, args, output }) => [
      kind,
      name,
      args?.map((arg) => `${arg.name} ${abiTypeString(arg.type)}`) ?? null,
      output,
    ]);
    expect(summary).toEqual([
      ['function', 'get-it', ['id uint'], 'bool'],
      ['function', 'new?', null, null],
      ['function', 'odd', null, null],
      ['variable', 'total', [], 'uint'],
      ['constant', 'MOST', [], '(optional int)'],
      ['map', 'owners', ['key (tuple (id uint))'], '(optional principal)'],
    ]);
    expect(functionsOf(contractInterface, 'public')).toEqual([{ name: 'set-it', args: [], output: 'bool' }]);
  });

  test.each([[null], ['text'], [[]], [{}], [{ functions: 'none', maps: { length: 3 } }]])('are empty for %j', (odd) => {
    expect([...readables(odd), ...functionsOf(odd, 'public')]).toEqual([]);
  });
});

describe("a value's parts", () => {
  const partsOf = (bytes: Uint8Array) =>
    [...leavesOf(decodeHex(toHex(bytes))!)].map(({ path, type }) => `${path}: ${type}`);

  test('have paths and types, including containers', () => {
    expect(partsOf(clarity.ok(clarity.some(clarity.uint(5))))).toEqual([': ok some uint']);
    const inner = clarity.tuple({ b: clarity.none(), a: clarity.list([clarity.bool(true), clarity.bool(false)]) });
    expect(partsOf(clarity.ok(inner))).toEqual(['ok.a.0: bool', 'ok.a.1: bool', 'ok.b: optional']);
    expect(partsOf(clarity.tuple({ x: clarity.err(clarity.list([])) }))).toEqual(['x: err list']);
  });

  test('have the right type in any value', () => {
    assertProperty(
      fc.property(filled, ({ value }) => {
        const decoded = decodeHex(toHex(serializeCVBytes(value)))!;
        for (const { type, value: part } of leavesOf(decoded)) {
          if (part.type !== 'none' && part.type !== 'list') expect(type).toEndWith(clarityTypeOf(part));
        }
      }),
      { always: 'each value is checked' },
    );
  });

  test('are computed lazily for a value of 1 MB', () => {
    const items = Array.from({ length: 61_000 }, (_, n) => clarity.uint(n));
    const value = decodeHex(toHex(clarity.list(items)))!;
    expect(
      leavesOf(value)
        .take(3)
        .map(({ path }) => path)
        .toArray(),
    ).toEqual(['0', '1', '2']);
  });

  test.each(['0x0f', '0x01', 'zz', '0x0', ''])('are null for the invalid %j', (hex) => {
    expect(decodeHex(hex)).toBeNull();
  });

  test.each([
    ['alice.btc', 'alice.btc'],
    ['naïve ⭐', 'naïve ⭐'],
    ['', null],
    ['   ', null],
    ['a\u0000', null],
    ['a\nb', null],
    ['\u202eevil', null],
  ])('show the bytes of %j as text %j', (text, expected) => {
    expect(printableText(Buffer.from(text))).toBe(expected);
  });
});

describe('log columns', () => {
  const fieldsOf = (entries: Record<string, Uint8Array>) => logFields(toHex(clarity.tuple(entries)));
  const columns = (...logs: ReturnType<typeof logFields>[]) => logColumns(logs).map(({ path }) => path);

  test('are the most common fields, with the event name first and outer fields before inner ones', () => {
    const moved = (op: string) =>
      fieldsOf({
        amount: clarity.uint(5),
        event: clarity.ascii('moved'),
        data: clarity.tuple({ op: clarity.ascii(op), id: clarity.uint(1) }),
        holders: clarity.list([]),
      });
    const other = fieldsOf({ event: clarity.ascii('other'), note: clarity.bool(true) });
    expect(columns(moved('a'), moved('b'), other)).toEqual(['event', 'data.op', 'amount', 'data.id']);
    expect(columns(other, other, other, moved('a'))).toEqual(['event', 'note']);
  });

  test('are numeric only if all their values are integers', () => {
    const logs = [clarity.some(clarity.uint(5)), clarity.none()].map((n) => fieldsOf({ n, id: clarity.ascii('1') }));
    expect(logColumns(logs).map(({ path, isNumber }) => [path, isNumber])).toEqual([
      ['id', false],
      ['n', true],
    ]);
  });

  test('show the whole value for logs that are not tuples, and the tuple inside a response', () => {
    expect(columns(logFields(toHex(clarity.uint(5))), logFields('0xff'))).toEqual(['']);
    expect(columns(logFields(toHex(clarity.ok(clarity.tuple({ a: clarity.uint(1) })))))).toEqual(['a']);
    expect(columns()).toEqual([]);
  });
});
