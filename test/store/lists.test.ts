/** Declared lists of any key, read page by page in both directions, against the rows in memory. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Cursor, Page } from '../../src/store/model/page.ts';
import { down, type List, type ListedRows, orderedList, reversed, up, walked } from '../../src/store/queries/list.ts';
import { type PageSource, readPage } from '../../src/store/queries/page.ts';
import { assertProperty, Seen } from '../support/property.ts';

interface Row {
  n: number;
  name: string;
  id: Uint8Array;
}

let db: Database;
beforeAll(() => {
  db = new Database(':memory:');
  db.run('CREATE TABLE rows (n INTEGER NOT NULL, name TEXT NOT NULL, id BLOB NOT NULL, PRIMARY KEY (n, name, id))');
});
afterAll(() => db.close());

const select = 'SELECT r.n, r.name, r.id FROM rows r';
const lists: Record<string, List<Row>> = {
  'one column down': orderedList({ select, where: "r.name = 'a' AND r.id = x''" }, [down('r.n')]),
  'one column up': orderedList({ select, where: "r.name = 'a' AND r.id = x''" }, [up('r.n')]),
  'columns of each form down': orderedList({ select }, [down('r.n'), down('r.name', 'text'), down('r.id', 'bytes')]),
  'columns of each form up': orderedList({ select }, [up('r.n'), up('r.name', 'text'), up('r.id', 'bytes')]),
  'columns in opposite orders': orderedList({ select, where: "r.id = x''" }, [down('r.n'), up('r.name', 'text')]),
  'columns that are sought apart': orderedList({ select, where: "r.id = x''" }, [up('r.n'), up('r.name', 'text')], {
    isSplit: true,
  }),
  'two selections': orderedList(
    ['a', 'b'].map((name) => ({ select, where: `r.name = '${name}' AND r.n <> ?1` })),
    [down('r.n'), down('r.name', 'text'), down('r.id', 'bytes')],
  ),
};

const rows = fc.uniqueArray(
  fc.record<Row>({
    n: fc.nat({ max: 5 }),
    name: fc.constantFrom('', 'a', 'b', 'é'),
    id: fc.constantFrom('', '00', 'ff').map((hex) => Uint8Array.fromHex(hex)),
  }),
  { selector: ({ n, name, id }) => `${n} ${name} ${id.toHex()}`, maxLength: 40, size: 'max' },
);

function store(rows: readonly Row[]): void {
  db.run('DELETE FROM rows');
  const insert = db.prepare('INSERT INTO rows VALUES (?1, ?2, ?3)');
  for (const { n, name, id } of rows) insert.run(n, name, id);
}

const textOf = ({ n, name, id }: Row): string => `${n} ${name} ${id.toHex()}`;

/** Reads a list down to its last page and up to its first, and compares both with the expected rows. */
function compare(
  source: Omit<PageSource<Row, string>, 'limit' | 'cursor' | 'total' | 'itemOf'>,
  limit: number,
  rows: string[],
) {
  function read(cursor: Cursor | null): Page<string> {
    const page = readPage({ limit, cursor, total: 0, ...source, itemOf: textOf });
    const repeated = readPage({ limit, cursor: page.current, total: 0, ...source, itemOf: textOf });
    // A bounded page that begins at its first item may reach further.
    if (source.maxRows === undefined) expect(repeated).toEqual(page);
    return page;
  }
  let page = read(null);
  const items = [...page.items];
  while (page.next !== null) {
    page = read(page.next);
    items.push(...page.items);
  }
  expect(items).toEqual(rows);
  const back = [...page.items];
  while (page.previous !== null) {
    page = read(page.previous);
    back.unshift(...page.items);
  }
  expect(back).toEqual(rows);
}

/** The rows of a list, as SQLite sorts them. */
function sortRows(list: string, first = 0, last = 9): string[] {
  const { key } = lists[list]!;
  const where = {
    'one column down': "name = 'a' AND id = x''",
    'one column up': "name = 'a' AND id = x''",
    'columns in opposite orders': "id = x''",
    'columns that are sought apart': "id = x''",
    'two selections': "name IN ('a', 'b') AND n <> 2",
  }[list];
  const order = key.map(({ column, descends }) => `${column}${descends ? ' DESC' : ''}`).join(', ');
  return db
    .query<Row, [number, number]>(`${select} WHERE ${where ?? 'true'} AND n BETWEEN ?1 AND ?2 ORDER BY ${order}`)
    .all(first, last)
    .map(textOf);
}

const parametersOf = (list: string): number[] => (list === 'two selections' ? [2] : []);
const limits = fc.integer({ min: 1, max: 7 });

test.each(Object.keys(lists))('a list by %s has all rows in order, in both directions', (name) => {
  const read = lists[name]!.prepared(db);
  const seen = new Seen({ rows: 50 });
  assertProperty(
    fc.property(rows, limits, (rowList, limit) => {
      store(rowList);
      const expected = sortRows(name);
      seen.add('rows', expected.length);
      compare(read(parametersOf(name)), limit, expected);
    }),
    { seen, cases: 40 },
  );
});

test('a bounded list has the rows between its bounds, in either order', () => {
  const key = lists['columns of each form down']!.key;
  const read = orderedList<Row>({ select }, key, { isBounded: true }).prepared(db);
  const seen = new Seen({ rows: 100 });
  assertProperty(
    fc.property(rows, limits, fc.nat({ max: 6 }), fc.nat({ max: 6 }), (rowList, limit, first, last) => {
      store(rowList);
      const expected = sortRows('columns of each form down', first, last);
      seen.add('rows', expected.length);
      compare(read([], { first, last }), limit, expected);
      compare(reversed(read([], { first, last })), limit, expected.toReversed());
    }),
    { seen, cases: 60 },
  );
});

test('a list with a condition reads at most its limit of rows, and returns all matching rows', () => {
  const list: ListedRows<Row> = lists['columns of each form down']!.prepared(db)([]);
  const seen = new Seen({ rows: 50, short: 20 });
  assertProperty(
    fc.property(rows, limits, fc.integer({ min: 1, max: 5 }), (rowList, limit, maxRows) => {
      store(rowList);
      const expected = sortRows('columns of each form down').filter((text) => text.includes(' a '));
      seen.add('rows', expected.length);
      const meets = ({ name }: Row): boolean => name === 'a';
      let judged = 0;
      const source = {
        ...walked(list),
        maxRows,
        meets(row: Row): boolean {
          judged += 1;
          return meets(row);
        },
      };
      const { items, next } = readPage({ limit, cursor: null, total: 0, ...source, itemOf: textOf });
      expect(judged).toBeLessThanOrEqual(maxRows);
      if (items.length < limit && next !== null) seen.add('short');
      compare(source, limit, expected);
    }),
    { seen, cases: 60 },
  );
});

test('a list without bounds rejects bounds, and a list with a split order has none', () => {
  const span = { first: 1, last: 2 };
  for (const name of ['columns of each form down', 'columns in opposite orders', 'columns that are sought apart']) {
    expect(() => lists[name]!.prepared(db)([], span)).toThrow('bounds for a list that was declared without them');
  }
  const split = () => orderedList({ select }, [down('r.n'), up('r.name', 'text')], { isBounded: true });
  expect(split).toThrow('a list with a split order has no bounds');
});
