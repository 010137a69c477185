/** What this program would do with the files of a data directory, which another version may have written. */
import type { Database } from 'bun:sqlite';
import { existsSync, statSync } from 'node:fs';
import { onFile } from '../../base/system-errors.ts';
import { openWithoutTrace, versionOf } from './connection.ts';
import {
  type IndexFate,
  indexFate,
  indexPath,
  journalPath,
  requireIndex,
  requireIndexKind,
  SCHEMA_VERSION,
} from './database.ts';
import { isKnownToLackEvents, JOURNAL_VERSION, requireJournalKind } from './journal-file.ts';
import { freeBytes } from './status.ts';

export interface FileVersion {
  version: number;
  /** The version that this program writes. */
  known: number;
  /** Bytes of the file and of its write-ahead log. */
  bytes: number;
}

export interface JournalPlan extends FileVersion {
  /** An older journal gets checksums at the first start, a newer one is refused. */
  fate: 'used' | 'upgraded' | 'refused';
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
function readFile<T>(
  path: string,
  known: number,
  requireKind: RequireKind,
  more: (db: Database) => T,
): FileVersion & T {
  return onFile(path, () => {
    using db = openWithoutTrace(path);
    requireKind(db, path);
    return { version: versionOf(db), known, bytes: sizeOf(path) + sizeOf(`${path}-wal`), ...more(db) };
  });
}

type RequireKind = (db: Database, file: string) => void;

function journalFate(version: number): JournalPlan['fate'] {
  if (version > JOURNAL_VERSION) return 'refused';
  return version === JOURNAL_VERSION ? 'used' : 'upgraded';
}

function journalPlan(path: string): JournalPlan | null {
  if (!existsSync(path)) return null;
  const { lacksEvents, ...file } = readFile(path, JOURNAL_VERSION, requireJournalKind, (db) => ({
    lacksEvents: isKnownToLackEvents(db),
  }));
  return { ...file, fate: journalFate(file.version), lacksEvents };
}

/**
 * Reads the versions of the files, and changes nothing.
 * @throws OperatorError where there is no index, or a file is of another kind
 */
export function upgradePlan(directory: string): UpgradePlan {
  requireIndex(directory);
  const index = readFile(indexPath(directory), SCHEMA_VERSION, requireIndexKind, () => ({}));
  return {
    index: { ...index, fate: indexFate(index.version) },
    journal: journalPlan(journalPath(directory)),
    freeBytes: freeBytes(directory),
  };
}
