/** The grammar of conditions on Clarity values, and the index keys that find matching values. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeClarity } from '../../src/codec/clarity.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { type ClarityField, fieldsOf, fieldsOfCall, isWithin, MAX_FIELDS } from '../../src/codec/clarity-fields.ts';
import { clarityRepr } from '../../src/codec/clarity-text.ts';
import { toHex } from '../../src/codec/hex.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { ConditionError, conditionOf, meets } from '../../src/codec/value-condition.ts';
import { keyRange, valueKey } from '../../src/store/rows/value-keys.ts';
import { assertProperty, Seen } from '../support/property.ts';

const ALICE = 'SP000000000000000000002Q6VF78';
const POX = `${ALICE}.pox-4`;

/** The one field that is in a value without a tuple. */
function fieldOf(value: Uint8Array): ClarityField {
  const field = fieldsOf(value).get('');
  if (field === undefined) throw new Error('no field');
  return field;
}

const values: Record<string, Uint8Array> = {
  u5: clarity.uint(5),
  '5': clarity.int(5),
  '-5': clarity.int(-5),
  u0: clarity.uint(0),
  most: clarity.uint(2n ** 128n - 1n),
  least: clarity.int(-(2n ** 127n)),
  true: clarity.bool(true),
  none: clarity.none(),
  alice: clarity.principal(ALICE),
  pox: clarity.principal(POX),
  five: clarity.ascii('5'),
  'utf8 five': clarity.utf8('5'),
  word: clarity.ascii('stack-stx'),
  star: clarity.utf8('⭐'),
  bytes: clarity.buffer(Uint8Array.of(5)),
  list: clarity.list([clarity.uint(5)]),
};

const accepted: [condition: string, names: string[]][] = [
  ['5', ['u5', '5']],
  ['u5', ['u5']],
  ['eq:-5', ['-5']],
  ['gte:5', ['u5', '5', 'most']],
  ['gt:5', ['most']],
  ['gt:u4', ['u5', 'most']],
  ['lt:0', ['-5', 'least']],
  ['lte:u5', ['u5', 'u0']],
  ['between:-5,5', ['u5', '5', '-5', 'u0']],
  ['between:u0,5', ['u5', 'u0']],
  [`${2n ** 128n - 1n}`, ['most']],
  ['true', ['true']],
  ['none', ['none']],
  [ALICE, ['alice']],
  [`'${POX}`, ['pox']],
  ['"5"', ['five', 'utf8 five']],
  ['eq:stack-stx', ['word']],
  ['⭐', ['star']],
  ['0x0200000001' + '05', ['bytes']],
  [toHex(clarity.some(clarity.uint(5))), ['u5']],
  [toHex(clarity.list([clarity.uint(5)])), ['list']],
  ['"gte:5"', []],
  ['', []],
];

test.each(accepted)('%s matches %j', (text, names) => {
  const condition = conditionOf(text);
  const matches = Object.keys(values).filter((name) => meets(fieldOf(values[name]!), condition));
  expect(matches.sort()).toEqual(names.toSorted());
});

test.each([
  ['gte:word', /integer after gte:/],
  ['lt:none', /integer after lt:/],
  ['between:5', /two integers/],
  ['between:5,6,7', /two integers/],
  ['between:6,5', /at least one integer/],
  ['gt:340282366920938463463374607431768211455', /at least one integer/],
  ['340282366920938463463374607431768211456', /128 bits/],
  [`gte:${'9'.repeat(5000)}`, /128 bits/],
  [`-${'9'.repeat(60)}`, /128 bits/],
  ['0x', /hex/],
  ['0x010', /hex/],
  ['0x01ff', /hex/],
  ['0x0300', /hex/],
  [toHex(clarity.tuple({ a: clarity.uint(1) })), /name the fields/],
  [`${ALICE.slice(0, -1)}9`, /checksum/],
  ["'word", /checksum/],
])('%s is rejected', (text, rule) => {
  expect(() => conditionOf(text)).toThrow(ConditionError);
  expect(() => conditionOf(text)).toThrow(rule);
});

test('fields are named by tuple entries, through some, ok and err, and a list is one field', () => {
  const inner = clarity.tuple({ to: clarity.principal(ALICE), ids: clarity.list([clarity.uint(1)]) });
  const value = clarity.ok(clarity.tuple({ data: clarity.some(inner), memo: clarity.none() }));
  const fields = [...fieldsOf(value)].map(([path, { bytes }]) => `${path} ${clarityRepr(bytes)}`);
  expect(fields).toEqual(['data.ids (list u1)', `data.to '${ALICE}`, 'memo none']);
  expect(fieldsOf(Uint8Array.of(0xff)).size).toBe(0);
  const args = Uint8Array.of(0, 0, 0, 2, ...clarity.uint(1), ...inner);
  expect([...fieldsOfCall('send', args).keys()]).toEqual(['send.0', 'send.1.ids', 'send.1.to']);
  expect(fieldsOfCall('send', Uint8Array.of(1)).size).toBe(0);
  expect(['a', 'a.b', 'ab', 'b'].map((path) => isWithin(path, 'a'))).toEqual([true, true, false, false]);
});

test('a value with thousands of fields has only the first ones, and a deep field keeps its path', () => {
  const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`f${n}`, clarity.uint(n)]));
  expect(fieldsOf(clarity.tuple(fields)).size).toBe(MAX_FIELDS);
  let deep = clarity.uint(1);
  for (let level = 0; level < 60; level++) deep = clarity.tuple({ ['k'.repeat(120)]: deep });
  const [path = ''] = fieldsOf(deep).keys();
  expect(path.length).toBe(60 * 121 - 1);
});

const integers = fc.oneof(fc.bigInt({ min: -(2n ** 127n), max: 2n ** 128n - 1n }), fc.bigInt({ min: -12n, max: 12n }));
const fields = fc.oneof(
  integers.map((value) => (value >= 0n ? clarity.uint(value) : clarity.int(value))),
  fc.bigInt({ min: -12n, max: 2n ** 127n - 1n }).map(clarity.int),
  fc.string({ maxLength: 200 }).map(clarity.utf8),
  fc.stringMatching(/^[ -~]{0,150}$/).map(clarity.ascii),
  fc.uint8Array({ maxLength: 200 }).map(clarity.buffer),
  fc.boolean().map(clarity.bool),
  fc.constant(clarity.none()),
);
const texts = fc.oneof(
  fc.tuple(fc.constantFrom('', 'eq:', 'gt:', 'gte:', 'lt:', 'lte:'), integers).map(([operator, n]) => operator + n),
  fc.tuple(integers, integers).map(([a, b]) => `between:${a},${b}`),
  fields.map(toHex),
  fc.string(),
);

test("every matching value has a key in the condition's range, and integer keys keep their order", () => {
  const conditionOrNull = (text: string) => {
    try {
      return conditionOf(text);
    } catch (error) {
      if (!(error instanceof ConditionError)) throw error;
      return null;
    }
  };
  const seen = new Seen({ 'conditions that are met': 30, 'integers compared': 10 });
  assertProperty(
    fc.property(fields, texts, fields, (value, text, otherValue) => {
      const decoded = fieldOf(value);
      for (const condition of [conditionOrNull(text), conditionOf(toHex(value))]) {
        if (condition === null || !meets(decoded, condition)) continue;
        seen.add('conditions that are met');
        const { low, high } = keyRange([condition]);
        const key = valueKey(decoded);
        expect(key >= low && key <= high).toBe(true);
        expect(key.length).toBeLessThanOrEqual(42);
      }
      const [a, b] = [decoded, fieldOf(otherValue)];
      if ('value' in a && 'value' in b && typeof a.value === 'bigint' && typeof b.value === 'bigint') {
        seen.add('integers compared');
        expect(Math.sign(Number(valueKey(a) > valueKey(b)) - Number(valueKey(a) < valueKey(b)))).toBe(
          a.value < b.value ? -1 : Number(a.value > b.value),
        );
      }
    }),
    { seen, cases: 300 },
  );
  // The same text has a different key per kind of value, even if it is long.
  const long = 'x'.repeat(100_000);
  const keys = [clarity.ascii(long), clarity.ascii(`${long}y`), clarity.buffer(utf8Bytes(long))].map((value) =>
    valueKey(fieldOf(value)),
  );
  expect(new Set(keys).size).toBe(3);
  expect(valueKey(fieldOf(clarity.utf8(long)))).toBe(keys[0]!);
  expect(decodeClarity(clarity.ascii(long)).ok).toBe(true);
});
