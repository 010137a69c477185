/**
 * The journal: every event a node sent and Stackside took, compressed, in a file of its own. A node never sends an event
 * again that was answered with 200, so this is what the index is rebuilt from.
 */
import { existsSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'bun';
import { OperatorError } from '../errors.ts';
import { type Connect, openToRead, openToWrite, prepared, rollBack, touch } from './connection.ts';
import { journalPath } from './database.ts';
import { IMPORTS_TABLE, importProgress } from './import-progress.ts';
import { makePrivateDirectory } from './private-files.ts';

/** One event as it was received. */
export interface JournalEntry {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  /** Where the node posted it, such as `/new_block`. */
  path: string;
  /** The body: JSON text. */
  text: string;
}

const JOURNAL_VERSION = 1;

const schema = `
  ${IMPORTS_TABLE}
  CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL, -- Unix microseconds
    path        TEXT NOT NULL,
    payload     BLOB NOT NULL     -- JSON, zstd
  ) STRICT;
  PRAGMA user_version = ${JOURNAL_VERSION};`;

interface Row {
  id: number;
  received_at: number;
  path: string;
  payload: Uint8Array;
}

const selectById = 'SELECT id, received_at, path, payload FROM events WHERE id = ?1';

const decoder = new TextDecoder();

/** Low level: the journal is written on the hot path and read rarely. */
const COMPRESSION_LEVEL = 1;

export const compressed = (text: string): Uint8Array => zstdCompressSync(text, { level: COMPRESSION_LEVEL });
export const decompressed = (bytes: Uint8Array): string => decoder.decode(zstdDecompressSync(bytes));

const entryOf = (row: Row): JournalEntry => ({
  id: row.id,
  receivedAt: row.received_at,
  path: row.path,
  text: decompressed(row.payload),
});

/** Reads a journal by its ids, beside whoever writes it; null where the directory has none. */
export function openJournalReader(directory: string) {
  const path = journalPath(directory);
  if (!existsSync(path)) return null;
  const db = openToRead(path);
  const byId = db.prepare<Row, [number]>(selectById);
  return {
    /** The entry, or undefined where the id is unknown. */
    read: (id: number): JournalEntry | undefined => {
      const row = byId.get(id);
      return row === null ? undefined : entryOf(row);
    },
    close: () => db.close(),
  };
}
export type JournalReader = NonNullable<ReturnType<typeof openJournalReader>>;

export type Journal = ReturnType<typeof openJournal>;

/**
 * Opens the journal of a data directory, and creates it where there is none.
 * Commits are synced to disk: what {@link Journal.commit} returned from survives a loss of power.
 */
export function openJournal(directory: string, connect: Connect = openToWrite) {
  makePrivateDirectory(directory);
  const path = journalPath(directory);
  const db = prepared(connect(path, 'FULL'), (opened) => {
    const version = opened.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version;
    if (version === 0) opened.transaction(() => opened.run(schema)).immediate();
    else if (version !== JOURNAL_VERSION) {
      throw new OperatorError(`${path} is a journal of version ${version}.`, 'Run the newer Stackside that wrote it.');
    }
  });
  const insert = db.prepare<null, [number, number, string, Uint8Array]>('INSERT INTO events VALUES (?1, ?2, ?3, ?4)');
  const last = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM events');
  const byId = db.prepare<Row, [number]>(selectById);
  const after = db.prepare<Row, [number]>(
    'SELECT id, received_at, path, payload FROM events WHERE id > ?1 ORDER BY id LIMIT 1',
  );
  return {
    imports: importProgress(db),
    begin: () => db.run('BEGIN IMMEDIATE'),
    commit: () => db.run('COMMIT'),
    /** Nothing where no transaction is open. */
    rollback: () => rollBack(db),
    /** Writes a page, and changes nothing. */
    touch: () => touch(db),
    lastId: (): number => last.get()?.id ?? 0,
    append: (entry: JournalEntry) => insert.run(entry.id, entry.receivedAt, entry.path, compressed(entry.text)),
    /** The entry, or undefined where the id is unknown. */
    read: (id: number): JournalEntry | undefined => {
      const row = byId.get(id);
      return row === null ? undefined : entryOf(row);
    },
    /** All entries that follow `id`, oldest first; entries appended meanwhile are met too. */
    *entriesAfter(id: number): Generator<JournalEntry> {
      let at = id;
      for (let row = after.get(at); row !== null; row = after.get(at)) {
        at = row.id;
        yield entryOf(row);
      }
    },
    /** A consistent copy, made while others write. */
    copyTo: (file: string) => db.run('VACUUM INTO ?1', [file]),
    close: () => db.close(),
  };
}
