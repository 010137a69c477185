/** The journal's file: its schema, and what makes the present version of an older one. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { requireKind, versionOf } from './connection.ts';
import { IMPORTS_TABLE } from './import-progress.ts';
import { CHAIN_START, chainOfRow, type EntryRow } from './journal-entry.ts';

export const JOURNAL_VERSION = 2;

// Chain values stand in a table of their own: what follows a payload in its row is found by reading the payload.
const CHAIN_TABLES = `
  CREATE TABLE chain (
    id    INTEGER PRIMARY KEY, -- of the event
    value BLOB NOT NULL
  ) STRICT;
  CREATE TABLE breaks (        -- where events are missing, which the index holds all the same
    after_id INTEGER PRIMARY KEY, -- the last event that is missing
    chain    BLOB NOT NULL        -- its chain value, as the index has it
  ) STRICT;`;

export const JOURNAL_SCHEMA = `
  ${IMPORTS_TABLE}
  CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL, -- Unix microseconds
    path        TEXT NOT NULL,
    payload     BLOB NOT NULL     -- JSON, zstd
  ) STRICT;
  ${CHAIN_TABLES}`;

/** Told how many entries were given their chain values so far. */
export type UpgradeReport = (entries: number) => void;

const ENTRIES_BETWEEN_REPORTS = 100_000;

/** Version 1 had no chain values. Where ids are missing in it, nobody can tell any more what they were of. */
function addChain(db: Database, file: string, report: UpgradeReport): void {
  db.run(CHAIN_TABLES);
  const addValue = db.prepare<null, [number, Uint8Array]>('INSERT INTO chain VALUES (?1, ?2)');
  const addBreak = db.prepare<null, [number, Uint8Array]>('INSERT INTO breaks VALUES (?1, ?2)');
  const next = db.prepare<EntryRow, [number]>(
    'SELECT *, NULL AS chain, NULL AS previous FROM events WHERE id > ?1 ORDER BY id LIMIT 1',
  );
  let previous: Uint8Array = CHAIN_START;
  let [id, entries] = [0, 0];
  for (let row = next.get(id); row !== null; row = next.get(id)) {
    if (row.id !== id + 1) addBreak.run(row.id - 1, previous);
    previous = chainOfRow(file, { ...row, previous });
    id = row.id;
    addValue.run(id, previous);
    entries += 1;
    if (entries % ENTRIES_BETWEEN_REPORTS === 0) report(entries);
  }
  if (entries > 0) report(entries);
}

/** @throws OperatorError where the file is a database of another kind */
export const requireJournalKind = (db: Database, file: string): void =>
  requireKind(db, file, 'a journal', ['events', 'received_at']);

/** Whether a journal says of itself that events are missing; one of version 1 says nothing of them. */
export const isKnownToLackEvents = (db: Database): boolean =>
  versionOf(db) >= JOURNAL_VERSION && db.query('SELECT 1 FROM breaks LIMIT 1').get() !== null;

/** @throws OperatorError where the file is no journal, or not of the present version */
export function requirePresentVersion(db: Database, file: string): void {
  requireJournalKind(db, file);
  const version = versionOf(db);
  if (version > JOURNAL_VERSION) {
    throw new OperatorError(`${file} is a journal of version ${version}.`, 'Run the newer Stackside that wrote it.');
  }
  if (version === 0) {
    throw new OperatorError(
      `${file} is empty.`,
      'Restore the file from a backup; stackside serve says what else can be done.',
    );
  }
  if (version < JOURNAL_VERSION) {
    throw new OperatorError(
      `${file} is a journal of version ${version}; this program reads ${JOURNAL_VERSION}.`,
      'Start stackside serve or stackside import once: both upgrade the journal.',
    );
  }
}

/**
 * Makes the tables of an empty file, and brings an older version up to date.
 * @throws OperatorError where it is no journal, a newer program wrote it, or an entry can not be read
 */
export function bringUpToDate(db: Database, file: string, report: UpgradeReport): void {
  requireJournalKind(db, file);
  const version = versionOf(db);
  if (version === 0 || version === 1) {
    db.transaction(() => {
      if (version === 0) db.run(JOURNAL_SCHEMA);
      else addChain(db, file, report);
      db.run(`PRAGMA user_version = ${JOURNAL_VERSION}`);
    }).immediate();
  }
  requirePresentVersion(db, file);
}
