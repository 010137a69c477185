/** Rows that vanish from the tables of a file: by SQL, and by single bits of the pages that hold them. */
import { Database } from 'bun:sqlite';
import { readFileSync, writeFileSync } from 'node:fs';

export const places = ['beginning', 'middle', 'end'] as const;
export type Place = (typeof places)[number];

export interface Loss {
  /** Description of the loss. */
  what: string;
  table: string;
  /** Damages a file that nobody has open and that doesn't have a WAL. */
  act(path: string): void;
}

/** Returns a loss that deletes one row of a table by SQL. */
export const byStatement = (table: string, place: Place): Loss => ({
  what: `a row at the ${place} of ${table}, by SQL`,
  table,
  act(path) {
    using db = new Database(path);
    const { n } = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()!;
    const offset = { beginning: 0, middle: n >> 1, end: n - 1 }[place];
    const columns = db
      .query<{ name: string; pk: number }, [string]>('SELECT name, pk FROM pragma_table_info(?1)')
      .all(table)
      .filter(({ pk }) => pk > 0)
      .map(({ name }) => name);
    const key = columns.length === 0 ? ['rowid'] : columns;
    const order = key.join(', ');
    db.run(
      `DELETE FROM ${table} WHERE (${order}) IN (SELECT ${order} FROM ${table} ORDER BY ${order} LIMIT 1 OFFSET ${offset})`,
    );
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  },
});

/** Kinds of pages: https://sqlite.org/fileformat2.html#b_tree_pages */
const INTERIOR_TABLE = 0x05;
const INTERIOR_INDEX = 0x02;
const FILE_HEADER_BYTES = 100;
/** Offsets in a page's header of its cell count and of its right-most child page. */
const [COUNT_AT, RIGHT_AT] = [3, 8];
const INTERIOR_HEADER_BYTES = 12;

const pageSizeOf = (bytes: Buffer): number => bytes.readUInt16BE(16);
const headerOf = (bytes: Buffer, page: number): number =>
  (page - 1) * pageSizeOf(bytes) + (page === 1 ? FILE_HEADER_BYTES : 0);

/** The pages of a tree from its first leaf to its last, each interior page before its children. */
function pagesOf(bytes: Buffer, page: number): number[] {
  const header = headerOf(bytes, page);
  const kind = bytes[header];
  if (kind !== INTERIOR_TABLE && kind !== INTERIOR_INDEX) return [page];
  const children = Array.from({ length: bytes.readUInt16BE(header + COUNT_AT) }, (_, cell) => {
    const offset = bytes.readUInt16BE(header + INTERIOR_HEADER_BYTES + 2 * cell);
    return bytes.readUInt32BE((page - 1) * pageSizeOf(bytes) + offset);
  });
  children.push(bytes.readUInt32BE(header + RIGHT_AT));
  return [page, ...children.flatMap((child) => pagesOf(bytes, child))];
}

const isLeaf = (bytes: Buffer, page: number): boolean =>
  ![INTERIOR_TABLE, INTERIOR_INDEX].includes(bytes[headerOf(bytes, page)]!);

/** Returns a loss for each bit flip that lowers the cell count of a page at one end of a table, or in its middle. */
export function byBits(path: string, table: string): Loss[] {
  const bytes = readFileSync(path);
  using db = new Database(path, { readonly: true });
  const root = db
    .query<{ rootpage: number }, [string]>("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1")
    .get(table)!.rootpage;
  const pages = pagesOf(bytes, root);
  const leaves = pages.filter((page) => isLeaf(bytes, page));
  const candidates = new Set([pages[0]!, leaves[0]!, leaves[leaves.length >> 1]!, leaves.at(-1)!]);
  return [...candidates].flatMap((page) => {
    const offset = headerOf(bytes, page) + COUNT_AT;
    const count = bytes.readUInt16BE(offset);
    return Array.from({ length: 16 }, (_, bit) => 1 << bit)
      .filter((value) => (count & value) !== 0)
      .map((value) => ({
        what: `${value} of ${count} cells of page ${page} of ${table}`,
        table,
        act(path: string) {
          const copy = readFileSync(path);
          copy.writeUInt16BE(count - value, offset);
          writeFileSync(path, copy);
        },
      }));
  });
}
