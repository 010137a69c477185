import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decimalOf, isPositive, sortable } from '../../src/store/rows/formats.ts';
import { assertProperty } from '../support/property.ts';

const amount = fc.oneof(fc.bigInt({ min: -(2n ** 140n), max: 2n ** 140n }), fc.bigInt({ min: -1200n, max: 1200n }));

test('amounts come back as they were, and their texts are in the order of the numbers', () => {
  assertProperty(
    fc.property(amount, amount, (a, b) => {
      const [textA, textB] = [sortable(String(a)), sortable(String(b))];
      expect(decimalOf(textA)).toBe(String(a));
      expect(isPositive(textA)).toBe(a > 0n);
      expect(textA < textB).toBe(a < b);
    }),
    { always: 'any two amounts are compared', cases: 2000 },
  );
});
