/** Connections to SQLite files, by what they are for. Nothing else opens such a file. */
import { constants, Database, SQLiteError, type SQLQueryBindings, type Statement } from 'bun:sqlite';
import { existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { makePrivateFile } from './private-files.ts';

/** Milliseconds that a statement waits for a lock of another connection. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Bytes that a write-ahead log keeps on the disk once what it held is in the database. */
export const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * A connection whose end is the end of its statements. Otherwise a closed database stays open for as long as the garbage
 * collector leaves one of its statements: with its locks, and with the disk space of a file that was replaced.
 */
export class Connection extends Database {
  /** What was last iterated of each statement. */
  readonly #iterated = new Map<object, ReturnType<Statement['iterate']>>();

  /** Names a statement; SQLite compiles it when it is used first. Throws nothing. */
  override prepare<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string, values?: Values) {
    return lazyStatement(
      () => super.prepare<Row, Values>(sql, values),
      (statement, rows) => this.#iterated.set(statement, rows),
    );
  }

  /** Compiles a statement at once. @throws SQLiteError where SQLite refuses it */
  compiled<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    return super.prepare<Row, Values>(sql);
  }

  /**
   * Ends what is iterated. A statement that somebody left in the middle of its rows keeps the snapshot it reads, beyond the
   * end of its transaction: all that the connection reads later would be of that snapshot, and the write-ahead log could
   * not be emptied.
   */
  endReads(): void {
    for (const rows of this.#iterated.values()) rows.return?.();
    this.#iterated.clear();
  }

  /** Rolls back what is open, and gives back the file. Later use of its statements throws. May be called again. */
  override close(): void {
    super.close(true);
  }
}

/** Whether no file can be made beside one: there is no room, or there are as many files as there can be. */
function isDiskFull(path: string): boolean {
  const directory = dirname(path);
  if (!existsSync(directory)) return false;
  const { bavail, files, ffree } = statfsSync(directory);
  return bavail === 0 || (files > 0 && ffree === 0);
}

/**
 * Adds the path of the file to what SQLite says of it, which names none. Where SQLite can't open a file, it doesn't say why:
 * a full disk is recognised here.
 */
export function named<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    if (error.code?.startsWith('SQLITE_CANTOPEN') === true && isDiskFull(path)) {
      throw Object.assign(new Error('no file can be made', { cause: error }), { code: 'SQLITE_FULL', path });
    }
    throw Object.assign(error, { path });
  }
}

/** Opens a file that is there. @throws SQLiteError with its path */
const opened = (path: string, access: { readonly: true; safeIntegers: boolean } | { readwrite: true }): Connection =>
  named(path, () => new Connection(path, { ...access, strict: true }));

/** Prepares a connection for its use; closes it again where that fails. @throws SQLiteError with the path of the file */
export function prepared(db: Connection, prepare: (db: Connection) => void): Connection {
  try {
    named(db.filename, () => prepare(db));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Opens a file to write to it, beside others that read; creates it, for its owner alone.
 * @param synchronous `FULL`: what is committed survives a loss of power. `NORMAL`: the last commits may not
 */
export function openToWrite(path: string, synchronous: 'FULL' | 'NORMAL'): Connection {
  makePrivateFile(path);
  return prepared(opened(path, { readwrite: true }), (db) => {
    // Must come first: the other pragmas read the file, and another process may hold it for a moment.
    setPatience(db, BUSY_TIMEOUT_MS);
    db.run('PRAGMA journal_mode = WAL');
    db.run(`PRAGMA synchronous = ${synchronous}`);
    db.run(`PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`);
  });
}

/** Opens a file to write to it, as {@link openToWrite}. */
export type Connect = typeof openToWrite;

/** The version of the file's schema; 0 for a new file. */
export const versionOf = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0;

/** A kind of file, which has its number as SQLite's application_id. */
export interface FileKind {
  /** What it is, in a sentence: `an index`. */
  name: string;
  id: number;
  /** A table and its column, by which files from before version 0.1.0 are known: they have no number. */
  earlier: readonly [table: string, column: string];
}

const applicationIdOf = (db: Database): number =>
  db.query<{ application_id: number }, []>('PRAGMA application_id').get()?.application_id ?? 0;

/**
 * What a file is where a kind is expected: `empty`, of this kind and one that versions are counted of (`own`), of this kind from
 * before version 0.1.0 (`earlier`), or `other`.
 */
export function kindOf(db: Database, { id, earlier }: FileKind): 'empty' | 'own' | 'earlier' | 'other' {
  const found = applicationIdOf(db);
  if (found === id) return 'own';
  if (found !== 0) return 'other';
  if (db.query('SELECT 1 FROM sqlite_schema').get() === null) return versionOf(db) === 0 ? 'empty' : 'other';
  const isEarlier = db.query('SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2').get(...earlier) !== null;
  return isEarlier && versionOf(db) > 0 ? 'earlier' : 'other';
}

/** A file is from before version 0.1.0. */
export class EarlierFileError extends OperatorError {
  constructor(file: string) {
    super(
      `${file} was made by a Stackside from before version 0.1.0.`,
      'Make the index anew from the journal: stackside rebuild.',
    );
  }
}

/**
 * Sees to it that a file is of the kind it is taken for, or empty.
 * @throws OperatorError where it is not, EarlierFileError where it is from before version 0.1.0
 */
export function requireKind(db: Database, file: string, kind: FileKind): void {
  const found = kindOf(db, kind);
  if (found === 'earlier') throw new EarlierFileError(file);
  if (found !== 'other') return;
  throw new OperatorError(
    `${file} is a database, but not ${kind.name}.`,
    'Check --data; move the file away, and restore the one that belongs there.',
  );
}

/** Marks a file as one of a kind and a version; part of the open transaction. */
export function markFile(db: Database, { id }: FileKind, version: number): void {
  db.run(`PRAGMA application_id = ${id}`);
  db.run(`PRAGMA user_version = ${version}`);
}

/** Ends the transaction that is open, if one is: after a full disk or an I/O error SQLite may have ended it by itself. */
export function rollBack(db: Database): void {
  if (db.inTransaction) db.run('ROLLBACK');
}

/** @param milliseconds that statements of this connection wait for a lock of another; the thread stands still meanwhile */
export function setPatience(db: Database, milliseconds: number): void {
  db.run(`PRAGMA busy_timeout = ${milliseconds}`);
}

/**
 * Does work for which SQLite may sort much, in files of a directory: the usual ones, /var/tmp and /tmp, may be small, in
 * memory, or missing. The setting is one of the process, so that no other thread may use SQLite meanwhile.
 */
export function sortingIn(directory: string, db: Database, work: () => void): void {
  db.run(`PRAGMA temp_store_directory = '${directory.replaceAll("'", "''")}'`);
  try {
    work();
  } finally {
    db.run("PRAGMA temp_store_directory = ''");
  }
}

/** Writes a page of the file, and changes nothing: shows whether it can be written. */
export function touch(db: Database): void {
  db.run(`PRAGMA user_version = ${versionOf(db)}`);
}

/**
 * Opens a file that is there, to read it beside whoever writes it.
 * @param exact all integers are read as bigint, so that those beyond 2^53 keep their last digits
 */
export function openToRead(path: string, exact = false): Connection {
  return prepared(opened(path, { readonly: true, safeIntegers: exact }), (db) => {
    setPatience(db, BUSY_TIMEOUT_MS);
    db.run('PRAGMA query_only = ON');
  });
}

/**
 * Opens a file that is there, to read it without a trace: SQLite makes no files beside it, and takes no lock. Where a
 * write-ahead log has content, the file is read with it, as by others.
 */
export function openWithoutTrace(path: string): Connection {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0) return openToRead(path);
  const uri = `${pathToFileURL(path).href}?immutable=1`;
  return named(path, () => new Connection(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI));
}

/** Opens a file that is there, to checkpoint its write-ahead log; waits for nobody. */
export function openToCheckpoint(path: string): Connection {
  return new Connection(path, { readwrite: true, strict: true });
}

/**
 * Takes a file as a lock, which goes with the process that holds it.
 * @throws SQLiteError with code `SQLITE_BUSY` while another process has it
 */
export function openLocked(path: string): Connection {
  makePrivateFile(path);
  return prepared(opened(path, { readwrite: true }), (db) => {
    // Nothing is written that a rollback journal would have to bring back.
    db.run('PRAGMA journal_mode = MEMORY');
    db.run('BEGIN EXCLUSIVE');
  });
}

/** What the store does with a statement. */
type Used = Pick<Statement, 'get' | 'all' | 'values' | 'run' | 'iterate' | 'finalize'>;

/** Called with each iteration: of all uses of a statement, only this can leave it in the middle of its rows. */
type Iterated = (statement: object, rows: ReturnType<Statement['iterate']>) => void;

/**
 * A statement that SQLite compiles for its first use. A process that starts names hundreds of statements, and uses few of
 * them before it is ready.
 */
class LazyStatement implements Used {
  #compiled: Statement | null = null;
  readonly #compile: () => Statement;
  readonly #iterated: Iterated;

  constructor(compile: () => Statement, iterated: Iterated) {
    this.#compile = compile;
    this.#iterated = iterated;
  }

  get #statement(): Statement {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }

  get(...values: Parameters<Statement['get']>) {
    return this.#statement.get(...values);
  }
  all(...values: Parameters<Statement['all']>) {
    return this.#statement.all(...values);
  }
  values(...values: Parameters<Statement['values']>) {
    return this.#statement.values(...values);
  }
  run(...values: Parameters<Statement['run']>) {
    return this.#statement.run(...values);
  }
  iterate(...values: Parameters<Statement['iterate']>) {
    const rows = this.#statement.iterate(...values);
    this.#iterated(this, rows);
    return rows;
  }
  finalize() {
    this.#compiled?.finalize();
  }
}

/**
 * Names a statement of a connection.
 * @param compile compiles it; called once, when the statement is used
 * @param iterated called each time the statement is iterated
 * @returns the statement, of whose methods those of `Used` are there
 */
const lazyStatement = <Row, Values extends SQLQueryBindings[]>(
  compile: () => Statement<Row, Values>,
  iterated: Iterated,
): Statement<Row, Values> =>
  new LazyStatement(compile as () => Statement, iterated) as unknown as Statement<Row, Values>;

/** What a checkpoint says: frames in the log, and those of them that the file holds. Both are -1 where none was made. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

// A write-ahead log belongs to the file whose name it has: it is put into that file, and gone, before another file comes there.

/** Checkpoints the write-ahead log into its file. @returns whether the file has all of it: a reader can prevent that */
export function checkpoint(path: string): boolean {
  const db = openToWrite(path, 'FULL');
  try {
    const made = db.query<Checkpoint, []>('PRAGMA wal_checkpoint(TRUNCATE)').get();
    return made !== null && made.log >= 0 && made.log === made.checkpointed;
  } finally {
    db.close();
  }
}

/** Like {@link checkpoint}. @throws PassingError where a reader keeps some of it in the log */
export function checkpointWhole(path: string): void {
  if (checkpoint(path)) return;
  throw new PassingError(`${path} is being read.`, 'Try again when what reads it has ended, such as stackside backup.');
}

/** Removes the log, after a checkpoint. Readers go on with theirs. */
export function removeLog(path: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  // One that came back with a loss of power would be read into the file that is in the place by then.
  syncDirectory(dirname(path));
}
