import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeCursor, encodeCursor } from '../../src/http/pagination.ts';
import { type Cursor, cursorSides, HEAD } from '../../src/store/model/page.ts';
import { assertProperty, character, Seen } from '../support/property.ts';

const part = fc.oneof(
  fc.maxSafeInteger().filter((number) => !Object.is(number, -0)),
  fc.string({ unit: character, maxLength: 80 }),
);
const key = fc.array(part, { minLength: 1, maxLength: 8 });
const cursor: fc.Arbitrary<Cursor> = fc.oneof(
  fc.constant(HEAD),
  fc.record({ side: fc.constantFrom(...cursorSides), key }),
);

test('an encoded cursor decodes to the same cursor', () => {
  assertProperty(
    fc.property(fc.string(), cursor, (list, position) => {
      expect(decodeCursor(list, encodeCursor(list, position))).toEqual(position);
    }),
    { always: 'each cursor is written and read back' },
  );
});

test('an encoded cursor is safe in a query without escaping', () => {
  assertProperty(
    fc.property(cursor, (position) => expect(encodeCursor('list', position)).toMatch(/^[A-Za-z0-9_-]+$/)),
    { always: 'each cursor is written' },
  );
});

test('a cursor from another list is rejected', () => {
  assertProperty(
    fc.property(fc.string(), fc.string(), cursor, (list, other, position) => {
      fc.pre(list !== other);
      expect(decodeCursor(other, encodeCursor(list, position))).toBeNull();
    }),
    { always: 'equal lists are drawn again' },
  );
});

test('a cursor with a changed character is rejected or unchanged', () => {
  const seen = new Seen({ refused: 20 });
  assertProperty(
    fc.property(cursor, fc.nat(), fc.constantFrom(...'AZaz09_-'), (position, index, character) => {
      const text = encodeCursor('list', position);
      const place = index % text.length;
      const broken = text.slice(0, place) + character + text.slice(place + 1);
      // The last character may carry bits that stand for nothing.
      const read = decodeCursor('list', broken);
      if (read === null) seen.add('refused');
      expect([null, position]).toContainEqual(read);
    }),
    { seen },
  );
});

test('any text decodes to a cursor or null', () => {
  assertProperty(
    fc.property(fc.string(), (text) => void decodeCursor('list', text)),
    { always: 'any text is read, and none may throw' },
  );
});

test.each([
  ['an unknown side', 'BQAAAABbMV0'],
  ['no side', 'AAAAAABbMV0'],
  ['nothing', ''],
  ['only a head', 'AQAAAAA'],
  ['no base64', '150000:2147483647:4'],
])('a cursor with %s is rejected', (_, text) => {
  expect(decodeCursor('list', text)).toBeNull();
});

test('a cursor without a key is valid only for the start of a list', () => {
  for (const side of cursorSides) {
    const position = { side, key: [] };
    expect(decodeCursor('list', encodeCursor('list', position))).toEqual(side === 'from' ? position : null);
  }
});
