/**
 * The PostgreSQL servers that hold the shared log: finds the one that takes writes, keeps connections to it, bounds how
 * long a statement may take, and looks for the writable server again after a failure.
 */
import type { ReservedSQL, SQL } from 'bun';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type EngineServer, engineServers } from './engine-address.ts';
import { endsConnection, failureOfWrite, NoAnswerError, unavailable } from './engine-failure.ts';
import { LogUnavailableError } from './shared-log.ts';

/** Connections of one process: one writes, and the others read meanwhile. */
const CONNECTIONS = 3;

/** Seconds in which a server must accept a connection. */
const CONNECT_SECONDS = 3;

/** Seconds after which an unused connection is closed: a network may have forgotten it, and then nothing says so. */
const IDLE_SECONDS = 60;

/** Milliseconds that a statement may take, what each megabyte that it carries adds, and the most of all. */
export const STATEMENT_MS = 10_000;
const MEGABYTE_MS = 1_000;
const LONGEST_MS = 600_000;

/**
 * What a session must have whatever the role's own settings are: a commit waits for the standbys, and no limit of the
 * server ends that wait, since the server then calls a commit done that only one disk has.
 */
const SESSION = { application_name: 'stackside', synchronous_commit: 'on', statement_timeout: '0' };

/** The parameters that statements here have. */
type Parameter = string | number | Uint8Array | null;

/** Runs one statement of a session. */
export type Run = <Row>(statement: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

/** A connection of the pool that nobody else uses meanwhile. */
export interface Session {
  run: Run;
  /** The connection itself, for more than one statement with its answer, such as a copy. */
  sql: ReservedSQL;
}

/** The server that takes writes. */
interface Writable {
  server: EngineServer;
  sql: SQL;
}

/** A server as it was found: whether it takes writes, or why nobody knows. */
type Found = Writable & ({ timeline: number | null } | { failure: unknown });

/**
 * Each promotion of a standby begins a timeline with a higher number. A primary that was cut off and believes that it still
 * is one has a lower one.
 */
const TIMELINE =
  "SELECT current_setting('transaction_read_only') = 'on' AS read_only," +
  " CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END AS file";
/** A single server may be of any kind that speaks PostgreSQL's protocol. */
const READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on' AS read_only, '' AS file";

export interface EngineOptions {
  clock?: Clock;
  /** The most connections, besides one for notifications. */
  connections?: number;
  /** Seconds in which a server must accept a connection. */
  connectSeconds?: number;
}

export class PostgresEngine {
  readonly #servers: readonly EngineServer[];
  readonly #clock: Clock;
  readonly #pool: { max: number; connectionTimeout: number; idleTimeout: number };
  /** Null before it was looked for, and after a failure. */
  #current: Writable | null = null;
  /** The search that is under way. */
  #search: Promise<Writable> | null = null;
  #isClosed = false;

  /** @param url as {@link engineServers} takes it; nothing is connected yet */
  constructor(url: string, { clock = systemClock, connections, connectSeconds }: EngineOptions = {}) {
    this.#servers = engineServers(url);
    this.#clock = clock;
    this.#pool = {
      max: connections ?? CONNECTIONS,
      connectionTimeout: connectSeconds ?? CONNECT_SECONDS,
      idleTimeout: IDLE_SECONDS,
    };
  }

  /** The server that takes writes and a client of it. @throws LogUnavailableError */
  async writable(): Promise<Writable> {
    if (this.#isClosed) throw new LogUnavailableError('The shared log is closed.');
    if (this.#current !== null) return this.#current;
    this.#search ??= this.#keepFound();
    return this.#search;
  }

  async #keepFound(): Promise<Writable> {
    try {
      this.#current = await this.#find();
      return this.#current;
    } finally {
      this.#search = null;
    }
  }

  /**
   * Runs statements that change nothing.
   * @param bytes about how many they carry @throws LogUnavailableError
   */
  async read<T>(work: (run: Run) => Promise<T>, bytes = 0): Promise<T> {
    const writable = await this.writable();
    try {
      return await this.#within(work(runOf(writable.sql)), bytes);
    } catch (error) {
      if (endsConnection(error)) await this.#forget(writable);
      throw unavailable(writable.server.name, error);
    }
  }

  /**
   * Reads rows, and waits until the disks that commits wait for have them, by a commit behind them. One session does both,
   * since a commit says nothing of what another server has.
   * @param commit a statement that writes @param bytes about how many the rows carry @throws LogUnavailableError
   */
  async readDurably<Row>(read: (run: Run) => Promise<Row[]>, commit: string, bytes: number): Promise<Row[]> {
    const writable = await this.writable();
    const sql = await this.#reserve(writable);
    try {
      const rows = await this.#within(read(runOf(sql)), bytes);
      if (rows.length > 0) await this.#within(runOf(sql)(commit), 0);
      return rows;
    } catch (error) {
      if (endsConnection(error)) await this.#forget(writable);
      throw unavailable(writable.server.name, error);
    } finally {
      await sql.release();
    }
  }

  /**
   * Runs one statement that writes, or several of which only the last writes.
   * @param bytes about how many they carry
   * @throws LogUnavailableError where nothing was written, LogUnknownOutcomeError where it may have been
   */
  async write<T>(work: (session: Session) => Promise<T>, bytes = 0): Promise<T> {
    const writable = await this.writable();
    const sql = await this.#reserve(writable);
    try {
      return await this.#within(work({ run: runOf(sql), sql }), bytes);
    } catch (error) {
      if (endsConnection(error)) await this.#forget(writable);
      throw failureOfWrite(writable.server.name, error);
    } finally {
      await sql.release();
    }
  }

  /** Ends what is under way, and closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([this.#search]);
    if (this.#current !== null) await this.#forget(this.#current);
  }

  /** A connection for one statement that writes. Nothing was sent where there is none. */
  async #reserve(writable: Writable): Promise<ReservedSQL> {
    try {
      return await this.#within(writable.sql.reserve(), 0);
    } catch (error) {
      await this.#forget(writable);
      throw unavailable(writable.server.name, error);
    }
  }

  /** Ends the connections to a server, so that whoever waits for it fails; the next statement looks for a server. */
  async #forget(writable: Writable): Promise<void> {
    if (this.#current === writable) this.#current = null;
    await writable.sql.close({ timeout: 0 });
  }

  /** Looks at all servers at once. @throws LogUnavailableError where none takes writes */
  async #find(): Promise<Writable> {
    const found = await Promise.all(this.#servers.map((server) => this.#look(server)));
    const timelines = found.map((one) => ('timeline' in one ? (one.timeline ?? -1) : -1));
    const highest = Math.max(...timelines);
    const chosen = highest < 0 ? undefined : found[timelines.indexOf(highest)];
    await Promise.all(found.filter((one) => one !== chosen).map(({ sql }) => sql.close({ timeout: 0 })));
    if (chosen !== undefined) return chosen;
    const reasons = found.map((one) =>
      'failure' in one ? unavailable(one.server.name, one.failure).message : `${one.server.name} takes no writes`,
    );
    throw new LogUnavailableError(`No server of the shared log can be written: ${reasons.join('; ')}`);
  }

  async #look(server: EngineServer): Promise<Found> {
    const { url, database } = server;
    // The client would prefer the variable PGDATABASE to the database of the URL.
    const sql = new Bun.SQL(url, { ...this.#pool, database, connection: SESSION });
    const statement = this.#servers.length > 1 ? TIMELINE : READ_ONLY;
    try {
      const [row] = await this.#within(runOf(sql)<{ read_only: boolean; file: string }>(statement), 0);
      const timeline = row === undefined || row.read_only ? null : Number.parseInt(row.file.slice(0, 8) || '0', 16);
      return { server, sql, timeline };
    } catch (failure) {
      return { server, sql, failure };
    }
  }

  /** Waits for an answer as long as it may take. @throws NoAnswerError when that time is over */
  #within<T>(answer: Promise<T>, bytes: number): Promise<T> {
    const limit = Math.min(LONGEST_MS, STATEMENT_MS + Math.floor(bytes / 1e6) * MEGABYTE_MS);
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(limit, () => reject(new NoAnswerError(limit)));
      answer.then(resolve, reject).finally(cancel);
    });
  }
}

/** What runs the statements of a client, or of one of its connections. */
const runOf =
  (sql: SQL): Run =>
  (statement, parameters = []) =>
    sql.unsafe(statement, [...parameters]);
