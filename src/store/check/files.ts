/** Checks the two files: their pages, their schemas, and the chain values of the journal. */
import { Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { memoize } from '../../base/cache.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile, operatorErrorOf } from '../../base/system-errors.ts';
import { SKIPPED_PATH, type SkippedMessage } from '../../chain/payload-reader.ts';
import { DamagedFileError, openToRead } from '../files/connection.ts';
import { journalPath } from '../files/database.ts';
import { JOURNAL_SCHEMA, type JournalReader, openJournalReader, requirePresentVersion } from '../files/journal.ts';
import { fitOf } from '../files/journal-link.ts';
import { missingSecondaryIndexes, schema } from '../files/secondary-indexes.ts';
import type { Head } from '../log/entry.ts';
import { differingViews } from '../views/views.ts';
import { type CheckRun, isCheckFailure } from './checks.ts';

/** SQLite's findings in the pages of a table and its indexes, or of all tables. Some damage ends the check. */
function findDamage(db: Database, table: string | null): string[] {
  const pragma = table === null ? 'PRAGMA integrity_check' : `PRAGMA integrity_check('${table}')`;
  try {
    const lines = db.query<{ integrity_check: string }, []>(pragma).all();
    return lines.map((row) => row.integrity_check).filter((line) => line !== 'ok');
  } catch (error) {
    if (!(error instanceof SQLiteError) || isCheckFailure(error)) throw error;
    return [error.message];
  }
}

/** Findings in pages. SQLite names pages, so each table is checked by itself to name the damaged ones. */
function damagedPages(db: Database): string[] {
  const problems = findDamage(db, null);
  if (problems.length === 0) return [];
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    .all()
    .map(({ name }) => name)
    .filter((name) => findDamage(db, name).length > 0);
  return [...(tables.length === 0 ? [] : [`damaged tables: ${tables.join(', ')}`]), ...problems];
}

/** An SQL text without comments and superfluous space. */
const normalizeSql = (sql: string): string => sql.replace(/--[^\n]*/g, '').replace(/\s+/g, ' ');

/** A value of a row; damage may have changed its type. */
type Stored = string | number | Uint8Array | null;

/** Tables and indexes of the file by name, with their statements. */
function readSchema(db: Database): Map<Stored, string> {
  const rows = db
    .query<{ name: Stored; type: Stored; of: Stored; sql: Stored }, []>(
      `SELECT name, type, tbl_name AS of, sql FROM sqlite_schema
        WHERE type <> 'view' AND name NOT GLOB 'sqlite_stat[0-9]'`,
    )
    .all();
  return new Map(
    rows.map(({ name, type, of, sql }) => [
      name,
      JSON.stringify([type, of, typeof sql === 'string' ? normalizeSql(sql) : sql]),
    ]),
  );
}

/** The schema of a new file, by the statements that create it. */
const schemaOfNew = memoize((createSql) => {
  using fresh = new Database(':memory:');
  fresh.run(createSql);
  return readSchema(fresh);
});

/**
 * @param createSql the statements that create a new file
 * @param except names that other checks cover
 */
function differingSchema(db: Database, createSql: string, except: readonly string[] = []): string[] {
  const [actual, expected] = [readSchema(db), schemaOfNew(createSql)];
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name) && !except.some((other) => other === name))
    .map((name) => `${name} differs from a new file`);
}

/**
 * Runs SQLite's check of all pages. Further checks of a damaged file mean nothing.
 * @returns whether it found nothing
 * @throws OperatorError if the file can't be read, or isn't a database
 */
export const checkPages = (run: CheckRun, path: string, what: string): boolean =>
  onFile(path, () =>
    run.examine(`integrity of the ${what} file`, () => {
      try {
        using db = openToRead(path);
        return damagedPages(db);
      } catch (error) {
        const damage = error instanceof SQLiteError && !isCheckFailure(error) ? operatorErrorOf(error, path) : null;
        if (damage === null) throw error;
        return [`${damage.message} ${damage.remedy}`];
      }
    }),
  );

/** Opens a file; null if it is damaged, which is a finding of the named check. */
export function opened<File>(run: CheckRun, check: string, open: () => File): File | null {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error;
    run.add({ name: check, problems: [error.message] });
    return null;
  }
}

const missingWords = (indexes: number): string[] =>
  indexes === 0
    ? []
    : [
        `${indexes} indexes are missing: an import is still creating them, or was interrupted; then the next start creates them`,
      ];

/** @returns whether it found nothing */
export const checkIndexSchema = (run: CheckRun, db: Database): boolean =>
  run.examine('schema of the index file', () => {
    const missing = missingSecondaryIndexes(db);
    return [...missingWords(missing.length), ...differingSchema(db, schema, missing)];
  });

/** Checks the views for analysts, which the program itself doesn't read. */
export function checkViews(run: CheckRun, db: Database): void {
  run.examine('views of the index file', () =>
    differingViews(db).map((name) => `${name} differs from this program's view; the next start replaces it`),
  );
}

/** Verifies the journal's entries. The first wrong entry ends the check. */
function checkEntries(run: CheckRun, journal: JournalReader): void {
  const skipped: string[] = [];
  run.examine('each entry of the journal against its chain value', () => {
    const last = journal.lastId();
    for (const { id, path, text } of journal.after(0)) {
      if (path === SKIPPED_PATH) skipped.push(text);
      run.reportProgress(`entry ${id} of ${last}`);
    }
    return [];
  });
  if (skipped.length === 0) return;
  run.expect(1);
  run.examine(`messages that were skipped with --snp-skip: ${skippedWords(skipped)}`, () => []);
}

/** The messages of stacks-node-publisher that were skipped, in words. @param texts of their entries */
const skippedWords = (texts: readonly string[]): string =>
  texts
    .map((text) => parsedJson(text) as Partial<SkippedMessage> | null | undefined)
    .map((message) => `${message?.id ?? '?'} (${message?.path ?? '?'})`)
    .join(', ');

/** @returns whether it found nothing @throws OperatorError if the journal has another version */
function isJournalSchema(run: CheckRun, path: string): boolean {
  using db = openToRead(path);
  requirePresentVersion(db, path);
  return run.examine('schema of the journal file', () => differingSchema(db, JOURNAL_SCHEMA));
}

/**
 * Checks the journal's file and entries, and whether the index was made from it.
 * @param position of the index; null if it can't be read
 * @throws OperatorError if the journal's version is another
 */
export function checkJournal(run: CheckRun, directory: string, position: Head | null): void {
  const path = journalPath(directory);
  if (!existsSync(path)) {
    run.add({ name: 'entries of the journal', problems: [`the journal in ${directory} is missing`] });
    return;
  }
  if (!checkPages(run, path, 'journal')) return;
  if (!isJournalSchema(run, path)) return;
  using journal = opened(run, 'entries of the journal', () => openJournalReader(directory));
  if (journal === null) return;
  checkEntries(run, journal);
  run.examine('journal and index belong together', () =>
    position === null || fitOf(position, journal) === 'fits' ? [] : ['the last event of the index is not in it'],
  );
}
