/** The source and the overview in schema.sql list the tables of schema.sql, and rows are added by name. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { schema } from '../../src/store/files/secondary-indexes.ts';
import { tableShapes, tableShapesFile } from '../support/generate/table-shapes.ts';

const store = join(import.meta.dir, '../../src/store');

test('the tables in the source equal schema.sql (bun run generate writes them)', () => {
  expect(readFileSync(tableShapesFile, 'utf8')).toBe(tableShapes());
});

test('the overview in schema.sql names each table once', () => {
  const [overview = ''] = schema.split("\n-- The chain's tables");
  const names = [...schema.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name = '']) => name);
  const groups = overview.split('\n').flatMap((line) => line.match(/^-- {3}.{21}(.*)$/)?.[1]?.split(/, |,$/) ?? []);
  expect(groups.filter((name) => name !== '').sort()).toEqual(names.sort());
});

/** Files that may contain an INSERT, each with the reason. */
const mayInsert: Readonly<Record<string, string>> = {
  'rows/table.ts': 'makes the statements of all others',
  'base/loader.ts': 'counts parts in a table that stands there while an index is filled',
  'effects/dictionary.ts': 'returns the number of a row that may be there',
  'files/journal.ts': "writes the journal's tables, which are no part of schema.sql",
  'hooks/store.ts': 'moves the secret that is there to another column',
  'ingest/burn-block-writer.ts': 'moves rows from one table to another',
};

test('rows are added by name', () => {
  const files = [...new Glob('**/*.ts').scanSync(store)].filter((file) =>
    /\bINSERT (OR \w+ )?INTO\b/.test(readFileSync(join(store, file), 'utf8')),
  );
  expect(files.sort()).toEqual(Object.keys(mayInsert).sort());
});
