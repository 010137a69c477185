/** Connections to SQLite files, by purpose. No other code opens such a file. */
import { constants, Database, SQLiteError, type SQLQueryBindings, type Statement } from 'bun:sqlite';
import { existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { StoreUnavailableError } from '../../base/system-errors.ts';
import { makePrivateFile, requireWritableFiles } from './private-files.ts';

/** Whether the database itself failed, so that the requested read or write has no result. */
export const isStorageError = (error: unknown): boolean =>
  error instanceof StoreUnavailableError || error instanceof SQLiteError;

/** Milliseconds that a statement waits for a lock of another connection. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Maximum bytes that an emptied write-ahead log occupies on the disk. */
export const WAL_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Pages of a write-ahead log after which a commit copies them into the file, in the writer's thread. The server's checkpointer
 * copies them earlier in another thread.
 */
export const AUTOCHECKPOINT_PAGES = WAL_LIMIT_BYTES / 4_096;

/**
 * A connection that finalizes its statements when it is closed. Otherwise a closed database stays open until the garbage
 * collector frees the last of its statements, with its locks and with the disk space of a replaced file.
 */
export class Connection extends Database {
  /** The last iterator of each statement. */
  readonly #iterated = new Map<object, ReturnType<Statement['iterate']>>();

  /** Makes a statement that SQLite compiles at its first use. Never throws. */
  override prepare<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string, values?: Values) {
    return lazyStatement(
      () => super.prepare<Row, Values>(sql, values),
      (statement, rows) => this.#iterated.set(statement, rows),
    );
  }

  /** Compiles a statement at once. @throws SQLiteError if SQLite refuses it */
  compiled<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    return super.prepare<Row, Values>(sql);
  }

  /**
   * Ends all iterations. A statement that was left in the middle of its rows keeps its snapshot beyond the end of the
   * transaction: later reads of the connection would use that snapshot, and the write-ahead log could not be emptied.
   */
  endReads(): void {
    for (const rows of this.#iterated.values()) rows.return?.();
    this.#iterated.clear();
  }

  /** Rolls back an open transaction, and closes the file. Later use of its statements throws. May be called again. */
  override close(): void {
    super.close(true);
  }
}

/** Whether no file can be created next to a file, for lack of space or inodes. */
function isDiskFull(path: string): boolean {
  const directory = dirname(path);
  if (!existsSync(directory)) return false;
  const { bavail, files, ffree } = statfsSync(directory);
  return bavail === 0 || (files > 0 && ffree === 0);
}

/**
 * Adds the file's path to an error of SQLite, since its message lacks the path and the reason why a file can't be opened. A
 * full disk is recognised here.
 */
function withPath<T>(path: string, run: () => T): T {
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

/** Opens an existing file. @throws SQLiteError with its path */
const openFile = (path: string, access: { readonly: true; safeIntegers: boolean } | { readwrite: true }): Connection =>
  withPath(path, () => new Connection(path, { ...access, strict: true }));

/** Prepares a connection for its use, and closes it if that fails. @throws SQLiteError with the path of the file */
export function setUp(db: Connection, prepare: (db: Connection) => void): Connection {
  try {
    withPath(db.filename, () => prepare(db));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Opens a file to write to it while others read; creates it with rights for its owner only.
 * @param synchronous `FULL`: commits survive a loss of power. `NORMAL`: the last commits may not
 */
export function openToWrite(path: string, synchronous: 'FULL' | 'NORMAL'): Connection {
  makePrivateFile(path);
  requireWritableFiles(path);
  return setUp(openFile(path, { readwrite: true }), (db) => {
    // Must come first: the other pragmas read the file, which another process may have locked for a moment.
    setPatience(db, BUSY_TIMEOUT_MS);
    db.run('PRAGMA journal_mode = WAL');
    db.run(`PRAGMA synchronous = ${synchronous}`);
    db.run(`PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`);
  });
}

/** Opens a file to write to it; tests replace {@link openToWrite}. */
export type Connect = typeof openToWrite;

/** The version of the file's schema; 0 for an empty file. */
export const versionOf = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()?.user_version ?? 0;

/** A kind of file. SQLite's application_id has its number. */
export interface FileKind {
  /** The kind in a sentence: `an index`. */
  name: string;
  id: number;
}

const applicationIdOf = (db: Database): number =>
  db.query<{ application_id: number }, []>('PRAGMA application_id').get()?.application_id ?? 0;

/** Compares a file with the expected kind: `empty`, of this kind (`own`), or `other`. */
export function kindOf(db: Database, { id }: FileKind): 'empty' | 'own' | 'other' {
  const applicationId = applicationIdOf(db);
  if (applicationId === id) return 'own';
  const isUnmarked = applicationId === 0 && versionOf(db) === 0;
  return isUnmarked && db.query('SELECT 1 FROM sqlite_schema').get() === null ? 'empty' : 'other';
}

/**
 * Returns the error for a file with a version older than the first release.
 * @param remedy by default the one for a journal, which no other file replaces
 */
export const unreleasedFile = (
  file: string,
  remedy = 'Run stackside export with the executable that made it, and stackside import into a new directory with this one.',
): OperatorError => new OperatorError(`${file} was made by an unreleased Stackside.`, remedy);

/** Requires that a file is empty or has a kind. @throws OperatorError if it has another kind */
export function requireKind(db: Database, file: string, kind: FileKind): void {
  if (kindOf(db, kind) !== 'other') return;
  throw new OperatorError(
    `${file} is a database, but not ${kind.name}.`,
    'Check --data; move the file away, and restore the one that belongs there.',
  );
}

/** A file has lost content: its pages can't be read, or tables or rows are missing. */
export class DamagedFileError extends OperatorError {
  /** @param damage the end of a sentence, without its full stop */
  constructor(file: string, damage: string, remedy: string, options?: ErrorOptions) {
    super(`${file} is damaged: ${damage}.`, remedy, options);
  }
}

/** Requires that a file has the tables that a schema creates. @throws DamagedFileError with the remedy */
export function requireTables(db: Database, file: string, schema: string, remedy: string): void {
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const stored = new Set(rows.map(({ name }) => name));
  for (const [, name = ''] of schema.matchAll(/CREATE (?:VIRTUAL )?TABLE (\w+)/g)) {
    if (!stored.has(name)) throw new DamagedFileError(file, `its table ${name} is missing`, remedy);
  }
}

/** Writes the kind and version of a file, in the open transaction. */
export function markFile(db: Database, { id }: FileKind, version: number): void {
  db.run(`PRAGMA application_id = ${id}`);
  db.run(`PRAGMA user_version = ${version}`);
}

/** Rolls back the open transaction, if any: after a full disk or an I/O error SQLite may have ended it by itself. */
export function rollBack(db: Database): void {
  if (db.inTransaction) db.run('ROLLBACK');
}

/** @param milliseconds that statements of this connection wait for another's lock, which blocks the thread */
export function setPatience(db: Database, milliseconds: number): void {
  db.run(`PRAGMA busy_timeout = ${milliseconds}`);
}

/**
 * Does work with large sorts, with SQLite's temporary files in a directory: the usual directories, /var/tmp
 * and /tmp, may be small, in memory, or missing. The setting applies to the process, so no other thread may use SQLite at that
 * time.
 */
export function sortingIn(directory: string, db: Database, work: () => void): void {
  db.run(`PRAGMA temp_store_directory = '${directory.replaceAll("'", "''")}'`);
  try {
    work();
  } finally {
    db.run("PRAGMA temp_store_directory = ''");
  }
}

/** Writes a page of the file without a change, to test whether it can be written. */
export function touch(db: Database): void {
  db.run(`PRAGMA user_version = ${versionOf(db)}`);
}

/**
 * Opens an existing file to read it while another process writes.
 * @param exact whether integers are read as bigint, which is exact beyond 2^53
 */
export function openToRead(path: string, exact = false): Connection {
  return setUp(openFile(path, { readonly: true, safeIntegers: exact }), (db) => {
    setPatience(db, BUSY_TIMEOUT_MS);
    db.run('PRAGMA query_only = ON');
  });
}

/**
 * Opens an existing file to read it without a trace: SQLite makes no other files, and takes no lock. If a write-ahead log
 * has content, the file is opened as by {@link openToRead}, with the log.
 */
export function openWithoutTrace(path: string): Connection {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0) return openToRead(path);
  const uri = `${pathToFileURL(path).href}?immutable=1`;
  return withPath(path, () => new Connection(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI));
}

/** Opens an existing file to checkpoint its write-ahead log, without waiting for locks. */
export function openToCheckpoint(path: string): Connection {
  return new Connection(path, { readwrite: true, strict: true });
}

/**
 * Acquires a lock file. The lock ends with the process.
 * @throws SQLiteError with code `SQLITE_BUSY` while another process holds it
 */
export function openLocked(path: string): Connection {
  makePrivateFile(path);
  return setUp(openFile(path, { readwrite: true }), (db) => {
    // Nothing is written, so a rollback journal on the disk is not needed.
    db.run('PRAGMA journal_mode = MEMORY');
    db.run('BEGIN EXCLUSIVE');
  });
}

/** The methods of a statement that the store uses. */
type UsedStatement = Pick<Statement, 'get' | 'all' | 'values' | 'run' | 'iterate' | 'finalize'>;

/** Called with each iterator: only iteration can leave a statement in the middle of its rows. */
type OnIterate = (statement: object, rows: ReturnType<Statement['iterate']>) => void;

/**
 * A statement that SQLite compiles at its first use. A process makes hundreds of statements when it starts, and uses few of
 * them before it is ready.
 */
class LazyStatement implements UsedStatement {
  #compiled: Statement | null = null;
  readonly #compile: () => Statement;
  readonly #iterated: OnIterate;

  constructor(compile: () => Statement, iterated: OnIterate) {
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
 * Makes a lazy statement.
 * @param compile compiles it; called at its first use
 * @param iterated called with each iterator
 * @returns the statement, which has only the methods of `Used`
 */
const lazyStatement = <Row, Values extends SQLQueryBindings[]>(
  compile: () => Statement<Row, Values>,
  iterated: OnIterate,
): Statement<Row, Values> =>
  new LazyStatement(compile as () => Statement, iterated) as unknown as Statement<Row, Values>;

/** Result of a checkpoint: frames in the log, and how many of them are in the file. Both are -1 if none was made. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

// A write-ahead log is found by the file's name, so it must be checkpointed and removed before another file gets that name.

/** Checkpoints the write-ahead log into its file. @returns whether the file has all of it; a reader can prevent that */
export function checkpoint(path: string): boolean {
  using db = openToWrite(path, 'FULL');
  const checkpoint = db.query<Checkpoint, []>('PRAGMA wal_checkpoint(TRUNCATE)').get();
  return checkpoint !== null && checkpoint.log >= 0 && checkpoint.log === checkpoint.checkpointed;
}

/** Removes the log, after a checkpoint. Present readers still have it open. */
export function removeLog(path: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  // A log that reappears after a loss of power would be applied to the new file of that name.
  syncDirectory(dirname(path));
}
