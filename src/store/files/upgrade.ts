/** What this program would do with the files of a data directory, which another version may have written. */
import type { Database } from 'bun:sqlite';
import { existsSync, statSync } from 'node:fs';
import { onFile } from '../../base/system-errors.ts';
import { kindOf, openWithoutTrace, requireKind, versionOf } from './connection.ts';
import { type IndexFate, indexFate, indexPath, journalPath, requireIndex, SCHEMA_VERSION } from './database.ts';
import { isKnownToLackEvents, JOURNAL, JOURNAL_VERSION } from './journal-file.ts';
import { freeBytes } from './status.ts';

export interface FileVersion {
  version: number;
  /** The version that this program writes. */
  known: number;
  /** Bytes of the file and of its write-ahead log. */
  bytes: number;
}

export interface JournalPlan extends FileVersion {
  /** A rebuild gives a journal from before version 0.1.0 its new chain values; a newer journal is refused. */
  fate: 'used' | 'renewed' | 'refused';
  /** Whether it is known to lack events, so that no index can be built from it. */
  lacksEvents: boolean;
}

export interface UpgradePlan {
  index: FileVersion & { fate: IndexFate };
  /** Null where there is none. */
  journal: JournalPlan | null;
  /** Bytes that are free for this user on the disk; null where the system doesn't tell. */
  freeBytes: number | null;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Reads a file, which stays as it is, with all that is beside it. @param known the version that this program writes */
function readFile<T>(path: string, known: number, more: (db: Database) => T): FileVersion & T {
  return onFile(path, () => {
    using db = openWithoutTrace(path);
    return { version: versionOf(db), known, bytes: sizeOf(path) + sizeOf(`${path}-wal`), ...more(db) };
  });
}

/** @throws OperatorError where the file is of another kind */
function journalFate(db: Database, path: string): JournalPlan['fate'] {
  if (kindOf(db, JOURNAL) === 'earlier') return 'renewed';
  requireKind(db, path, JOURNAL);
  return versionOf(db) > JOURNAL_VERSION ? 'refused' : 'used';
}

function journalPlan(path: string): JournalPlan | null {
  if (!existsSync(path)) return null;
  return readFile(path, JOURNAL_VERSION, (db) => ({
    fate: journalFate(db, path),
    lacksEvents: isKnownToLackEvents(db),
  }));
}

/**
 * Reads the versions of the files, and changes nothing.
 * @throws OperatorError where there is no index, or a file is of another kind
 */
export function upgradePlan(directory: string): UpgradePlan {
  requireIndex(directory);
  const path = indexPath(directory);
  return {
    index: readFile(path, SCHEMA_VERSION, (db) => ({ fate: indexFate(db, path) })),
    journal: journalPlan(journalPath(directory)),
    freeBytes: freeBytes(directory),
  };
}
