/** Which indexes of decoded values there are. */
import type { Database } from 'bun:sqlite';
import type { ValueIndex, ValueSubject } from '../model/value-index.ts';
import { prepared } from '../rows/statement.ts';
import type { Stored } from '../rows/table.ts';
import type { valueIndexesTable } from '../rows/tables.ts';
import { storedWords } from '../rows/words.ts';

export const sql = {
  all: 'SELECT id, subject, contract, scope, wanted, from_position, from_event FROM value_indexes ORDER BY id',
};

type Row = Stored<
  typeof valueIndexesTable,
  'id' | 'subject' | 'contract' | 'scope' | 'wanted' | 'from_position' | 'from_event'
>;

/** value_indexes.subject. */
export const storedSubject = storedWords<ValueSubject>('value_indexes', 'subject', { logs: 1, calls: 2 });

const indexOf = (row: Row): ValueIndex => ({
  id: row.id,
  subject: storedSubject.wordOf(row.subject, row.id),
  contract: row.contract,
  scope: row.scope,
  wanted: row.wanted === 1,
  from: { position: row.from_position, eventIndex: row.from_event },
});

/** What reads all indexes, in the order in which they were asked for. */
export function valueIndexes(db: Database): () => ValueIndex[] {
  const all = prepared<Row, []>(db, sql.all);
  return () => all.all().map(indexOf);
}
