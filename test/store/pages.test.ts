/** The law of cursors, on an in-memory list that gains and loses rows anywhere between two requests. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Cursor, Page } from '../../src/store/model/page.ts';
import { numberAt, readPage } from '../../src/store/queries/page.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** A list of numbers, in their order. */
class Numbers {
  readonly #rows: Set<number>;
  constructor(rows: readonly number[]) {
    this.#rows = new Set(rows);
  }

  rows = (): number[] => [...this.#rows].sort((a, b) => a - b);

  /** Removes a number from the list, or adds it if it is missing. */
  turn(row: number): void {
    if (!this.#rows.delete(row)) this.#rows.add(row);
  }

  page(limit: number, cursor: Cursor | null): Page<number> {
    const rows = this.rows();
    return readPage({
      limit,
      cursor,
      total: rows.length,
      rows: (key, isBackward, count) =>
        (isBackward ? rows.toReversed() : rows)
          .filter((row) => key === null || (isBackward ? row <= numberAt(key, 0) : row >= numberAt(key, 0)))
          .slice(0, count),
      keyOf: (row: number) => [row],
      itemOf: (row: number) => row,
    });
  }
}

const numbers = fc.nat({ max: 30 });
const limits = fc.integer({ min: 1, max: 8 });
/** The limit of each request, and the changes before the next one. */
const steps = fc.infiniteStream(fc.record({ limit: limits, changes: fc.array(numbers, { maxLength: 4 }) }));
const links = fc.constantFrom('next' as const, 'previous' as const);

test('a walk shows each row that stays once and in order, and ends', () => {
  const seen = new Seen({ pages: 300 });
  assertProperty(
    fc.property(
      fc.uniqueArray(numbers, { size: '+1' }),
      limits,
      fc.nat({ max: 3 }),
      links,
      steps,
      (rows, limit, ahead, link, stream) => {
        const list = new Numbers(rows);
        let page = list.page(limit, null);
        for (let i = 0; i < ahead && page.next !== null; i++) page = list.page(limit, page.next);
        const [first, last] = [page.items[0] ?? 0, page.items.at(-1) ?? 0];
        const due = new Set(rows.filter((row) => (link === 'next' ? row >= first : row <= last)));
        const pages = [page.items];
        for (let rounds = 40; page[link] !== null; rounds--) {
          const { limit, changes } = stream.next().value;
          for (const row of rounds > 0 ? changes : []) {
            list.turn(row);
            due.delete(row);
          }
          page = list.page(limit, page[link]);
          pages.push(page.items);
          if (page.items.length > 0) seen.add('pages');
          expect(page.items.length).toBeLessThanOrEqual(limit);
        }
        const items = (link === 'next' ? pages : pages.reverse()).flat();
        expect(items).toEqual([...new Set(items)].sort((a, b) => a - b));
        expect(items.filter((row) => due.has(row))).toEqual([...due].sort((a, b) => a - b));
      },
    ),
    { seen, cases: 300 },
  );
});

test("from any page both directions lead to all remaining rows, even if the page's rows are gone", () => {
  const seen = new Seen({ pages: 300 });
  assertProperty(
    fc.property(fc.uniqueArray(numbers), fc.array(numbers), steps, links, (rows, changes, stream, link) => {
      const list = new Numbers(rows);
      let page = list.page(2, null);
      for (let i = 0; i < 3 && page[link] !== null; i++) page = list.page(stream.next().value.limit, page[link]);
      const cursors = [page.current, page.next, page.previous].filter((cursor) => cursor !== null);
      for (const row of changes) list.turn(row);
      for (const cursor of cursors) {
        const page = list.page(3, cursor);
        if (page.items.length > 0) seen.add('pages');
        expect(list.page(3, page.current)).toEqual(page);
        const later = page.next === null ? [] : list.page(100, page.next).items;
        const earlier = page.previous === null ? [] : list.page(100, page.previous).items;
        expect([...earlier, ...page.items, ...later]).toEqual(list.rows());
      }
    }),
    { seen, cases: 300 },
  );
});

test('once rows are added before the first page, its previous leads to them', () => {
  const list = new Numbers([10, 11, 12]);
  const { current, previous } = list.page(2, null);
  expect(previous).toBeNull();
  for (const row of [1, 2, 3]) list.turn(row);
  const page = list.page(2, current);
  expect(page.items).toEqual([10, 11]);
  expect(list.page(2, page.previous).items).toEqual([2, 3]);
  expect(list.page(5, page.previous)).toMatchObject({ items: [1, 2, 3], previous: null });
});

test('the cursor of an empty list starts a walk over later rows', () => {
  const list = new Numbers([]);
  const { current, next, previous } = list.page(2, null);
  expect([next, previous]).toEqual([null, null]);
  for (const row of [1, 2, 3]) list.turn(row);
  expect(list.page(2, current)).toEqual(list.page(2, null));
});
