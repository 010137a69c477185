/**
 * The PostgreSQL servers that hold the shared log: finds the one that takes writes, keeps connections to it, bounds how
 * long a statement may take, and looks for the writable server again after a failure.
 *
 * A failed write has one of two meanings: nothing was written, or the outcome is unknown. Each statement has a transaction of
 * its own. An answer of severity ERROR means that the transaction is rolled back. An answer of severity FATAL or PANIC ends
 * the session and may come after the commit; a connection that ends without an answer means nothing. A failure before there
 * is a connection has sent nothing.
 *
 * As with libpq, one URL may name several servers; Bun's client connects to one at a time.
 */
import type { ReservedSQL, SQL } from 'bun';
import { type Clock, systemClock } from '../base/clock.ts';
import { OperatorError, TemporaryError } from '../base/errors.ts';
import { percentDecoded } from '../codec/utf8.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from './shared-log.ts';

/** Valid prefixes of table names: they need no quotes and are short enough. */
export const PREFIX = /^(?:[a-z_][a-z0-9_]{0,30})?$/;

interface EngineServer {
  /** Host and port, for people. */
  name: string;
  /** URL of only this server; it may contain a password. */
  url: string;
  database: string;
}

/** The parts of `postgres://user:password@host:port,host:port/database?parameters`. */
const FORM = /^postgres(?:ql)?:\/\/(?<user>[^/?#]*@)?(?<hosts>[^/?#@]+)\/(?<database>[^?#]+)(?<parameters>\?[^#]*)?$/;
const HOST = /^(?<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(?<port>\d{1,5}))?$/;

const DEFAULT_PORT = 5432;

/** Whether a text is the URL of one server or of several. */
export const isEngineUrl = (text: string): boolean => parseServers(text) !== null;

function parseServers(url: string): EngineServer[] | null {
  const { user = '', hosts = '', database: path = '', parameters = '' } = FORM.exec(url)?.groups ?? {};
  const database = percentDecoded(path);
  if (database === null) return null;
  const servers = hosts.split(',').map((text): EngineServer | null => {
    const { host, port = DEFAULT_PORT } = HOST.exec(text)?.groups ?? {};
    if (host === undefined || Number(port) === 0 || Number(port) > 65_535) return null;
    const name = `${host}:${port}`;
    const single = `postgres://${user}${name}/${path}${parameters}`;
    return URL.canParse(single) ? { name, url: single, database } : null;
  });
  return servers.every((server) => server !== null) ? servers : null;
}

/**
 * The servers of a URL such as `postgres://user@h1,h2:5433,h3/database?sslmode=verify-full`.
 * @throws OperatorError if the text isn't such a URL; the message doesn't repeat it, since it may contain a password
 */
export function engineServers(url: string): EngineServer[] {
  const servers = parseServers(url);
  if (servers !== null) return servers;
  throw new OperatorError(
    'The URL of the shared log is not one of PostgreSQL.',
    'Give a URL such as postgres://user@host1:5432,host2:5432/database to --cluster.',
  );
}

/** Connections of a process: one for writes, the others for concurrent reads. */
const CONNECTIONS = 3;

/** Seconds within which a server must accept a connection. */
const CONNECT_SECONDS = 3;

/** Seconds after which an unused connection is closed, since a network may have dropped it unnoticed. */
const IDLE_SECONDS = 60;

/** Milliseconds that a statement may take, milliseconds that each megabyte of it adds, and the maximum. */
export const STATEMENT_MS = 10_000;
const MEGABYTE_MS = 1_000;
const MAX_STATEMENT_MS = 600_000;

/**
 * Settings of a session that override the role's own: a commit waits for the standbys, and no timeout of the server ends that
 * wait, since the server then reports a commit that only one disk has.
 */
const SESSION = { application_name: 'stackside', synchronous_commit: 'on', statement_timeout: '0' };

/**
 * Ends a session that waits for the lock of a row after its client has gone. Otherwise, each retry of a host would take another
 * connection while commits wait for a standby.
 */
const CLIENT_CHECK = { client_connection_check_interval: '2s' };
/** SQLSTATEs of a server that doesn't know a setting, or not on its platform, and of a pooler that doesn't. */
const UNKNOWN_SETTING = ['42704', '22023', '08P01'];

/**
 * A statement whose commit waits for the standbys, and so for all earlier commits. An entry may be readable while only the
 * disk of one server has it: if its session ended during the wait, or its server was restarted without the standbys. A
 * logical message that nobody reads gives the transaction an id and a record in the write-ahead log, without a row on which
 * hosts would wait for each other. PostgreSQL lets every role send one.
 */
export const WAITING_COMMIT = "SELECT pg_logical_emit_message(true, 'stackside', '')";

type Parameter = string | number | Uint8Array | null | ReturnType<SQL['array']>;

export type Run = <Row>(statement: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

/** A connection of the pool that is reserved for one caller. */
export interface Session {
  run: Run;
  /** The connection itself, for other operations than single statements. */
  sql: ReservedSQL;
}

interface Writable {
  server: EngineServer;
  sql: SQL;
}

/** Makes the error of a failed statement from its cause. @param server host and port */
type FailureOf = (server: string, cause: unknown) => LogUnavailableError | LogUnknownOutcomeError;

/** Result of the search at one server: whether it takes writes and when it started, or the failure that left this unknown. */
type ProbeResult = Writable & ({ timeline: number | null; started: string } | { failure: unknown });

type Primary = Extract<ProbeResult, { started: string }> & { timeline: number };

/** Returns the servers that take writes, the one that was promoted last first. */
const writableAmong = (results: readonly ProbeResult[]): Primary[] =>
  results
    .filter((result): result is Primary => 'timeline' in result && result.timeline !== null)
    .sort((a, b) => b.timeline - a.timeline);

/**
 * Each promotion of a standby begins a timeline with a higher number. A former primary that was cut off and still takes
 * writes has a lower one.
 */
const TIMELINE =
  "SELECT current_setting('transaction_read_only') = 'on' AS read_only," +
  " CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END AS file," +
  ' pg_postmaster_start_time()::text AS started';
/** A single server may be any server that speaks PostgreSQL's protocol. */
const READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on' AS read_only, '' AS file, '' AS started";

export interface EngineOptions {
  clock?: Clock;
  /** Maximum number of connections, not counting the connection for notifications. */
  connections?: number;
  /** Seconds within which a server must accept a connection. */
  connectSeconds?: number;
}

export class PostgresEngine {
  readonly #servers: readonly EngineServer[];
  readonly #clock: Clock;
  readonly #pool: { max: number; connectionTimeout: number; idleTimeout: number };
  /** The primary; null before the first search and after a failure. */
  #current: Writable | null = null;
  #search: Promise<Writable> | null = null;
  #isClosed = false;

  /** Doesn't connect yet. @param url as for {@link engineServers} */
  constructor(url: string, { clock = systemClock, connections, connectSeconds }: EngineOptions = {}) {
    this.#servers = engineServers(url);
    this.#clock = clock;
    this.#pool = {
      max: connections ?? CONNECTIONS,
      connectionTimeout: connectSeconds ?? CONNECT_SECONDS,
      idleTimeout: IDLE_SECONDS,
    };
  }

  /** The primary, with a client of it. @throws LogUnavailableError */
  async writable(): Promise<Writable> {
    if (this.#isClosed) throw new LogUnavailableError('The shared log is closed.');
    if (this.#current !== null) return this.#current;
    this.#search ??= this.#startSearch();
    return this.#search;
  }

  async #startSearch(): Promise<Writable> {
    try {
      this.#current = await this.#find();
      return this.#current;
    } finally {
      this.#search = null;
    }
  }

  /** Runs statements that change nothing. @throws LogUnavailableError */
  async read<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const writable = await this.writable();
    return this.#awaitAnswer(writable, readError, work(runOf(writable.sql)), 0);
  }

  /**
   * Reads rows, and makes sure that they are durable on the standbys by a later commit in the same session: a commit on
   * another server would prove nothing.
   * @param bytes of the rows, approximately @throws LogUnavailableError
   */
  async readDurably<Row>(read: (run: Run) => Promise<Row[]>, bytes: number): Promise<Row[]> {
    return this.#inSession(async ({ run }, writable) => {
      const rows = await this.#awaitAnswer(writable, readError, read(run), bytes);
      if (rows.length > 0) await this.#awaitAnswer(writable, waitError, run(WAITING_COMMIT), 0);
      return rows;
    });
  }

  /**
   * Runs one statement that writes, or several of which only the last writes.
   * @param bytes approximate bytes that the statements carry
   * @throws LogUnavailableError if nothing was written, LogUnknownOutcomeError if something may have been written
   */
  async write<T>(work: (session: Session) => Promise<T>, bytes = 0): Promise<T> {
    return this.#inSession((session, writable) => this.#awaitAnswer(writable, writeError, work(session), bytes));
  }

  /** Ends pending statements, and closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled([this.#search]);
    if (this.#current !== null) await this.#disconnect(this.#current);
  }

  /** Runs `work` on a reserved connection. */
  async #inSession<T>(work: (session: Session, writable: Writable) => Promise<T>): Promise<T> {
    const writable = await this.writable();
    // Without a connection, nothing was sent.
    const sql = await this.#awaitAnswer(writable, readError, writable.sql.reserve(), 0);
    try {
      return await work({ run: runOf(sql), sql }, writable);
    } finally {
      await sql.release();
    }
  }

  /** Waits for a server's answer until its time is over. @param failure makes the error of a missing answer */
  async #awaitAnswer<T>(writable: Writable, failure: FailureOf, answer: Promise<T>, bytes: number): Promise<T> {
    try {
      return await this.#withTimeout(answer, bytes);
    } catch (error) {
      if (endsConnection(error)) await this.#disconnect(writable);
      throw failure(writable.server.name, error);
    }
  }

  /** Ends the connections to a server, so that pending statements fail; the next statement searches for the primary. */
  async #disconnect(writable: Writable): Promise<void> {
    if (this.#current === writable) this.#current = null;
    await writable.sql.close({ timeout: 0 });
  }

  /** Asks all servers at once. @throws LogUnavailableError if no server takes writes */
  async #find(): Promise<Writable> {
    const probeResults = await Promise.all(this.#servers.map((server) => this.#probe(server)));
    const [chosen] = writableAmong(probeResults);
    await Promise.all(probeResults.filter((result) => result !== chosen).map(({ sql }) => sql.close({ timeout: 0 })));
    if (chosen !== undefined) return chosen;
    const reasons = probeResults.map((result) =>
      'failure' in result
        ? readError(result.server.name, result.failure).message
        : `${result.server.name} is read-only`,
    );
    // If a server only can't be reached, it may be the one that takes writes, and its login may be right.
    const refusals = probeResults.flatMap((result) => ('failure' in result ? [result.failure] : []));
    const isRefused = refusals.length === probeResults.length && refusals.every(isLoginRefusal);
    throw new LogUnavailableError(
      `No server of the shared log accepts writes: ${reasons.join('; ')}`,
      isRefused ? { cause: refusals[0] } : {},
    );
  }

  /** Asks all servers whether they take writes now. @returns names of those that do, first the one that a search chooses */
  async writableServers(): Promise<string[]> {
    const probeResults = await Promise.all(this.#servers.map((server) => this.#probe(server)));
    await Promise.all(probeResults.map(({ sql }) => sql.close({ timeout: 0 })));
    // Two names of one server show the same start, in microseconds.
    const servers = Map.groupBy(writableAmong(probeResults), ({ started }) => started);
    return [...servers.values()].map(([first]) => first!.server.name);
  }

  async #probe(server: EngineServer): Promise<ProbeResult> {
    const result = await this.#connect(server, { ...SESSION, ...CLIENT_CHECK });
    if (!('failure' in result) || !UNKNOWN_SETTING.includes(stateOf(result.failure))) return result;
    await result.sql.close({ timeout: 0 });
    return this.#connect(server, SESSION);
  }

  async #connect(server: EngineServer, connection: Record<string, string>): Promise<ProbeResult> {
    const { url, database } = server;
    // The client would prefer the variable PGDATABASE to the database of the URL.
    const sql = new Bun.SQL(url, { ...this.#pool, database, connection });
    const statement = this.#servers.length > 1 ? TIMELINE : READ_ONLY;
    try {
      const [row] = await this.#withTimeout(
        runOf(sql)<{ read_only: boolean; file: string; started: string }>(statement),
        0,
      );
      const timeline = row === undefined || row.read_only ? null : Number.parseInt(row.file.slice(0, 8) || '0', 16);
      return { server, sql, timeline, started: row?.started ?? '' };
    } catch (failure) {
      return { server, sql, failure };
    }
  }

  /** Waits for an answer. @throws Error once the time is over */
  #withTimeout<T>(answer: Promise<T>, bytes: number): Promise<T> {
    const limit = Math.min(MAX_STATEMENT_MS, STATEMENT_MS + Math.floor(bytes / 1e6) * MEGABYTE_MS);
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(limit, () => reject(new Error(`no answer within ${limit} ms`)));
      answer.then(resolve, reject).finally(cancel);
    });
  }
}

const runOf =
  (sql: SQL): Run =>
  (statement, parameters = []) =>
    sql.unsafe(statement, [...parameters]);

// ── Meaning of failures ──

/** SQLSTATEs of severity ERROR with an unknown outcome: of connections, and of statements that may have completed. */
const isSilent = (state: string): boolean => state.startsWith('08') || state === '40003';

function provesNothingWritten(error: SQL.PostgresError): boolean {
  return error.severity === 'ERROR' && error.errno !== undefined && !isSilent(error.errno);
}

/** SQLSTATE of a server that doesn't take writes, or no longer, on a working connection. */
const TAKES_NO_WRITES = '25006';

/** Whether another server, or another connection to the same one, must be found after a failure. */
function endsConnection(error: unknown): boolean {
  return !(error instanceof Bun.SQL.PostgresError) || !provesNothingWritten(error) || error.errno === TAKES_NO_WRITES;
}

/** Returns the message of a failure. Connection errors, such as an untrusted certificate, may have any type. */
function messageOf(error: unknown): string {
  if (error instanceof Bun.SQL.PostgresError) return `${error.message} (${error.errno ?? error.code})`;
  return error instanceof Error ? error.message : String(error);
}

/** The error of a statement that was not sent, or that only read. @param server host and port */
const readError = (server: string, cause: unknown, problem = ''): LogUnavailableError =>
  new LogUnavailableError(`PostgreSQL at ${server}${problem}: ${messageOf(cause)}`, { cause });

const UNCONFIRMED = ' did not confirm a commit';

/** The error of a commit that waits for the standbys and writes nothing. @param server host and port */
const waitError: FailureOf = (server, cause) => readError(server, cause, UNCONFIRMED);

/** The error of a write that may have been sent. @param server host and port */
function writeError(server: string, cause: unknown): LogUnavailableError | LogUnknownOutcomeError {
  if (cause instanceof Bun.SQL.PostgresError && provesNothingWritten(cause)) return readError(server, cause);
  return new LogUnknownOutcomeError(`PostgreSQL at ${server}${UNCONFIRMED}: ${messageOf(cause)}`, { cause });
}

/** The SQLSTATE of a database that doesn't exist, and the class of states of a refused login. */
const NO_DATABASE = '3D000';
const REFUSED_LOGINS = '28';

const stateOf = (error: unknown): string => (error instanceof Bun.SQL.PostgresError && error.errno) || '';

/** Whether a server refused the login or its database. */
const isLoginRefusal = (error: unknown): boolean =>
  stateOf(error) === NO_DATABASE || stateOf(error).startsWith(REFUSED_LOGINS);

/**
 * Returns the error for the operator if all servers refused the login or its database; null for other failures. It permits a
 * retry: PostgreSQL also refuses a login if its LDAP or PAM server is down.
 */
export function loginRefusal(error: LogUnavailableError | LogUnknownOutcomeError): TemporaryError | null {
  if (!isLoginRefusal(error.cause)) return null;
  const remedy =
    stateOf(error.cause) === NO_DATABASE
      ? 'Create the database, or correct its name in --cluster.'
      : 'Check the user and password of --cluster (or PGPASSWORD), and that pg_hba.conf of the server accepts this machine.';
  return new TemporaryError(`${error.message}.`, remedy, { cause: error });
}

/** Reports whether PostgreSQL refused a statement with this SQLSTATE. @param error the engine's error */
export const hasState = (error: unknown, state: string): boolean =>
  error instanceof LogUnavailableError && error.cause instanceof Bun.SQL.PostgresError && error.cause.errno === state;
