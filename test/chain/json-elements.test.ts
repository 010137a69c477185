import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { elementsOf } from '../../src/chain/json-elements.ts';
import { assertProperty, Seen } from '../support/property.ts';

const fields = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
const elements = fc.array(fc.jsonValue(), { minLength: 1 });
const blanks = fc.constantFrom(undefined, 1, '\t');

/** Joins the elements and the rest of a text into one value, or returns null if the text can't be split. */
function putTogether(text: string): unknown {
  const cut = elementsOf(text, 'events');
  if (cut === null) return null;
  const { elements, rest } = cut;
  const events = Array.from({ length: elements.length }, (_, index) => JSON.parse(elements.at(index)));
  return { ...JSON.parse(rest), events };
}

const isJson = (work: () => unknown): boolean => {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
};

test('an array is cut out of a text, and both parts together are the whole', () => {
  const seen = new Seen({ 'put together': 50, 'left alone': 5 });
  assertProperty(
    fc.property(fields, elements, fields, blanks, (before, events, after, blank) => {
      const { events: _, ...rest } = after;
      const text = JSON.stringify({ ...before, events, ...rest }, null, blank);
      const hasEscapes = Object.keys(JSON.parse(text)).some((key) => JSON.stringify(key).includes('\\'));
      seen.add(hasEscapes ? 'left alone' : 'put together');
      expect(putTogether(text)).toEqual(hasEscapes ? null : JSON.parse(text));
    }),
    { seen, cases: 300 },
  );
});

test('invalid JSON stays invalid in parts', () => {
  const seen = new Seen({ 'put together': 50 });
  assertProperty(
    fc.property(
      fields,
      elements,
      fc.nat(),
      fc.constantFrom('', ',', ']', '}', '"', '[', 'x'),
      (rest, events, offset, insertion) => {
        const text = JSON.stringify({ events, ...rest });
        const place = offset % text.length;
        const damaged = text.slice(0, place) + insertion + text.slice(place + 1);
        if (elementsOf(damaged, 'events') === null) return;
        seen.add('put together');
        expect(isJson(() => putTogether(damaged))).toBe(isJson(() => JSON.parse(damaged)));
      },
    ),
    { seen, cases: 1000 },
  );
});

test("a duplicate or nested key, and a value that isn't a non-empty array, are not split", () => {
  for (const text of [
    ...['{"events":[1],"events":[2]}', '{"events":{}}', '{"events":[]}', '{"a":{"events":[1]}}', '{"events":[1'],
  ]) {
    expect(elementsOf(text, 'events')).toBeNull();
  }
});
