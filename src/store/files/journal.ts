/**
 * The journal: every accepted event of the node, and every command, compressed, in a separate file. A node never sends an
 * event again after a 200, so the index is rebuilt from the journal. Every entry is verified when it is read.
 */

import type { Database } from 'bun:sqlite';
import { zstdDecompressSync } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { isPresent } from '../../base/files.ts';
import { discard } from '../../base/garbage.ts';
import { unavailable } from '../../base/system-errors.ts';
import { lossyText } from '../../codec/utf8.ts';
import { CHAIN_START, compressed, type Entry, HASH_BYTES, type Head, nextChain, sameChain } from '../log/entry.ts';
import { query } from '../rows/statement.ts';
import {
  AUTOCHECKPOINT_PAGES,
  type Connect,
  DamagedFileError,
  type FileKind,
  kindOf,
  markFile,
  openToRead,
  openToWrite,
  requireKind,
  requireTables,
  rollBack,
  setPatience,
  setUp,
  touch,
  unreleasedFile,
  versionOf,
} from './connection.ts';
import { journalPath } from './database.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireFinished } from './unfinished.ts';

export const JOURNAL: FileKind = { name: 'a journal', id: 0x53_54_4a_4e };
export const JOURNAL_VERSION = 2;

/**
 * How far each source of events was read: an imported recording, or a stream of messages. This table is in the journal, with
 * the events themselves, because the journal commits first: after a crash between the two commits, rows that are in the
 * journal must not be read from the source again.
 */
const IMPORTS_TABLE = `
  CREATE TABLE imports (
    source TEXT PRIMARY KEY, -- hash of how the recording begins
    rows   INTEGER NOT NULL,
    digest TEXT NOT NULL     -- of those rows, each hashed onto those before it
  ) STRICT;`;

// Chain values have a separate table, since SQLite reads a row's payload to reach a column after it. Few or no entries
// are withheld: with the index the journal needn't be searched for them.
export const JOURNAL_SCHEMA = `
  ${IMPORTS_TABLE}
  CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL, -- Unix microseconds
    path        TEXT NOT NULL,    -- empty: withheld
    payload     BLOB NOT NULL     -- the text, zstd
  ) STRICT;
  CREATE INDEX withheld ON events (id) WHERE path = '';
  CREATE TABLE chain (
    id    INTEGER PRIMARY KEY, -- of the event
    value BLOB NOT NULL
  ) STRICT;`;

/** @throws OperatorError if the file isn't a journal, or not of the present version */
export function requirePresentVersion(db: Database, file: string): void {
  requireKind(db, file, JOURNAL);
  const version = versionOf(db);
  if (version === JOURNAL_VERSION) return;
  if (version === 0) {
    throw new OperatorError(
      `${file} is empty.`,
      'Restore the file from a backup; stackside serve shows other remedies.',
    );
  }
  if (version < JOURNAL_VERSION) throw unreleasedFile(file);
  throw new OperatorError(`${file} is a journal of version ${version}.`, 'Run the newer Stackside that wrote it.');
}

/** Creates the tables of an empty file. @throws OperatorError if it isn't a journal, or not of the present version */
function makeIfEmpty(db: Database, file: string): void {
  if (kindOf(db, JOURNAL) === 'empty') {
    db.transaction(() => {
      db.run(JOURNAL_SCHEMA);
      markFile(db, JOURNAL, JOURNAL_VERSION);
    }).immediate();
  }
  requirePresentVersion(db, file);
}

/** Number of rows of a recording that were read, and their hash; or number and id of the last message of a stream. */
export interface ImportProgress {
  rows: number;
  digest: string;
}

function importProgress(db: Database) {
  const find = db.prepare<ImportProgress, [string]>('SELECT rows, digest FROM imports WHERE source = ?1');
  const set = query<null, [string, number, string]>`
    INSERT INTO imports VALUES (?1, ?2, ?3) ON CONFLICT (source) DO UPDATE SET rows = ?2, digest = ?3`.prepared(db);
  return {
    get: (source: string): ImportProgress => find.get(source) ?? { rows: 0, digest: '' },
    set: (source: string, { rows, digest }: ImportProgress) => void set.run(source, rows, digest),
  };
}

const REMEDY =
  'Restore a backup into a new directory: stackside restore ARCHIVE --data NEW. stackside check lists all damage.';

/** @param damage the end of a sentence, without its full stop */
const damaged = (file: string, damage: string, options?: ErrorOptions): DamagedFileError =>
  new DamagedFileError(file, damage, REMEDY, options);

/**
 * The error for an entry that is missing or damaged, which is never applied, exported or served.
 * @param fault the end of a sentence that begins with the entry
 */
const entryError = (file: string, id: number, fault: string, options?: ErrorOptions): OperatorError =>
  new OperatorError(`Entry ${id} of ${file} ${fault}.`, REMEDY, options);

/** An entry as the journal's file stores it. */
interface EntryRow {
  id: number;
  received_at: number;
  path: string;
  payload: Uint8Array;
  /** Null if the file lacks it. */
  chain: Uint8Array | null;
  /** Chain value of the entry before; null if the file lacks it. */
  previous: Uint8Array | null;
}

function checkRow(file: string, row: EntryRow): EntryRow & { previous: Uint8Array } {
  const { id, received_at, path, payload, previous } = row;
  if (previous === null) throw entryError(file, id - 1, 'is missing');
  if (previous.length !== HASH_BYTES) throw entryError(file, id - 1, 'is damaged: its chain value is wrong');
  // A damaged file may hold anything in a column.
  if (!Number.isSafeInteger(received_at) || typeof path !== 'string' || !(payload instanceof Uint8Array)) {
    throw entryError(file, id, 'is damaged: a column holds another type');
  }
  return { ...row, previous };
}

function unpack(file: string, { id, payload }: EntryRow): Uint8Array {
  try {
    return zstdDecompressSync(payload);
  } catch (cause) {
    // An error of any kind means damaged bytes.
    throw entryError(file, id, "is damaged: its payload can't be decompressed", { cause });
  }
}

/** @param file name of the journal in errors @throws OperatorError if the row is damaged */
function entryOfRow(file: string, row: EntryRow): Entry {
  const { id, received_at, path, previous, chain } = checkRow(file, row);
  const bytes = unpack(file, row);
  if (chain === null || !sameChain(nextChain(previous, { id, receivedAt: received_at, path, text: bytes }), chain)) {
    throw entryError(file, id, 'is damaged: its chain value is wrong');
  }
  const text = lossyText(bytes);
  discard(bytes);
  return { id, receivedAt: received_at, path, text, chain };
}

const rows = `
  SELECT e.id, e.received_at, e.path, e.payload, c.value AS chain,
         CASE e.id WHEN 1 THEN zeroblob(32) ELSE (SELECT value FROM chain WHERE id = e.id - 1) END AS previous
    FROM events e LEFT JOIN chain c ON c.id = e.id`;

/** Reads from the file. @throws DamagedFileError if pages are damaged */
function readChecked<T>(file: string, look: () => T): T {
  try {
    return look();
  } catch (cause) {
    if (unavailable(cause)?.failure !== 'damaged') throw cause;
    throw damaged(file, "some of its pages can't be read", { cause });
  }
}

/** The ids at both ends of the tables. */
const ends = `
  SELECT (SELECT min(id) FROM events) AS first, (SELECT max(id) FROM events) AS last,
         (SELECT min(id) FROM chain) AS firstChain, (SELECT max(id) FROM chain) AS lastChain`;

interface Ends {
  first: number | null;
  last: number | null;
  firstChain: number | null;
  lastChain: number | null;
}

const orNone = (id: number | null): string => (id === null ? 'none' : `event ${id}`);

/**
 * Requires that a journal has its tables, and that its events and their chain values begin with entry 1 and end with the same
 * entry. Rows that vanish at an end leave no hole that a walk over the entries would find.
 * @throws DamagedFileError
 */
function requireTablesAndEnds(db: Database, file: string): void {
  readChecked(file, () => requireTables(db, file, JOURNAL_SCHEMA, REMEDY));
  const row = readChecked(file, () => db.query<Ends, []>(ends).get());
  if (row === null) throw new Error('an aggregate has a row');
  const { first, last, firstChain, lastChain } = row;
  if (last !== lastChain) {
    const which = `its last event is ${orNone(last)}, but its last chain value belongs to ${orNone(lastChain)}`;
    throw damaged(file, which);
  }
  if (first !== firstChain) {
    const which = `its first event is ${orNone(first)}, but its first chain value belongs to ${orNone(firstChain)}`;
    throw damaged(file, which);
  }
  if (first !== null && first !== 1) throw damaged(file, `it begins with event ${first}`);
}

interface PathCount {
  path: string;
  entries: number;
}

/** The read functions of a journal. @param file its name in errors */
function journalReads(db: Database, file: string) {
  const byId = db.prepare<EntryRow, [number]>(`${rows} WHERE e.id = ?1`);
  const next = db.prepare<EntryRow, [number]>(`${rows} WHERE e.id > ?1 ORDER BY e.id LIMIT 1`);
  const last = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM events');
  const chainValue = db.prepare<{ value: Uint8Array }, [number]>('SELECT value FROM chain WHERE id = ?1');
  const firstReceived = db.prepare<{ received_at: number }, []>('SELECT received_at FROM events ORDER BY id LIMIT 1');
  const lastReceived = query<{ received_at: number }>`
    SELECT received_at FROM events ORDER BY id DESC LIMIT 1`.prepared(db);
  const paths = query<PathCount, [number]>`
    SELECT path, count(*) AS entries FROM events WHERE id > ?1 GROUP BY path`.prepared(db);
  const withheld = db.prepare<{ id: number | null }, []>("SELECT max(id) AS id FROM events WHERE path = ''");
  // SQLite reads the payload only if the path is equal: other rows cost their first page.
  const holds = query<unknown, [number, string, Uint8Array]>`
    SELECT 1 FROM events WHERE id > ?1 AND path = ?2 AND payload = ?3 LIMIT 1`.prepared(db);
  const reading = <T>(look: () => T): T => readChecked(file, look);
  const lastId = (): number => reading(() => last.get()?.id ?? 0);
  const chainAt = (id: number): Uint8Array | null =>
    id === 0 ? CHAIN_START : reading(() => chainValue.get(id)?.value ?? null);

  return {
    /** Id of the last event; 0 in an empty journal. */
    lastId,

    /** The last entry. @throws OperatorError if its chain value is missing */
    head(): Head {
      const id = lastId();
      const chain = chainAt(id);
      if (chain === null) throw entryError(file, id, 'is missing');
      return { id, chain };
    },

    /** Time of receipt of the first and the last event, in Unix microseconds; null in an empty journal. */
    span: (): { first: number; last: number } | null =>
      reading(() => {
        const [first, last] = [firstReceived.get(), lastReceived.get()];
        return first === null || last === null ? null : { first: first.received_at, last: last.received_at };
      }),

    missing: (id: number): OperatorError => entryError(file, id, 'is missing'),

    /** The chain value of an event; null if there is no such event. */
    chainAt,

    /** The number of entries after `id`, by path. Reads a part of each of them. */
    pathsAfter: (id: number): PathCount[] => reading(() => paths.all(id)),

    /** Number of the last withheld entry; null if none is withheld. */
    lastWithheld: (): number | null => reading(() => withheld.get()?.id ?? null),

    /** Whether the events after `id` include one of this path and text. */
    holdsAfter: (id: number, { path, text }: Pick<Entry, 'path' | 'text'>): boolean =>
      reading(() => holds.get(id, path, compressed(text)) !== null),

    /**
     * The entry, or undefined if the id is unknown.
     * @throws OperatorError if it is damaged, DamagedFileError if it can't be read
     */
    read(id: number): Entry | undefined {
      const row = reading(() => byId.get(id));
      return row === null ? undefined : entryOfRow(file, row);
    },

    /**
     * All entries after `id`, oldest first, including entries appended during the read.
     * @throws OperatorError at a missing or damaged entry, DamagedFileError at one that can't be read
     */
    *after(id: number): Generator<Entry> {
      let previousId = id;
      const nextRow = () => reading(() => next.get(previousId));
      for (let row = nextRow(); row !== null; row = nextRow()) {
        if (row.id !== previousId + 1) throw entryError(file, previousId + 1, 'is missing');
        previousId = row.id;
        yield entryOfRow(file, row);
      }
    },
  };
}
export type JournalReads = ReturnType<typeof journalReads>;

/**
 * Opens a journal to read it while another process writes.
 * @throws DamagedFileError if a table or an entry at an end is missing. OperatorError if there is no journal, it is of another
 *   kind or version, or a restore into the directory is unfinished
 */
export function openJournalReader(directory: string) {
  requireFinished(directory);
  const path = journalPath(directory);
  if (!isPresent(path)) {
    throw new OperatorError(`No journal found in ${directory}.`, 'Check --data, or restore its journal.db.');
  }
  const db = setUp(openToRead(path), (opened) => {
    requirePresentVersion(opened, path);
    requireTablesAndEnds(opened, path);
  });
  const reads = journalReads(db, path);
  const counts = query<{ events: number; values: number }>`
    SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM chain) AS "values"`.prepared(db);

  /** The number of entries by the ids at both ends, and the rows of both tables, of one snapshot. */
  function readCounts() {
    try {
      db.run('BEGIN');
      return { expected: reads.lastId(), ...readChecked(path, () => counts.get()) };
    } finally {
      rollBack(db);
    }
  }

  return {
    ...reads,
    /**
     * The number of entries. Counts all rows, which reads a part of each page.
     * @throws DamagedFileError if entries are missing
     */
    entries(): number {
      const { expected, events = 0, values = 0 } = readCounts();
      if (events === expected && values === expected) return expected;
      throw damaged(path, `of ${expected} entries it has ${events}, and ${values} chain values`);
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
}
export type JournalReader = ReturnType<typeof openJournalReader>;

/** Number of the last withheld entry in the journal of a directory; null if none is withheld. @throws OperatorError */
export function lastWithheldIn(directory: string): number | null {
  using journal = openJournalReader(directory);
  return journal.lastWithheld();
}

export type Journal = ReturnType<typeof openJournal>;

/**
 * Opens the journal of a data directory, and creates it if it is missing.
 * Commits are synced to disk: after {@link Journal.commit} returned, a commit survives a loss of power.
 * @param connect opens its file
 * @throws DamagedFileError if a table or an entry at an end is missing. OperatorError if it is of another kind or version
 */
export function openJournal(directory: string, connect: Connect = openToWrite) {
  makePrivateDirectory(directory);
  const path = journalPath(directory);
  const db = setUp(connect(path, 'FULL'), (opened) => {
    opened.run(`PRAGMA wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`);
    makeIfEmpty(opened, path);
    requireTablesAndEnds(opened, path);
  });
  const addEvent = db.prepare<null, [number, number, string, Uint8Array]>('INSERT INTO events VALUES (?1, ?2, ?3, ?4)');
  const addChain = db.prepare<null, [number, Uint8Array]>('INSERT INTO chain VALUES (?1, ?2)');
  return {
    ...journalReads(db, path),
    imports: importProgress(db),
    begin: () => db.run('BEGIN IMMEDIATE'),
    commit: () => db.run('COMMIT'),
    /** Does nothing if no transaction is open. */
    rollback: () => rollBack(db),
    inTransaction: () => db.inTransaction,
    /** Writes a page without a change. */
    touch: () => touch(db),
    setPatience: (milliseconds: number) => setPatience(db, milliseconds),
    /** @param text the entry's text, compressed */
    append({ id, receivedAt, path, chain }: Omit<Entry, 'text'>, text: Uint8Array): void {
      addEvent.run(id, receivedAt, path, text);
      addChain.run(id, chain);
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
}
