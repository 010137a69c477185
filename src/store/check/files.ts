/** Whether the two files are whole, as files: their pages, their schemas, and the chain of the journal. */
import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import schema from '../../../schema.sql' with { type: 'text' };
import { onFile } from '../../base/system-errors.ts';
import { openToRead } from '../files/connection.ts';
import { journalPath } from '../files/database.ts';
import { type JournalReader, openJournalReader } from '../files/journal.ts';
import { JOURNAL_SCHEMA } from '../files/journal-file.ts';
import { fitOf, type Place } from '../files/journal-link.ts';
import { type CheckResult, examined, examinedAll } from './result.ts';

function damagedPages(db: Database): string[] {
  const lines = db.query<{ integrity_check: string }, []>('PRAGMA integrity_check').all();
  return lines.map((row) => row.integrity_check).filter((line) => line !== 'ok');
}

/** An SQL text without its comments and the space between words. */
const bare = (sql: string): string => sql.replace(/--[^\n]*/g, '').replace(/\s+/g, ' ');

/** What the file says of its tables and indexes, by name. */
function schemaOf(db: Database): Map<string, string> {
  const rows = db
    .query<{ name: string; said: string; sql: string | null }, []>(
      `SELECT name, type || ' of ' || tbl_name || ': ' AS said, sql FROM sqlite_schema
        WHERE name NOT GLOB 'sqlite_stat[0-9]'`,
    )
    .all();
  return new Map(rows.map(({ name, said, sql }) => [name, said + bare(sql ?? '')]));
}

/** @param made the statements that make a new file */
function differingSchema(db: Database, made: string): string[] {
  using fresh = new Database(':memory:');
  fresh.run(made);
  const [found, expected] = [schemaOf(db), schemaOf(fresh)];
  return [...new Set([...found.keys(), ...expected.keys()])]
    .filter((name) => found.get(name) !== expected.get(name))
    .map((name) => `${name} is another than in a new file`);
}

/**
 * SQLite's own check of all pages. What else is said of a damaged file means nothing.
 * @throws OperatorError where the file can't be read, or is no database
 */
export const checkPages = (path: string, what: string): CheckResult =>
  onFile(path, () =>
    examined(`integrity of the ${what} file`, () => {
      using db = openToRead(path);
      return damagedPages(db);
    }),
  );

export const checkIndexSchema = (db: Database): CheckResult =>
  examined('schema of the index file', () => differingSchema(db, schema));

/** The tables of the journal, and its entries one after the other: the first that is wrong ends it. */
function checkEntries(journal: JournalReader, place: Place | null): CheckResult[] {
  const gaps = journal.gaps().map(({ first, last }) => `${first} to ${last}`);
  const lacking = gaps.length === 0 ? '' : ` (it lacks the events ${gaps.join(', ')}, as was accepted)`;
  return [
    examined(`each entry of the journal against its chain value${lacking}`, () => {
      for (const _ of journal.entriesAfter(0, true));
      return [];
    }),
    examined('the journal is that of the index', () =>
      place === null || fitOf(place, journal) === 'fits' ? [] : ['the last event of the index is not in it'],
    ),
  ];
}

/**
 * @param place where the index stands; null where it can't be read
 * @throws OperatorError where the journal is of another version
 */
export function checkJournal(directory: string, place: Place | null): CheckResult[] {
  const path = journalPath(directory);
  if (!existsSync(path)) return [];
  const pages = checkPages(path, 'journal');
  if (pages.problems.length > 0) return [pages];
  const journal = openJournalReader(directory);
  if (journal === null) return [pages];
  try {
    using db = openToRead(path);
    const schema = examined('schema of the journal file', () => differingSchema(db, JOURNAL_SCHEMA));
    if (schema.problems.length > 0) return [pages, schema];
    return [pages, schema, ...examinedAll('entries of the journal', () => checkEntries(journal, place))];
  } finally {
    journal.close();
  }
}
