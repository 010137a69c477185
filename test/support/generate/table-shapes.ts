/**
 * The tables of schema.sql as the source names them: columns, types, nullability and keys.
 * `bun test/support/generate/table-shapes.ts` rewrites them after the schema has changed; a test checks that they are up to date.
 */
import { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '../../..');

export const tableShapesFile = join(root, 'src/store/rows/tables.ts');

interface Column {
  name: string;
  type: string;
  isRequired: number;
  /** Position in the primary key, from 1; 0 if the column isn't part of the key. */
  inKey: number;
}

const camelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const listOf = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;

/** The source of the tables. */
export function tableShapes(): string {
  using schema = new Database(':memory:');
  schema.run(readFileSync(join(root, 'schema.sql'), 'utf8'));
  const namesOf = (sql: string, ...values: string[]): string[] =>
    schema
      .query<{ name: string }, string[]>(sql)
      .all(...values)
      .map(({ name }) => name);

  function shapeOf(table: string): string {
    const columns = schema
      .query<Column, [string]>('SELECT name, type, "notnull" AS isRequired, pk AS inKey FROM pragma_table_info(?1)')
      .all(table);
    const primary = columns.filter(({ inKey }) => inKey > 0).sort((a, b) => a.inKey - b.inKey);
    const [unique] = namesOf('SELECT name FROM pragma_index_list(?1) WHERE "unique" = 1 AND partial = 0', table);
    const ofIndex =
      unique === undefined ? [] : namesOf('SELECT name FROM pragma_index_info(?1) ORDER BY seqno', unique);
    const key = primary.length > 0 ? primary.map(({ name }) => name) : ofIndex;
    const typeOf = ({ name, type, isRequired, inKey }: Column): string => {
      // SQLite gives the number.
      if (name === 'id' && type === 'INTEGER' && primary.length === 1 && inKey === 1) return 'id';
      // A primary key is never null, even without NOT NULL in the schema.
      return `${type.toLowerCase()}${isRequired === 1 || inKey > 0 ? '' : '?'}`;
    };
    return [
      `export const ${camelCase(table)}Table = tableShape('${table}', ${listOf(key)}, {`,
      ...columns.map((column) => `  ${column.name}: '${typeOf(column)}',`),
      '});',
      '',
    ].join('\n');
  }

  const tables = namesOf("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  return [
    '/** The tables of the index: columns, types, nullability and keys. Generated from schema.sql by test/support/generate/table-shapes.ts. */',
    "import { tableShape } from './table.ts';",
    '',
    tables.map(shapeOf).join('\n'),
  ].join('\n');
}

if (import.meta.main) writeFileSync(tableShapesFile, tableShapes());
