/** The tables that rows are written to by name are those of schema.sql. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import type { ColumnType, TableShape } from '../../src/store/rows/table-shape.ts';

const root = join(import.meta.dir, '../..');
const store = join(root, 'src/store');

const schema = new Database(':memory:');
schema.run(readFileSync(join(root, 'schema.sql'), 'utf8'));

/** Tables of which no row is added by name, each with the reason. */
const notWrittenByName: Readonly<Record<string, string>> = {
  principals: 'a dictionary: rows have a text and its number',
  assets: 'a dictionary: rows have a text and its number',
  totals: 'one row, made by the schema',
  unfilled_upgrades: 'written with an upgrade',
  staking_totals: 'one row, made by the schema',
  progress: 'one row, made by the schema',
  hook_progress: 'one row, made by the schema',
};

const shapes: TableShape[] = [];
for (const file of new Glob('tables/*.ts').scanSync(store)) {
  const declared: Record<string, TableShape> = await import(join(store, file));
  shapes.push(...Object.values(declared));
}

interface Column {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
}

const columnsOf = (table: string): Column[] =>
  schema.query<Column, [string]>('SELECT * FROM pragma_table_info(?1)').all(table);

/** The type of a column as a shape says it. A primary key is never null, whether or not the schema says so. */
const typeOf = ({ type, notnull, pk }: Column): string => `${type.toLowerCase()}${notnull === 1 || pk > 0 ? '' : '?'}`;

/** Whether SQLite numbers the rows by this column. */
const isRowid = (table: string, { type, pk }: Column): boolean =>
  type === 'INTEGER' && pk === 1 && columnsOf(table).filter((column) => column.pk > 0).length === 1;

const declaredType = (name: string, column: Column, declared: ColumnType | undefined): string | undefined =>
  declared === 'id' && isRowid(name, column) ? 'integer' : declared;

test.each(shapes.map((shape) => [shape.name, shape] as const))('%s has the columns of the schema', (name, shape) => {
  const columns = columnsOf(name);
  expect(Object.keys(shape.columns)).toEqual(columns.map((column) => column.name));
  expect(columns.map((column) => declaredType(name, column, shape.columns[column.name]))).toEqual(columns.map(typeOf));
});

test.each(shapes.filter(({ key }) => key.length > 0).map((shape) => [shape.name, shape] as const))(
  '%s has one row of a key',
  (name, shape) => {
    const primary = columnsOf(name)
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk);
    const unique = schema
      .query<{ name: string }, [string]>('SELECT name FROM pragma_index_list(?1) WHERE "unique" = 1 AND partial = 0')
      .all(name)
      .map((index) =>
        schema
          .query<{ name: string }, [string]>('SELECT name FROM pragma_index_info(?1) ORDER BY seqno')
          .all(index.name)
          .map((column) => column.name),
      );
    expect([primary.map((column) => column.name), ...unique]).toContainEqual([...shape.key]);
  },
);

test('every table is declared once, or never written by name', () => {
  const tables = schema
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ name }) => name);
  expect([...shapes.map(({ name }) => name), ...Object.keys(notWrittenByName)].sort()).toEqual(tables.sort());
});

/** Files with an INSERT of their own, each with the reason. */
const mayInsert: Readonly<Record<string, string>> = {
  'rows/table.ts': 'makes the statements of all others',
  'effects/dictionary.ts': 'returns the number of a row that may be there',
  'files/database.ts': 'notes an upgrade, as part of it',
  'files/earlier-journal.ts': "writes the journal's tables, which are no part of schema.sql",
  'files/import-progress.ts': 'writes a table of the journal',
  'files/journal-trim.ts': "writes the journal's tables, which are no part of schema.sql",
  'files/journal.ts': "writes the journal's tables, which are no part of schema.sql",
  'files/new-index.ts': 'copies whole tables from one file to another',
  'hooks/secrets.ts': 'moves the secret that is there to another column',
  'ingest/burn-block-writer.ts': 'moves rows from one table to another',
  'log/cluster-status.ts': 'writes a table of PostgreSQL',
  'log/engine-tables.ts': 'writes a table of PostgreSQL',
  'log/leases.ts': 'writes a table of PostgreSQL',
  'log/postgres-log.ts': 'writes a table of PostgreSQL',
};

test('rows are added by name', () => {
  const found = [...new Glob('**/*.ts').scanSync(store)].filter((file) =>
    /\bINSERT (OR \w+ )?INTO\b/.test(readFileSync(join(store, file), 'utf8')),
  );
  expect(found.sort()).toEqual(Object.keys(mayInsert).sort());
});
