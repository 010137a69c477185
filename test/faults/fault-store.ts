/**
 * A store whose calls fail: connections of SQLite whose k-th call throws the error of a full disk, a failing disk or a
 * lock. Calls of all connections of a store are counted together, in the order they are made.
 */
import { type Database, SQLiteError, type Statement } from 'bun:sqlite';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';

const codes = { full: ['SQLITE_FULL', 13], io: ['SQLITE_IOERR_WRITE', 778], busy: ['SQLITE_BUSY', 5] } as const;

/** How a call fails. */
export interface Fault {
  code: keyof typeof codes;
  /**
   * Outcome of the call: `rolled_back`: SQLite ends the transaction by itself; `kept`: nothing happens, the
   * transaction stays open; `done`: the call takes effect but reports a failure.
   */
  effect: 'rolled_back' | 'kept' | 'done';
}

export const faults: readonly Fault[] = [
  { code: 'full', effect: 'rolled_back' },
  { code: 'full', effect: 'kept' },
  { code: 'io', effect: 'rolled_back' },
  { code: 'io', effect: 'done' },
  { code: 'busy', effect: 'kept' },
];

export interface Call {
  /** From 0 on. */
  number: number;
  sql: string;
  path: string;
}

/** Decides on each call whether and how it fails. */
export type Plan = (call: Call) => Fault | null;
export const never: Plan = () => null;

/** Creates an error like the driver's, which it recognises by name. */
export function errorOf(code: Fault['code']): Error {
  const [name, errno] = codes[code];
  const error = Object.assign(new Error(`a fault: ${name}`), { name: 'SQLiteError', code: name, errno });
  if (!(error instanceof SQLiteError)) throw new Error("this is none of the driver's errors");
  return error;
}

/** Intercepts calls to SQLite: counts them, and makes them fail as planned. */
export class Front {
  #plan = never;
  /** Number of calls since the plan began. */
  calls = 0;

  /** Counts from 0 on, and lets calls fail as planned. */
  follow(plan: Plan): void {
    this.#plan = plan;
    this.calls = 0;
  }

  /** Returns the fault of the next call, or null if it succeeds. */
  fate(sql: string, path: string): Fault | null {
    return this.#plan({ number: this.calls++, sql, path });
  }

  /** Runs a call of a connection, or has it fail. @param rollback as SQLite does it by itself */
  pass<T>(db: Database, sql: string, rollback: () => void, call: () => T): T {
    const fault = this.fate(sql, db.filename);
    if (fault === null) return call();
    if (fault.effect === 'done') call();
    if (fault.effect === 'rolled_back' && db.inTransaction) rollback();
    throw errorOf(fault.code);
  }

  /** Intercepts the calls of a statement, too. */
  passing(db: Database, sql: string, rollback: () => void, statement: Statement): Statement {
    for (const name of ['run', 'get', 'all', 'iterate'] as const) {
      const method = statement[name].bind(statement) as (...values: unknown[]) => unknown;
      statement[name] = ((...values: unknown[]) => this.pass(db, sql, rollback, () => method(...values))) as never;
    }
    return statement;
  }
}

export interface FaultStore {
  connect: Connect;
  /** Connections that were opened, the last of each path. */
  opened: Map<string, Database>;
  /** Every connection that was opened. */
  connections: Database[];
  /** Paths of the files whose commits SQLite syncs, as SQLite reports. */
  syncedAtCommit: Set<string>;
  /** Counts calls from 0 on, and lets them fail as planned. */
  follow(plan: Plan): void;
  /** Makes the next calls with this text fail, on the file at a path. @param times how many, one if omitted */
  failNext(path: string, sql: string, fault: Fault, times?: number): void;
  calls(): number;
}

/** Value of `PRAGMA synchronous` for a connection whose commits survive a power loss. */
const FULL = 2;

const syncsCommits = (db: Database): boolean =>
  (db.query<{ synchronous: number }, []>('PRAGMA synchronous').get()?.synchronous ?? 0) >= FULL;

export function faultStore(): FaultStore {
  const opened = new Map<string, Database>();
  const connections: Database[] = [];
  const syncedAtCommit = new Set<string>();
  const front = new Front();

  const connect: Connect = (path, synchronous) => {
    const db = openToWrite(path, synchronous);
    if (syncsCommits(db)) syncedAtCommit.add(path);
    const run = db.run.bind(db);
    const prepare = db.prepare.bind(db);
    const rollback = () => run('ROLLBACK');
    const prepared = (sql: string, ...rest: never[]) => front.passing(db, sql, rollback, prepare(sql, ...rest));
    db.run = ((...parameters: Parameters<typeof run>) =>
      front.pass(db, parameters[0], rollback, () => run(...parameters))) as typeof run;
    db.prepare = prepared as typeof db.prepare;
    db.query = prepared as typeof db.query;
    opened.set(path, db);
    connections.push(db);
    return db;
  };

  return {
    connect,
    opened,
    connections,
    syncedAtCommit,
    follow: (plan) => front.follow(plan),
    failNext(path, sql, fault, times = 1) {
      let remaining = times;
      front.follow((call) => {
        if (remaining === 0 || call.sql !== sql || call.path !== path) return null;
        remaining -= 1;
        return fault;
      });
    },
    calls: () => front.calls,
  };
}
