/** Checks a data directory: SQLite's own check of both files, the journal's entries, and with `deep` every row of the index. */
import { indexPath, openReader, requireIndex } from '../files/database.ts';
import { positionIn } from '../files/journal-link.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import { type CheckResult, CheckRun, type CheckWatch } from './checks.ts';
import { checkIndexSchema, checkJournal, checkPages, checkViews } from './files.ts';
import { checkTables } from './tables.ts';
import { checkValueIndexes } from './value-indexes.ts';

/** Number of checks that are not deep: pages and schema of both files, views, entries of the journal, and whether it fits. */
const FILE_CHECKS = 7;

/** @returns the position of the index; null if it can't be read */
function checkIndex(run: CheckRun, directory: string): Head | null {
  if (!checkPages(run, indexPath(directory), 'index')) return null;
  using db = openReader(directory);
  if (!checkIndexSchema(run, db)) return null;
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
  const ofIndex = run.findings;
  checkJournal(run, directory, position);
  if (deep === undefined || position === null || run.findings > ofIndex) return run.results;
  checkTables(run, { directory, machine: deep });
  checkValueIndexes(run, directory);
  return run.results;
}
