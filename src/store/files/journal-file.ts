/** The journal's file: its schema, and what says that a file is one of the present version. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { type FileKind, kindOf, markFile, requireKind, versionOf } from './connection.ts';
import { IMPORTS_TABLE } from './import-progress.ts';

export const JOURNAL: FileKind = { name: 'a journal', id: 0x53_54_4a_4e, earlier: ['events', 'received_at'] };
export const JOURNAL_VERSION = 1;

// Chain values stand in a table of their own: what follows a payload in its row is found by reading the payload.
export const CHAIN_TABLES = `
  CREATE TABLE chain (
    id    INTEGER PRIMARY KEY, -- of the event
    value BLOB NOT NULL
  ) STRICT;
  CREATE TABLE breaks (        -- where the journal was trimmed: one row at most
    after_id INTEGER PRIMARY KEY, -- the last event that was removed
    chain    BLOB NOT NULL        -- its chain value
  ) STRICT;`;

/** Few or none are withheld: whether there is one is known without a look at all. */
export const WITHHELD_INDEX = "CREATE INDEX withheld ON events (id) WHERE path = '';";

export const JOURNAL_SCHEMA = `
  ${IMPORTS_TABLE}
  CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL, -- Unix microseconds
    path        TEXT NOT NULL,    -- empty: withheld
    payload     BLOB NOT NULL     -- the text, zstd
  ) STRICT;
  ${WITHHELD_INDEX}
  ${CHAIN_TABLES}`;

/** Whether a journal says of itself that events are missing; one from before version 0.1.0 may say nothing of them. */
export const isKnownToLackEvents = (db: Database): boolean =>
  db.query("SELECT 1 FROM sqlite_schema WHERE name = 'breaks'").get() !== null &&
  db.query('SELECT 1 FROM breaks LIMIT 1').get() !== null;

/** @throws OperatorError where the file is no journal, or not of the present version */
export function requirePresentVersion(db: Database, file: string): void {
  requireKind(db, file, JOURNAL);
  const version = versionOf(db);
  if (version === JOURNAL_VERSION) return;
  if (version === 0) {
    throw new OperatorError(
      `${file} is empty.`,
      'Restore the file from a backup; stackside serve says what else can be done.',
    );
  }
  throw new OperatorError(`${file} is a journal of version ${version}.`, 'Run the newer Stackside that wrote it.');
}

/** Makes the tables of an empty file. @throws OperatorError where it is no journal, or not of the present version */
export function makeIfEmpty(db: Database, file: string): void {
  if (kindOf(db, JOURNAL) === 'empty') {
    db.transaction(() => {
      db.run(JOURNAL_SCHEMA);
      markFile(db, JOURNAL, JOURNAL_VERSION);
    }).immediate();
  }
  requirePresentVersion(db, file);
}
