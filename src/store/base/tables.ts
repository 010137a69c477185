/** The tables of a base: all that are functions of the log, with their columns and the order of their rows. */
import type { Database } from 'bun:sqlite';
import { growingTables, journaledTables } from '../check/tables.ts';

export interface BaseColumn {
  name: string;
  type: 'INTEGER' | 'TEXT' | 'BLOB';
  isNullable: boolean;
}

export interface BaseTable {
  name: string;
  columns: readonly BaseColumn[];
  /** The terms that order the rows: those of the key, or the order of arrival. */
  order: readonly string[];
  /** The column that grows, and whether the key begins with it; null if rows may change anywhere. */
  grows: { column: 'position' | 'height'; isFirst: boolean } | null;
}

interface Column {
  name: string;
  type: string;
  isRequired: number;
  pk: number;
}

function columnTypeOf(table: string, { name, type }: Column): BaseColumn['type'] {
  if (type === 'INTEGER' || type === 'TEXT' || type === 'BLOB') return type;
  throw new Error(`${table}.${name} is of another type than those of a base`);
}

function baseTable(db: Database, name: string, isWithoutRowid: boolean): BaseTable {
  const columns = db
    .query<Column, [string]>('SELECT name, type, "notnull" AS isRequired, pk FROM pragma_table_info(?1)')
    .all(name);
  const key = db
    .query<{ name: string; isDescending: number }, [string]>(
      `SELECT x.name, x."desc" AS isDescending FROM pragma_index_list(?1) l JOIN pragma_index_xinfo(l.name) x
        WHERE l.origin = 'pk' AND x.key = 1 ORDER BY x.seqno`,
    )
    .all(name);
  const order = isWithoutRowid ? key.map((part) => (part.isDescending ? `${part.name} DESC` : part.name)) : ['rowid'];
  const [first] = isWithoutRowid ? order : columns.filter(({ pk }) => pk === 1).map((column) => column.name);
  const grows = growingTables[name];
  return {
    name,
    columns: columns.map((column) => ({
      name: column.name,
      type: columnTypeOf(name, column),
      isNullable: !column.isRequired && column.pk === 0,
    })),
    order,
    grows: grows === undefined ? null : { column: grows, isFirst: first === grows },
  };
}

/** The tables of a base in the order of their names. @param db a connection to an index of this program's schema */
export const baseTables = (db: Database): BaseTable[] =>
  journaledTables(db).map(({ name, wr }) => baseTable(db, name, Number(wr) === 1));

/** The tables that private commands write. A journal without private commands leaves them empty. */
export const tablesOfCommands: readonly string[] = [
  'hooks',
  'hook_secrets',
  'hook_deliveries',
  'hook_bodies',
  'hook_attempts',
  'hook_ledger',
  'hook_backfills',
  'faucet_requests',
  'old_namespaces',
  'old_names',
  'old_zonefiles',
];

/** Columns of other tables that private commands write. They are 0 without private commands. */
export const columnsOfCommands: Readonly<Record<string, string>> = { progress: 'hooks_epoch' };
