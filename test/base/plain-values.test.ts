import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bytesOfValue, valueOfBytes } from '../../src/base/plain-values.ts';
import { assertProperty, Seen } from '../support/property.ts';

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary-ascii', maxLength: 12 }),
  fc.array(fc.nat(0xffff), { maxLength: 6 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', 'SP000000000000000000002Q6VF78', 'x'.repeat(300), 'é'.repeat(300)),
);

const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom(
    0,
    -0,
    127,
    128,
    16_383,
    16_384,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    Number.NaN,
    Number.NEGATIVE_INFINITY,
  ),
);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, undefined, true, false),
    number,
    text,
    fc.oneof(
      fc.bigInt(),
      fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }),
      fc.constantFrom(0n, 2n ** 53n - 1n, 2n ** 53n),
    ),
    fc.uint8Array({ maxLength: 40 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(text, number), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.dictionary(fc.constantFrom('', 'kind', 'é', 'a"b', 'constructor', '1'), tie('value'), { noNullPrototype: true }),
  ),
}));

test('a plain value decodes to the same value', () => {
  assertProperty(
    fc.property(value, (given) => {
      const read = valueOfBytes(bytesOfValue(given));
      expect(read).toStrictEqual(given);
    }),
    { always: 'each case is a value' },
  );
});

test('a shared object, array or map stays shared', () => {
  const seen = new Seen({ shared: 60 });
  assertProperty(
    fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), (values) => {
      const pick = values.find((one) => typeof one === 'object' && one !== null && !(one instanceof Uint8Array));
      if (pick === undefined) return;
      seen.add('shared');
      const read = valueOfBytes(bytesOfValue({ first: pick, list: [values, { again: pick }] })) as {
        first: object;
        list: [unknown[], { again: object }];
      };
      expect(read.list[1].again).toBe(read.first);
      expect(read.list[0][values.indexOf(pick)]).toBe(read.first);
    }),
    { seen },
  );
});

test('bytes are copied, and a part of a larger buffer is written without the rest', () => {
  const whole = Uint8Array.from({ length: 1_000 }, (_, index) => index);
  const written = bytesOfValue({ part: whole.subarray(10, 14), buffer: Buffer.from('ab') });
  expect(written.length).toBeLessThan(40);
  const read = valueOfBytes(written) as Record<string, Uint8Array>;
  written.fill(0);
  expect(read).toStrictEqual({ part: Uint8Array.of(10, 11, 12, 13), buffer: Uint8Array.of(0x61, 0x62) });
});

test.each([
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['an object of a class', new (class Odd {})()],
  ['a set', new Set([1])],
  ['a date', new Date(0)],
  ['an object that would change its class', JSON.parse('{"__proto__": {"a": 1}}')],
])('%s is rejected', (_, given) => {
  expect(() => bytesOfValue({ list: [given] })).toThrow(TypeError);
});
