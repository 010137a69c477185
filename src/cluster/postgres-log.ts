/** The shared log in a table of PostgreSQL. */
import type { SQL } from 'bun';
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { compressed, decompressed, type Entry, HASH_BYTES, type Head, LOG_START } from '../store/log/entry.ts';
import { type EngineAccess, engineAccess, requireRights, requireTables } from './engine-tables.ts';
import { type EngineOptions, hasState, loginRefusal, type Session } from './postgres-engine.ts';
import {
  type AppendResult,
  DamagedLogError,
  LogUnavailableError,
  LogUnknownOutcomeError,
  type SharedLog,
} from './shared-log.ts';

/** Bytes of text of a read if the caller gives no maximum. */
const DEFAULT_BYTES = 32_000_000;

const COLUMNS = 'seq, received_at, path, payload, chain';

/** The SQLSTATE of a number that is taken. */
const UNIQUE_VIOLATION = '23505';

/** Milliseconds after which a waiting host polls the log: a notification, or entries, may be lost. */
export const LOOK_MS = 1_000;

/** The row of an entry; PostgreSQL's client returns 64-bit numbers as text. */
interface LogRow {
  seq: string;
  received_at: string;
  path: string;
  payload: Uint8Array;
  chain: Uint8Array;
}

export interface PostgresLogOptions extends EngineOptions {
  prefix?: string;
  /** Whether the role must have the rights of a host. */
  isHost?: boolean;
}

/**
 * Opens the shared log that `stackside cluster init` made. An unreachable engine isn't an error here: calls of the log throw
 * LogUnavailableError until it is reachable.
 * @param url of one or several servers, among which the primary is found
 * @throws OperatorError if the URL or prefix is invalid, the login is refused, the database or the tables are missing, the
 *   tables have another version, or the role lacks rights
 */
export async function openPostgresLog(
  url: string,
  { prefix, isHost, ...options }: PostgresLogOptions = {},
): Promise<PostgresLog> {
  const log = new PostgresLog(engineAccess(url, prefix, options), options.clock, isHost);
  try {
    await log.requireTables();
  } catch (error) {
    const failure = error instanceof LogUnavailableError ? loginRefusal(error) : error;
    if (failure !== null) {
      await log.close();
      throw failure;
    }
  }
  return log;
}

export class PostgresLog implements SharedLog {
  /** Access to the engine's other tables: the leases, and the reports of hosts. */
  readonly access: EngineAccess;
  readonly #clock: Clock;
  readonly #isHost: boolean;
  readonly #insert: string;
  readonly #read: string;
  #isVerified = false;
  /** The client that listens for notifications. */
  #listening: { sql: SQL; ready: Promise<unknown> } | null = null;
  /** Callers of `wait`, each with the number of the newest entry that it knows. */
  readonly #waiting = new Set<{ lastId: number; wake: () => void }>();

  constructor(access: EngineAccess, clock: Clock = systemClock, isHost = false) {
    const { log } = access.tables;
    this.access = access;
    this.#isHost = isHost;
    this.#clock = clock;
    // The first entry is inserted only if its number is free and the entry before it is the host's last one; the others only
    // with it, so that all are there or none. Two hosts that insert at once conflict on the primary key. Payloads and chain
    // values come as one value each, which takes a fifth of the time of arrays. Other hosts are notified at the commit.
    this.#insert =
      'WITH entry AS (SELECT $1::bigint + n AS seq, received_at, path,' +
      ' substring($3::bytea FROM (sum(length) OVER (ORDER BY n) - length)::integer + 1 FOR length::integer) AS payload,' +
      ` substring($4::bytea FROM ${HASH_BYTES} * (n::integer - 1) + 1 FOR ${HASH_BYTES}) AS chain` +
      ' FROM unnest($5::bigint[], $6::text[], $7::bigint[]) WITH ORDINALITY AS sent (received_at, path, length, n)),' +
      ` first AS (INSERT INTO ${log} (${COLUMNS}) SELECT ${COLUMNS} FROM entry WHERE seq = $1::bigint + 1` +
      ` AND ($1::bigint = 0 OR EXISTS (SELECT 1 FROM ${log} WHERE seq = $1::bigint AND chain = $2::bytea))` +
      ' ON CONFLICT (seq) DO NOTHING RETURNING seq),' +
      ` others AS (INSERT INTO ${log} (${COLUMNS}) SELECT ${COLUMNS} FROM entry` +
      ' WHERE seq > $1::bigint + 1 AND EXISTS (SELECT 1 FROM first))' +
      ` SELECT pg_notify('${log}', (SELECT max(seq) FROM entry)::text) FROM first`;
    this.#read =
      `SELECT ${COLUMNS} FROM` +
      ` (SELECT *, sum(octet_length(payload)) OVER (ORDER BY seq) AS bytes FROM ${log}` +
      ' WHERE seq > $1::bigint ORDER BY seq LIMIT $2::bigint) AS entry' +
      ' WHERE bytes - octet_length(payload) < $3::bigint ORDER BY seq';
  }

  /**
   * Verifies once that the tables exist and have this version, and that the role has its rights. Each call of the log
   * checks this as well, since the engine may be unreachable when the log is opened.
   * @throws OperatorError, LogUnavailableError
   */
  async requireTables(): Promise<void> {
    if (this.#isVerified) return;
    if (this.#isHost) await requireRights(this.access);
    await requireTables(this.access);
    this.#isVerified = true;
  }

  async append(entries: readonly Entry[], head: Head): Promise<AppendResult> {
    await this.requireTables();
    if (entries.length === 0) return 'appended';
    const payloads = entries.map(({ text }) => compressed(text));
    const lengths = payloads.map(({ length }) => length);
    const bytes = lengths.reduce((sum, length) => sum + length, 0);
    const rows = ({ run, sql }: Session) =>
      run(this.#insert, [
        head.id,
        head.chain,
        Buffer.concat(payloads),
        Buffer.concat(entries.map(({ chain }) => chain)),
        sql.array(
          entries.map((entry) => entry.receivedAt),
          'BIGINT',
        ),
        sql.array(
          entries.map((entry) => entry.path),
          'TEXT',
        ),
        sql.array(lengths, 'BIGINT'),
      ]);
    try {
      return (await this.access.engine.write(rows, bytes)).length === 0 ? 'conflict' : 'appended';
    } catch (error) {
      // Another host has filled a hole with one of the later numbers: nothing was written.
      if (hasState(error, UNIQUE_VIOLATION)) return 'conflict';
      throw error;
    }
  }

  async read(lastId: number, limit: number, maxBytes = DEFAULT_BYTES): Promise<Entry[]> {
    await this.requireTables();
    const range = [lastId, limit, maxBytes];
    // Must be durable: the host appends these entries to its journal, or acknowledges an event because one is there.
    const rows = await this.access.engine.readDurably((run) => run<LogRow>(this.#read, range), maxBytes);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const row of rows) {
      const entry = toEntry(row);
      if (entry === null) {
        // The entries before it are returned first.
        if (entries.length > 0) break;
        throw new DamagedLogError(Number(row.seq), "is damaged: its payload can't be decompressed");
      }
      bytes += entry.text.length;
      if (bytes > maxBytes && entries.length > 0) break;
      entries.push(entry);
    }
    return entries;
  }

  async head(): Promise<Head> {
    await this.requireTables();
    const { engine, tables } = this.access;
    const newest = `SELECT seq, chain FROM ${tables.log} ORDER BY seq DESC LIMIT 1`;
    return toHead(await engine.read((run) => run<HeadRow>(newest)));
  }

  async chain(chainId: number | null): Promise<number | null> {
    await this.requireTables();
    const { engine, tables } = this.access;
    interface Row {
      chain_id: string | null;
    }
    const [meta] = await engine.read((run) => run<Row>(`SELECT chain_id FROM ${tables.meta}`));
    if (meta?.chain_id != null) return Number(meta.chain_id);
    if (chainId === null) return null;
    const claim = `UPDATE ${tables.meta} SET chain_id = coalesce(chain_id, $1::bigint) RETURNING chain_id`;
    try {
      const [row] = await engine.write(({ run }) => run<Row>(claim, [chainId]));
      return Number(row?.chain_id ?? chainId);
    } catch (error) {
      // If the outcome of the write is unknown, the caller asks again.
      throw error instanceof LogUnknownOutcomeError ? new LogUnavailableError(error.message, { cause: error }) : error;
    }
  }

  /**
   * PostgreSQL notifies hosts of an entry at its commit. Notifications and entries may be lost, so that a waiting host also
   * polls.
   */
  async wait(lastId: number, signal: AbortSignal): Promise<void> {
    const notification = new AbortController();
    const waiter = { lastId, wake: () => notification.abort() };
    this.#waiting.add(waiter);
    try {
      if (await this.#isBeyond(lastId)) return;
      await pause(this.#clock, LOOK_MS, AbortSignal.any([signal, notification.signal]));
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  /** Whether an entry arrived before listening began. False while the engine is unreachable. */
  async #isBeyond(lastId: number): Promise<boolean> {
    try {
      await this.#listen();
      return (await this.head()).id > lastId;
    } catch (error) {
      if (!(error instanceof LogUnavailableError)) throw error;
      return false;
    }
  }

  async close(): Promise<void> {
    const engineEnd = this.access.engine.close();
    for (const { wake } of this.#waiting) wake();
    await engineEnd;
  }

  /** Starts to listen, unless it has started. @throws LogUnavailableError */
  async #listen(): Promise<void> {
    const { engine, tables } = this.access;
    const { sql } = await engine.writable();
    const heard = (id: string) => {
      for (const { lastId, wake } of this.#waiting) if (Number(id) > lastId) wake();
    };
    if (this.#listening?.sql !== sql) {
      this.#listening = { sql, ready: engine.read(() => sql.listen(tables.log, heard)) };
    }
    const listening = this.#listening;
    try {
      await listening.ready;
    } catch (error) {
      if (this.#listening === listening) this.#listening = null;
      throw error;
    }
  }
}

type HeadRow = Pick<LogRow, 'seq' | 'chain'>;

/** Returns the entry of the first row; if there is no row, the start before the first entry. */
const toHead = ([row]: readonly HeadRow[]): Head =>
  row === undefined ? LOG_START : { id: Number(row.seq), chain: row.chain };

/** Returns the entry of a row; null if the payload can't be decompressed. */
function toEntry({ seq, received_at, path, payload, chain }: LogRow): Entry | null {
  try {
    return { id: Number(seq), receivedAt: Number(received_at), path, text: decompressed(payload), chain };
  } catch {
    // An error of any kind means damaged bytes.
    return null;
  }
}
