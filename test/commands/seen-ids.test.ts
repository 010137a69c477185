import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SeenIds } from '../../src/commands/data/seen-ids.ts';
import { assertProperty, Seen } from '../support/property.ts';

test('an id is new once, in whatever order ids come', () => {
  const seen = new Seen({ 'known ids': 100 });
  assertProperty(
    fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 120, size: 'max' }), (ids) => {
      const all = new SeenIds();
      const known = new Set<number>();
      for (const id of ids) {
        if (known.has(id)) seen.add('known ids');
        expect(all.add(id)).toBe(!known.has(id));
        known.add(id);
      }
    }),
    { seen },
  );
});

test('a million ids in order take no more room than one', () => {
  const seen = new SeenIds();
  for (let id = 1; id <= 1_000_000; id++) seen.add(id);
  expect(seen.ranges).toBe(1);
  expect(seen.add(500_000)).toBe(false);
});
