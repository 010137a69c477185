/** Whether the index is what its events say: SQLite's own check, and every derived number against a recount. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { rollBack } from '../files/connection.ts';
import { indexPath, openReader, requireIndex } from '../files/database.ts';
import { indexPosition } from '../files/journal-link.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import { addressChecks } from './addresses.ts';
import { checkpointCheck } from './checkpoints.ts';
import { type Check, type CheckResult, CheckRun, type CheckWatch } from './checks.ts';
import { copyChecks, countChecks } from './counts.ts';
import { checkIndexSchema, checkJournal, checkPages, checkViews } from './files.ts';
import { nameChecks } from './names.ts';
import { stackingChecks, stakingChecks } from './staking.ts';
import { checkTables, isComparable } from './tables.ts';
import { tokenChecks } from './tokens.ts';
import { valueIndexChecks } from './value-indexes.ts';

/** Everything that is recounted. */
export const recounts: readonly Check[] = [
  ...countChecks,
  ...copyChecks,
  ...tokenChecks,
  ...stackingChecks,
  ...stakingChecks,
  ...addressChecks,
  checkpointCheck,
  ...nameChecks,
  ...valueIndexChecks,
];

/** Checks of the files beside the recounts: pages and schema of both, entries of the journal, those that it lacks, and that it fits. */
const FILE_CHECKS = 8;

/** Runs a check in one snapshot, which no other check shares: the write-ahead log can be emptied between two of them. */
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

/** The entry of the journal before the one that a block came from; 0 where the journal doesn't hold the block. */
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
  /** Where the index stands; null where it can't be read. */
  place: Head | null;
  /** The entry of the journal before the first block that is looked at; null where all are. */
  after: number | null;
}

function checkIndex(run: CheckRun, directory: string, since: number | null): IndexPosition {
  const unreadable: IndexPosition = { place: null, after: null };
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
  return { place: indexPosition(db).current(), after: since === null ? null : entryBefore(db, since) };
}

export interface CheckOptions {
  /** What applies commands: every row is compared too, with an index that is made of the journal beside it. */
  deep?: ComposeMachine;
  /** The height from which on blocks are looked at, with what they wrote; all without it. */
  since?: number;
  watch?: CheckWatch;
}

/**
 * Checks a data directory; the writer may go on meanwhile. What is damaged so that it can't be read is not looked into
 * any further.
 * @throws OperatorError where there is no index, or one of another version, or no block at the height `since`
 */
export function checkDirectory(directory: string, { deep, since, watch }: CheckOptions = {}): CheckResult[] {
  requireIndex(directory);
  const run = new CheckRun(recounts.length + FILE_CHECKS, watch);
  const position = checkIndex(run, directory, since ?? null);
  const ofIndex = run.findings;
  checkJournal(run, directory, position);
  if (deep === undefined || position.place === null || run.findings > ofIndex) return run.results;
  // Where a number is wrong, the tables that differ say of what.
  if (ofIndex === 0 || isComparable(directory, position.place)) checkTables(run, directory, deep);
  return run.results;
}
