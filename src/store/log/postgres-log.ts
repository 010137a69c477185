/** The shared log in a table of PostgreSQL. */
import { type Clock, systemClock } from '../../base/clock.ts';
import { chainOf, type EngineTables, requireTables, tablesOf, WAITING_COMMIT } from './engine-tables.ts';
import { CHAIN_START, compressed, decompressed } from './entry.ts';
import { copyAfter, copyRow } from './entry-copy.ts';
import { NewEntries } from './new-entries.ts';
import { type EngineOptions, PostgresEngine } from './postgres-engine.ts';
import {
  DamagedLogError,
  type LogEntry,
  type LogHead,
  LogUnavailableError,
  LogUnknownOutcomeError,
  type SharedLog,
} from './shared-log.ts';

/** Bytes of text that one read brings where the caller names no number. */
const USUAL_BYTES = 32_000_000;

/** An entry as its row has it; PostgreSQL's client gives numbers of 64 bits as text. */
interface LogRow {
  seq: string;
  received_at: string;
  path: string;
  payload: Uint8Array;
  chain: Uint8Array;
}

/** What reaches the tables of a shared log: the log itself, its lease, the positions of hosts. */
export interface EngineAccess {
  engine: PostgresEngine;
  tables: EngineTables;
  clock: Clock;
}

export interface PostgresLogOptions extends EngineOptions {
  /** What the names of the tables begin with. */
  prefix?: string;
  /** False where notifications must not be used; then this host looks for entries every 20 ms, and tells nobody. */
  listens?: boolean;
}

/** Reaches the tables, which may be missing. @throws OperatorError where URL or prefix is none */
export function engineAccess(url: string, { prefix = '', ...options }: PostgresLogOptions = {}): EngineAccess {
  const tables = tablesOf(prefix);
  return { engine: new PostgresEngine(url, options), tables, clock: options.clock ?? systemClock };
}

/**
 * Opens the shared log that `stackside cluster init` made. An engine that is away is no reason to fail: the calls of the
 * log say so, and find it when it is back.
 * @param url names one server or several, of which the one that takes writes is found
 * @throws OperatorError where URL or prefix is none, or the database has no tables or those of another version
 */
export async function openPostgresLog(url: string, options: PostgresLogOptions = {}): Promise<PostgresLog> {
  const log = new PostgresLog(engineAccess(url, options), options.listens ?? true);
  try {
    await log.requireTables();
  } catch (error) {
    if (!(error instanceof LogUnavailableError)) {
      await log.close();
      throw error;
    }
  }
  return log;
}

export class PostgresLog implements SharedLog {
  /** What the engine holds besides the log is reached by it: the lease, and the positions of hosts. */
  readonly access: EngineAccess;
  readonly #newEntries: NewEntries;
  readonly #append: string;
  readonly #read: string;
  readonly #head: string;
  #isVerified = false;

  constructor(access: EngineAccess, listens: boolean) {
    const { engine, tables, clock } = access;
    const { log } = tables;
    this.access = access;
    this.#newEntries = new NewEntries(engine, tables, { clock, listens });
    // The one statement that appends: the number is free and the entry before it is the one that the host knows, or nothing
    // is written. Two hosts that try at once meet at the primary key.
    this.#append =
      `INSERT INTO ${log} (seq, received_at, path, payload, chain)` +
      ' SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, $5::bytea' +
      ` WHERE $1::bigint = 1 OR EXISTS (SELECT 1 FROM ${log} WHERE seq = $1::bigint - 1 AND chain = $6::bytea)` +
      ' ON CONFLICT (seq) DO NOTHING RETURNING seq';
    this.#read =
      'SELECT seq, received_at, path, payload, chain FROM' +
      ` (SELECT *, sum(octet_length(payload)) OVER (ORDER BY seq) AS bytes FROM ${log}` +
      ' WHERE seq > $1::bigint ORDER BY seq LIMIT $2::bigint) AS entry' +
      ' WHERE bytes - octet_length(payload) < $3::bigint ORDER BY seq';
    this.#head = `SELECT seq, chain FROM ${log} ORDER BY seq DESC LIMIT 1`;
  }

  /**
   * Verifies once that the tables are there and of this version; calls of the log do, too, since the engine may be away
   * when the log is opened.
   * @throws OperatorError, LogUnavailableError
   */
  async requireTables(): Promise<void> {
    if (this.#isVerified) return;
    await requireTables(this.access.engine, this.access.tables);
    this.#isVerified = true;
  }

  async append(entry: LogEntry, head: LogHead): Promise<'appended' | 'conflict'> {
    await this.requireTables();
    const payload = compressed(entry.text);
    const values = [entry.seq, entry.receivedAt, entry.path, payload, entry.chain, head.chain];
    const rows = await this.access.engine.write(({ run }) => run(this.#append, values), payload.length);
    if (rows.length === 0) return 'conflict';
    this.#newEntries.announce(entry.seq);
    return 'appended';
  }

  async appendTogether(entries: readonly LogEntry[], head: LogHead): Promise<'appended' | 'conflict'> {
    await this.requireTables();
    const outcome = await copyAfter(this.access, head, entries.map(copyRow));
    const newest = entries.at(-1)?.seq;
    if (outcome === 'appended' && newest !== undefined) this.#newEntries.announce(newest);
    return outcome;
  }

  async read(after: number, limit: number, maxBytes = USUAL_BYTES): Promise<LogEntry[]> {
    await this.requireTables();
    const { engine } = this.access;
    // The host takes entries into its journal, or answers an event with 200, because they are there.
    const range = [after, limit, maxBytes];
    const rows = await engine.readDurably((run) => run<LogRow>(this.#read, range), WAITING_COMMIT, maxBytes);
    const entries: LogEntry[] = [];
    let bytes = 0;
    for (const row of rows) {
      const text = textOf(row);
      if (text === null) {
        // Those before it can be read.
        if (entries.length > 0) break;
        throw new DamagedLogError(Number(row.seq), 'is damaged: its payload can not be decompressed');
      }
      const entry = entryOf(row, text);
      bytes += text.length;
      if (bytes > maxBytes && entries.length > 0) break;
      entries.push(entry);
    }
    return entries;
  }

  async head(): Promise<LogHead> {
    await this.requireTables();
    const [row] = await this.access.engine.read((run) => run<Pick<LogRow, 'seq' | 'chain'>>(this.#head));
    return row === undefined ? { seq: 0, chain: CHAIN_START } : { seq: Number(row.seq), chain: row.chain };
  }

  async chain(named: number | null): Promise<number | null> {
    await this.requireTables();
    try {
      return await chainOf(this.access.engine, this.access.tables, named);
    } catch (error) {
      // Whether it was named or not, it is asked for again.
      throw error instanceof LogUnknownOutcomeError ? new LogUnavailableError(error.message, { cause: error }) : error;
    }
  }

  wait(after: number, signal: AbortSignal): Promise<void> {
    return this.#newEntries.wait(after, signal);
  }

  async close(): Promise<void> {
    this.#newEntries.close();
    await this.access.engine.close();
  }
}

const entryOf = ({ seq, received_at, path, chain }: LogRow, text: string): LogEntry => ({
  seq: Number(seq),
  receivedAt: Number(received_at),
  path,
  text,
  chain,
});

/** The text of a row; null where its bytes hold none. */
function textOf({ payload }: LogRow): string | null {
  try {
    return decompressed(payload);
  } catch {
    // Whatever is wrong, it is the bytes.
    return null;
  }
}
