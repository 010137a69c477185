/** The tables of the shared log in PostgreSQL. A prefix of their names lets several chains share a database. */
import { OperatorError } from '../base/errors.ts';
import { type EngineOptions, hasState, PostgresEngine, PREFIX } from './postgres-engine.ts';

/** The version of the tables and their content. */
const LOG_FORMAT = 4;

type EngineTables = ReturnType<typeof tableNames>;

/** Access to the tables of a shared log: log, leases, reports of hosts. */
export interface EngineAccess {
  engine: PostgresEngine;
  tables: EngineTables;
}

/**
 * Creates the access to the tables, which need not exist.
 * @param prefix prefix of the table names @throws OperatorError if the URL or the prefix is invalid
 */
export function engineAccess(url: string, prefix = '', options: EngineOptions = {}): EngineAccess {
  const tables = tableNames(prefix);
  return { engine: new PostgresEngine(url, options), tables };
}

/** The names of the tables, and of the channel on which hosts are notified of entries. @throws OperatorError */
export function tableNames(prefix: string) {
  if (!PREFIX.test(prefix)) {
    throw new OperatorError(
      `${JSON.stringify(prefix)} can't be a prefix of table names.`,
      'Set --cluster-prefix to at most 31 lower-case letters, digits and _; it must not start with a digit.',
    );
  }
  const tableName = (name: string): string => `${prefix}stackside_${name}`;
  return { log: tableName('log'), lease: tableName('lease'), meta: tableName('meta'), hosts: tableName('hosts') };
}

/**
 * The statements that create missing tables. A payload is compressed before it is sent, so PostgreSQL stores it without
 * compression.
 */
const creationStatements = ({ log, lease, meta, hosts }: EngineTables): string[] => [
  // Concurrent statements that create the same table would fail.
  `SELECT pg_advisory_xact_lock(hashtext('${log}'))`,
  `CREATE TABLE IF NOT EXISTS ${log} (
     seq bigint PRIMARY KEY CHECK (seq > 0),
     received_at bigint NOT NULL,
     path text NOT NULL,
     payload bytea NOT NULL,
     chain bytea NOT NULL CHECK (octet_length(chain) = 32)
   )`,
  `ALTER TABLE ${log} ALTER COLUMN payload SET STORAGE EXTERNAL`,
  `CREATE TABLE IF NOT EXISTS ${lease} (
     name text PRIMARY KEY,
     holder text NOT NULL,
     epoch bigint NOT NULL,
     until timestamptz NOT NULL
   )`,
  `CREATE TABLE IF NOT EXISTS ${hosts} (
     name text PRIMARY KEY,
     seq bigint NOT NULL,
     seen_at timestamptz NOT NULL,
     version text NOT NULL,
     process text NOT NULL,
     behind_since timestamptz
   )`,
  `CREATE TABLE IF NOT EXISTS ${meta} (
     only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
     format integer NOT NULL,
     chain_id bigint
   )`,
  `INSERT INTO ${meta} (format) VALUES (${LOG_FORMAT}) ON CONFLICT DO NOTHING`,
];

/**
 * Creates the tables, unless they exist.
 * @returns whether they were created
 * @throws OperatorError if another version created them, LogUnavailableError, LogUnknownOutcomeError
 */
export async function makeTables(access: EngineAccess): Promise<boolean> {
  const format = await readFormat(access);
  if (format !== null) requireFormat(format);
  // All in one transaction.
  else await access.engine.write(({ run }) => run(creationStatements(access.tables).join(';')));
  return format === null;
}

const requiredRights = ({ log, lease, meta, hosts }: EngineTables): { tables: string[]; rights: string[] }[] => [
  { tables: [log], rights: ['SELECT', 'INSERT'] },
  { tables: [lease, hosts], rights: ['SELECT', 'INSERT', 'UPDATE'] },
  { tables: [meta], rights: ['SELECT', 'UPDATE'] },
];

/** Statements that give the role `host` the rights that a host needs. */
export const grantStatements = (tables: EngineTables): string[] =>
  requiredRights(tables).map((row) => `GRANT ${row.rights.join(', ')} ON ${row.tables.join(', ')} TO host;`);

const UNDEFINED_TABLE = '42P01';

/**
 * Checks that the role has the rights that a host needs. Does nothing if the tables don't exist.
 * @throws OperatorError, LogUnavailableError
 */
export async function requireRights({ engine, tables }: EngineAccess): Promise<void> {
  const rows = requiredRights(tables).flatMap((row) =>
    row.tables.flatMap((name) => row.rights.map((privilege) => `('${name}', '${privilege}')`)),
  );
  const missingRights =
    `SELECT current_user AS role, privilege || ' ON ' || name AS missing FROM (VALUES ${rows.join(', ')})` +
    ' AS needed (name, privilege) WHERE NOT has_table_privilege(name, privilege)';
  try {
    const missing = await engine.read((run) => run<{ role: string; missing: string }>(missingRights));
    const [first] = missing;
    if (first === undefined) return;
    throw new OperatorError(
      `The role ${first.role} of --cluster lacks rights on the shared log: ${missing.map((row) => row.missing).join(', ')}.`,
      `Run as the owner of the tables: ${missing.map((row) => `GRANT ${row.missing} TO "${row.role}";`).join(' ')}`,
    );
  } catch (error) {
    if (!hasState(error, UNDEFINED_TABLE)) throw error;
  }
}

/** Checks that the tables exist and have this version. @throws OperatorError, LogUnavailableError */
export async function requireTables(access: EngineAccess): Promise<void> {
  const format = await readFormat(access);
  if (format === null) {
    throw new OperatorError(
      "The database doesn't contain a shared log with this prefix.",
      'Create its tables with stackside cluster init, or correct --cluster or --cluster-prefix.',
    );
  }
  requireFormat(format);
}

function requireFormat(format: number): void {
  if (format === LOG_FORMAT) return;
  throw new OperatorError(
    `The shared log has format ${format}; this version of Stackside supports format ${LOG_FORMAT}.`,
    'Run the version of Stackside that the other hosts run, or create a new log with stackside cluster init and another --cluster-prefix.',
  );
}

/** Returns the version of the tables; null if they don't exist. */
async function readFormat({ engine, tables: { meta } }: EngineAccess): Promise<number | null> {
  try {
    const [row] = await engine.read((run) => run<{ format: number }>(`SELECT format FROM ${meta}`));
    return row?.format ?? null;
  } catch (error) {
    if (hasState(error, UNDEFINED_TABLE)) return null;
    throw error;
  }
}
