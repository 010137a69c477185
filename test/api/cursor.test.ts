import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeCursor, encodeCursor } from '../../src/http/cursor.ts';
import { assertProperty } from '../support/property.ts';

const part = fc.oneof(
  fc.maxSafeInteger().filter((number) => !Object.is(number, -0)),
  fc.string({ unit: 'binary', maxLength: 80 }),
);
const key = fc.array(part, { minLength: 1, maxLength: 8 });

test('a cursor gives back the key it was made of', () => {
  assertProperty(
    fc.property(fc.string(), key, (list, parts) => {
      expect(decodeCursor(list, encodeCursor(list, parts))).toEqual(parts);
    }),
  );
});

test('a cursor is safe in a query as it stands', () => {
  assertProperty(fc.property(key, (parts) => expect(encodeCursor('list', parts)).toMatch(/^[A-Za-z0-9_-]+$/)));
});

test('a cursor of another list is refused', () => {
  assertProperty(
    fc.property(fc.string(), fc.string(), key, (one, other, parts) => {
      fc.pre(one !== other);
      expect(decodeCursor(other, encodeCursor(one, parts))).toBeNull();
    }),
  );
});

test('a cursor with one character changed is refused or of the same key', () => {
  assertProperty(
    fc.property(key, fc.nat(), fc.constantFrom(...'AZaz09_-'), (parts, at, character) => {
      const text = encodeCursor('list', parts);
      const place = at % text.length;
      const broken = text.slice(0, place) + character + text.slice(place + 1);
      // The last character may carry bits that stand for nothing.
      expect([null, parts]).toContainEqual(decodeCursor('list', broken) as typeof parts | null);
    }),
  );
});

test('any text at all is a key or null', () => {
  assertProperty(fc.property(fc.string(), (text) => void decodeCursor('list', text)));
});

test.each([
  ['another version', 'AgAAAABbMV0'],
  ['nothing', ''],
  ['only a head', 'AQAAAAA'],
  ['the form of an older server', '150000:2147483647:4'],
])('%s is no cursor', (_, text) => {
  expect(decodeCursor('list', text)).toBeNull();
});
