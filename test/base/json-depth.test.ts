/** The nesting depth of a JSON text, scanned from the text and compared to its value. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isTooDeep, MAX_DEPTH } from '../../src/base/json.ts';
import { assertProperty, Seen } from '../support/property.ts';

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

/** Texts with everything that a scan may misread. */
const awkward = fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', 'a'), maxLength: 12 });

test('a text is too deep exactly if its value is', () => {
  const { tree } = fc.letrec<{ tree: unknown; list: unknown[]; object: Record<string, unknown> }>((tie) => ({
    tree: fc.oneof({ depthIdentifier: 'json', maxDepth: 3 }, awkward, tie('list'), tie('object')),
    list: fc.array(tie('tree'), { maxLength: 3 }),
    object: fc.dictionary(awkward, tie('tree'), { maxKeys: 3 }),
  }));
  const wrapped = fc.tuple(tree, fc.integer({ min: MAX_DEPTH - 4, max: MAX_DEPTH + 1 }));
  const seen = new Seen({ deep: 10, flat: 10 });
  assertProperty(
    fc.property(wrapped, ([inner, levels]) => {
      let value = inner;
      for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { '"]\\': value };
      const isDeep = depthOf(value) > MAX_DEPTH;
      seen.add(isDeep ? 'deep' : 'flat');
      expect(isTooDeep(JSON.stringify(value))).toBe(isDeep);
    }),
    { seen, cases: 300 },
  );
});

test.each([
  ['a string that never ends', `"${'['.repeat(50)}`, false],
  ['a string that ends with an escaped quote', `["${'\\\\'.repeat(20)}\\"${'['.repeat(50)}`, false],
  ['brackets after a string that ends with a backslash', `"\\\\"${'['.repeat(MAX_DEPTH + 1)}`, true],
])('the depth check works for %s', (_, text, deep) => {
  expect(isTooDeep(text)).toBe(deep);
});
