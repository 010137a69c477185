/**
 * Checks a data directory: SQLite's own check of both files, the journal's entries, and with `deep` every row of the index,
 * also of the indexes of decoded values, which don't follow from the journal.
 */
import type { Database } from 'bun:sqlite';
import { positionText } from '../../chain/position.ts';
import { entriesOf, indexedItems } from '../effects/value-index-writer.ts';
import { indexPath, openReader, requireIndex } from '../files/database.ts';
import { positionIn } from '../files/journal-link.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import type { ValueIndex } from '../model/contract.ts';
import { valueIndexes } from '../queries/contracts/value-search.ts';
import type { Stored } from '../rows/statement.ts';
import { type CheckResult, CheckRun, type CheckWatch } from './checks.ts';
import { checkIndexSchema, checkJournal, checkPages, checkViews, opened } from './files.ts';
import { checkTables } from './tables.ts';

/** Number of checks that are not deep: pages and schema of both files, views, entries of the journal, and whether it fits. */
const FILE_CHECKS = 7;

/** @returns the position of the index; null if it can't be read */
function checkIndex(run: CheckRun, directory: string): Head | null {
  if (!checkPages(run, indexPath(directory), 'index')) return null;
  using db = opened(run, 'schema of the index file', () => openReader(directory));
  if (db === null || !checkIndexSchema(run, db)) return null;
  checkViews(run, db);
  return positionIn(db);
}

export interface CheckOptions {
  /** The state machine of commands: with it, every row is also compared with an index that is made from the journal. */
  deep?: ComposeMachine;
  watch?: CheckWatch;
}

/**
 * Checks a data directory, while the writer may continue. Files that are too damaged to be read are not checked further.
 * @throws OperatorError if there is no index, or its version is another
 */
export function checkDirectory(directory: string, { deep, watch }: CheckOptions = {}): CheckResult[] {
  requireIndex(directory);
  const run = new CheckRun(FILE_CHECKS, watch);
  const position = checkIndex(run, directory);
  const indexFindings = run.findings;
  checkJournal(run, directory, position);
  if (deep === undefined || position === null || run.findings > indexFindings) return run.results;
  checkTables(run, { directory, machine: deep });
  checkValueIndexes(run, directory);
  return run.results;
}

function* findProblems(db: Database, index: ValueIndex): Generator<string> {
  const stored = db.query<{ found: 1 }, [number, string, string, number, number]>(
    `SELECT 1 AS found FROM value_index_entries
      WHERE index_id = ?1 AND path = ?2 AND value = ?3 AND position = ?4 AND event_index = ?5`,
  );
  const name = `${index.subject} of ${index.contract}`;
  const items = indexedItems(db, '>=');
  let entriesCounted = 0;
  for (const { position: place, fields } of items(index)) {
    const { position, eventIndex } = place;
    const entries = entriesOf(index, fields());
    entriesCounted += entries.size;
    for (const [path, value] of entries) {
      if (stored.get(index.id, path, value, position, eventIndex) !== null) continue;
      yield `${name}: ${path} in ${positionText(position)}, event ${eventIndex} is not ${value}`;
    }
  }
  const entriesStored = db
    .query<{ n: number }, [number]>('SELECT count(*) AS n FROM value_index_entries WHERE index_id = ?1')
    .get(index.id)?.n;
  if (entriesStored !== entriesCounted) yield `${name}: stored ${entriesStored} entries, counted ${entriesCounted}`;
}

/** Compares the indexes of decoded values with the logs and calls that they were made from. @returns sentences */
export function* valueIndexProblems(db: Database): Generator<string> {
  for (const index of valueIndexes(db)()) if (index.wanted) yield* findProblems(db, index);
  const strays = db.query<Stored<'value_index_entries', 'index_id'>, []>(
    'SELECT DISTINCT index_id FROM value_index_entries WHERE index_id NOT IN (SELECT id FROM value_indexes)',
  );
  for (const { index_id } of strays.iterate()) yield `entries of index ${index_id}, which doesn't exist`;
}

function checkValueIndexes(run: CheckRun, directory: string): void {
  using db = openReader(directory);
  db.run('BEGIN');
  run.expect(1);
  run.examine('decoded values of logs and calls', () => valueIndexProblems(db));
}
