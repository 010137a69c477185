/** Checks the index: SQLite's own check of the files, and a recount of every derived number. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { rollBack } from '../files/connection.ts';
import { indexPath, openReader, requireIndex } from '../files/database.ts';
import { indexPosition } from '../files/journal-link.ts';
import type { OlderEntries } from '../files/older-entries.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import { addressChecks } from './addresses.ts';
import { checkpointCheck } from './checkpoints.ts';
import { type Check, type CheckResult, CheckRun, type CheckWatch } from './checks.ts';
import { copyChecks, countChecks } from './counts.ts';
import { checkIndexSchema, checkJournal, checkPages, checkViews } from './files.ts';
import { namePartCheck } from './name-parts.ts';
import { nameChecks } from './names.ts';
import { stackingChecks, stakingChecks } from './staking.ts';
import { checkTables, isComparable } from './tables.ts';
import { tokenMetadataChecks } from './token-metadata.ts';
import { tokenChecks } from './tokens.ts';
import { valueIndexChecks } from './value-indexes.ts';

/** All recounts. */
export const recounts: readonly Check[] = [
  ...countChecks,
  ...copyChecks,
  ...tokenChecks,
  ...tokenMetadataChecks,
  ...stackingChecks,
  ...stakingChecks,
  ...addressChecks,
  checkpointCheck,
  ...nameChecks,
  namePartCheck,
  ...valueIndexChecks,
];

/** Number of checks besides the recounts: pages and schema of both files, views, entries of the journal, and whether it fits. */
const FILE_CHECKS = 8;

/** Runs a check in a snapshot of its own, so that the write-ahead log can be emptied between two checks. */
function* inSnapshot(db: Database, { find }: Check, since: number): Generator<string> {
  db.run('BEGIN');
  try {
    yield* find(db, since);
  } finally {
    rollBack(db);
  }
}

/** @throws OperatorError where the index ends below the height */
function requireBlock(db: Database, height: number): void {
  const tip = db.query<{ tip: number | null }, []>('SELECT max(height) AS tip FROM blocks').get()?.tip ?? null;
  if (tip !== null && height <= tip) return;
  throw new OperatorError(
    `There is no block at height ${height}: ${tip === null ? 'the index has no block yet' : `the index ends at ${tip}`}.`,
    'Give a height of a block in the index with --since.',
  );
}

/** Number of the journal's entry before that of a block; 0 where the journal doesn't have the block. */
function entryBefore(db: Database, height: number): number {
  const row = db
    .query<{ id: number | null }, [number]>(
      `SELECT p.journal_id AS id FROM blocks b JOIN block_payloads p ON p.index_block_hash = b.index_block_hash
        WHERE b.height = ?1`,
    )
    .get(height);
  return Math.max(0, (row?.id ?? 1) - 1);
}

interface IndexPosition {
  /** Position of the index; null where it can't be read. */
  position: Head | null;
  /** Number of the journal's entry before the first checked block; null where all are checked. */
  after: number | null;
}

function checkIndex(run: CheckRun, directory: string, since: number | null): IndexPosition {
  const unreadable: IndexPosition = { position: null, after: null };
  if (since !== null) run.leaveOut('integrity of the index file');
  else if (!checkPages(run, indexPath(directory), 'index')) return unreadable;
  using db = openReader(directory);
  if (!checkIndexSchema(run, db)) return unreadable;
  checkViews(run, db);
  if (since !== null) requireBlock(db, since);
  for (const check of recounts) {
    if (since !== null && !check.isLimited) run.leaveOut(check.name);
    else run.examine(check.name, () => inSnapshot(db, check, since ?? 0));
  }
  return { position: indexPosition(db).current(), after: since === null ? null : entryBefore(db, since) };
}

export interface CheckOptions {
  /** The state machine of commands: with it, every row is also compared with an index that is made from the journal. */
  deep?: ComposeMachine;
  /** Entries that the journal no longer has, for a deep check; none if omitted. */
  older?: OlderEntries | null;
  /** Lowest height of checked blocks and of the rows that they wrote; all if omitted. */
  since?: number;
  watch?: CheckWatch;
}

/**
 * Checks a data directory, while the writer may go on. Files that are too damaged to be read are not checked further.
 * @throws OperatorError where there is no index, or one of another version, or no block at the height `since`
 */
export function checkDirectory(
  directory: string,
  { deep, older = null, since, watch }: CheckOptions = {},
): CheckResult[] {
  requireIndex(directory);
  const run = new CheckRun(recounts.length + FILE_CHECKS, watch);
  const position = checkIndex(run, directory, since ?? null);
  const ofIndex = run.findings;
  checkJournal(run, directory, position);
  if (deep === undefined || position.position === null || run.findings > ofIndex) return run.results;
  // Where a number is wrong, the comparison of tables shows which rows differ.
  if (ofIndex > 0 && !isComparable(directory, position.position, older)) return run.results;
  checkTables(run, { directory, machine: deep, older });
  return run.results;
}
