/** The views for analysts in the file: their declarations, their costs, and when they are made. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { indexPath, openReader, openWriter, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { creationOf, summableForms, type ViewType } from '../../src/store/views/view.ts';
import { makeTemporaryViews, views } from '../../src/store/views/views.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { pageWithViews, sqlPage } from '../support/generate/view-tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

let directory: DataDirectory;
let db: Database;
beforeAll(() => {
  const options = { seed: 1, blocks: 30, accounts: 8, transactionsPerBlock: 4 };
  directory = ingestOf(simulatedEvents(options), { views: true });
  db = new Database(indexPath(directory.path));
});
afterAll(() => {
  db.close();
  directory[Symbol.dispose]();
});

/** Valid values for each type of column. */
const FORMS: Readonly<Record<ViewType, (value: unknown) => boolean>> = {
  integer: (value) => typeof value === 'number',
  boolean: (value) => value === 0 || value === 1,
  // Hex has a type of its own.
  text: (value) => typeof value === 'string' && !/^0x([0-9a-f]{2})+$/.test(value),
  hex: (value) => /^0x([0-9a-f]{2})*$/.test(String(value)),
  real: (value) => typeof value === 'number',
  amount: (value) => /^-?\d+$/.test(String(value)) && typeof value === 'string',
  time: (value) => new Date(String(value)).toISOString() === value,
  bytes: (value) => value instanceof Uint8Array,
};

test.each(views.map((view) => [view.name, view] as const))('%s has the columns that it declares', (name, view) => {
  const query = db.query(`SELECT * FROM ${name}`);
  expect(query.columnNames).toEqual(Object.keys(view.columns));
  const types = Object.values(view.columns).map(({ type }) => type);
  for (const row of query.values()) {
    for (const [i, type] of types.entries()) {
      const value = row[i];
      expect([name, query.columnNames[i], value, value === null || FORMS[type](value)]).toEqual([
        ...[name, query.columnNames[i], value, true],
      ]);
    }
  }
});

test('docs/sql.md lists the current views (bun run generate writes them)', async () => {
  expect(await Bun.file(sqlPage).text()).toBe(await pageWithViews());
});

/** Returns the amount that two integers represent. */
const exactly = (high: unknown, low: unknown): bigint => BigInt(high as bigint) * 10n ** 12n + BigInt(low as bigint);

test('sums of amounts by their two integers equal exact sums, or fail', () => {
  const amounts = [
    ...['0', '1', '-1', '-999999999999', '1000000000000', '-1000000000000', '999999999999', String(2n ** 63n - 1n)],
    ...[String(2n ** 63n), String(-(2n ** 64n)), '9'.repeat(30), `-${'9'.repeat(30)}`, '123456789012345678901234'],
  ];
  const { real, high, low } = summableForms('value');
  const sums = (values: readonly string[]) =>
    db
      .query<never, [string]>(`SELECT sum(${real}), sum(${high}), sum(${low}), typeof(sum(${high})) FROM json_each(?1)`)
      .safeIntegers(true)
      .values(JSON.stringify(values))[0] as [number, unknown, bigint, string];
  for (const values of [...amounts.map((amount) => [amount]), amounts, Array(5000).fill(amounts).flat()]) {
    const [approximate, upper, lower, type] = sums(values);
    const total = values.reduce((sum, amount) => sum + BigInt(amount), 0n);
    expect([type, exactly(upper, lower)]).toEqual(['integer', total]);
    expect(Math.abs(approximate - Number(total))).toBeLessThanOrEqual(
      1e-9 * values.reduce((sum, amount) => sum + Math.abs(Number(amount)), 0),
    );
  }
  for (const long of ['1'.repeat(31), String(2n ** 128n - 1n), `-${'1'.repeat(31)}`]) {
    expect(sums([...amounts, long])[3]).toBe('real');
    expect(sums([long])[0]).toBe(Number(long));
  }
});

test('the SQLite of other programs can parse the views', () => {
  /** Returns the nesting depth of parentheses. SQLite's parser has a stack of 100, and each level takes up to four. */
  const depthOf = (sql: string): number => {
    let [depth, deepest] = [0, 0];
    for (const character of sql) {
      if (character === '(') depth += 1;
      if (character === ')') depth -= 1;
      deepest = Math.max(deepest, depth);
    }
    return deepest;
  };
  for (const view of views) expect([view.name, depthOf(creationOf(view)) <= 23]).toEqual([view.name, true]);
});

test.skipIf(Bun.which('sqlite3') === null)('the program sqlite3 reads every view', () => {
  const counts = views.map(({ name }) => `SELECT count(*) FROM (SELECT * FROM ${name});`).join(' ');
  const { stdout, stderr } = Bun.spawnSync(['sqlite3', '-readonly', indexPath(directory.path), counts]);
  expect([stderr.toString(), stdout.toString().trim().split('\n').length]).toEqual(['', views.length]);
});

test('every amount of a view has its sum in two integers', () => {
  let summed = 0;
  for (const { name, columns } of views) {
    for (const [column, { type }] of Object.entries(columns)) {
      if (type !== 'amount') continue;
      const texts = db.query(`SELECT ${column} FROM ${name} WHERE ${column} IS NOT NULL`).values();
      const total = texts.reduce((sum, [text]) => sum + BigInt(String(text)), 0n);
      const [[high, low, real] = []] = db
        .query(`SELECT total(${column}_high), total(${column}_low), total(${column}_real) FROM ${name}`)
        .values();
      const [[exactHigh, exactLow] = []] = db
        .query(`SELECT coalesce(sum(${column}_high), 0), coalesce(sum(${column}_low), 0) FROM ${name}`)
        .safeIntegers(true)
        .values();
      expect([name, column, exactly(exactHigh, exactLow)]).toEqual([name, column, total]);
      expect(Number(high) * 1e12 + Number(low)).toBeCloseTo(Number(real), -6);
      if (total > 0n) summed += 1;
    }
  }
  expect(summed).toBeGreaterThan(15);
});

/** Steps of a plan that read a whole table or sort. */
const dearSteps = (sql: string): string[] =>
  db
    .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail)
    .filter((detail) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(detail));

describe('costs', () => {
  /** Plan steps that look like a scan but aren't one. */
  const allowed: Readonly<Record<string, RegExp>> = {
    'v1_hooks.uuid': /^SCAN p$/,
    'v1_balances.principal': /^SCAN v1_balances$/,
    // Stakers whose STX a bond locked are few.
    'v1_stakers.staker': /^SCAN v1_stakers$/,
    'v1_stakers.signer': /^SCAN (r|v1_stakers)$/,
    // The condition is false for STX before the first row.
    'v1_balances.asset_identifier': /^SCAN (a|v1_balances)$/,
  };
  const lookups = views.flatMap(({ name, columns, indexed }) =>
    indexed.map((column) => {
      const type = columns[column]?.type;
      const value = type === 'bytes' ? "x'00'" : type === 'integer' ? '1' : "'x'";
      return [`${name}.${column}`, name, column, value] as const;
    }),
  );

  test.each(lookups)('%s is found by an index', (key, name, column, value) => {
    const steps = dearSteps(`SELECT * FROM ${name} WHERE ${column} = ${value}`);
    expect(steps.filter((step) => !(allowed[key]?.test(step) ?? false))).toEqual([]);
  });

  test.each([
    ["v1_transactions WHERE sender = 'x' ORDER BY position DESC LIMIT 5"],
    ["v1_contract_logs WHERE contract_id = 'x' ORDER BY position DESC, event_index DESC LIMIT 5"],
    ["v1_contract_calls WHERE contract_id = 'x' AND function_name = 'y' ORDER BY position DESC LIMIT 5"],
    ["v1_principal_transactions WHERE principal = 'x' ORDER BY position DESC LIMIT 5"],
    ["v1_bns_names WHERE contract_id = 'x' AND name = 'y'"],
    ["v1_nfts WHERE asset_identifier = 'x' AND value_bytes = x'00'"],
  ])('%s walks an index', (from) => {
    expect(dearSteps(`SELECT * FROM ${from}`)).toEqual([]);
  });

  test.each(
    views.filter(({ order }) => order.length > 0).map(({ name, order, range }) => [name, order, range] as const),
  )('%s is exported in the order of an index', (name, order, range) => {
    const where = range === null ? '' : `WHERE ${range} BETWEEN 1 AND 2`;
    const steps = dearSteps(`SELECT * FROM ${name} ${where} ORDER BY ${order.join(', ')}`);
    expect(steps.filter((step) => step.includes('B-TREE'))).toEqual([]);
    if (range !== null) expect(steps).toEqual([]);
  });
});

describe('an index of an older program', () => {
  const ownView = 'CREATE VIEW mine AS SELECT 1 AS one';

  function statements(): string[] {
    using file = new Database(indexPath(directory.path), { readonly: true });
    return file
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE type = 'view'")
      .all()
      .map(({ sql }) => sql)
      .sort();
  }

  function edit(...sql: string[]): void {
    using file = new Database(indexPath(directory.path));
    for (const statement of sql) file.run(statement);
  }

  const dropStatements = (list: readonly { name: string }[]) => list.map(({ name }) => `DROP VIEW IF EXISTS ${name}`);
  const downgrade = () =>
    edit('DROP VIEW v1_chain', ...dropStatements(views.slice(1)), 'CREATE VIEW v1_blocks AS SELECT height FROM blocks');

  const numberOf = (pragma: string): unknown[][] => {
    using file = new Database(indexPath(directory.path), { readonly: true });
    return file.query(`PRAGMA ${pragma}`).values();
  };

  test('gets the views from its next writer and keeps other views, without a new schema', () => {
    const before = statements();
    downgrade();
    edit(ownView);
    expect(statements()).not.toEqual([...before, ownView].sort());
    openWriter(directory.path).close();
    expect(statements()).toEqual([...before, ownView].sort());
    expect(numberOf('user_version')).toEqual([[SCHEMA_VERSION]]);
    edit('DROP VIEW mine');
    // Another writer changes nothing.
    const version = numberOf('schema_version');
    openWriter(directory.path).close();
    expect(numberOf('schema_version')).toEqual(version);
  });

  test('is read with the current views by a connection that makes temporary ones', () => {
    downgrade();
    using reader = openReader(directory.path);
    expect(() => reader.query('SELECT count(*) FROM v1_events')).toThrow();
    makeTemporaryViews(reader);
    for (const { name, columns } of views) {
      expect(reader.query(`SELECT * FROM ${name}`).columnNames).toEqual(Object.keys(columns));
    }
    expect(statements().length).toBeLessThan(views.length);
    openWriter(directory.path).close();
  });

  test('is reported by a check if it has only some of the views', () => {
    expect(problemsIn(directory.path)).toEqual([]);
    downgrade();
    const problem = "v1_chain differs from this program's view; the next start replaces it";
    expect(problemsIn(directory.path)[0]).toBe(`views of the index file: ${problem}`);
    edit(...dropStatements(views));
    expect(problemsIn(directory.path)).toEqual([]);
    openWriter(directory.path).close();
  });
});
