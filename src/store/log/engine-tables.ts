/** The tables of the shared log in PostgreSQL. Several chains share a database by a prefix of their names. */
import { OperatorError } from '../../base/errors.ts';
import { hasState } from './engine-failure.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { PREFIX } from './table-prefix.ts';

/** The version of the tables and of what they hold. */
const LOG_FORMAT = 3;

export type EngineTables = ReturnType<typeof tablesOf>;

/** The names of the tables, and of the channel on which hosts are told of entries. @throws OperatorError */
export function tablesOf(prefix: string) {
  if (!PREFIX.test(prefix)) {
    throw new OperatorError(
      `${JSON.stringify(prefix)} is no prefix of table names.`,
      'Give up to 31 lower-case letters, digits and _ to --cluster-prefix, the first of them no digit.',
    );
  }
  const named = (name: string): string => `${prefix}stackside_${name}`;
  return {
    log: named('log'),
    lease: named('lease'),
    meta: named('meta'),
    hosts: named('hosts'),
  };
}

/**
 * The statements that make the tables where they are missing. A payload is compressed before it is sent, so PostgreSQL
 * stores it as it comes.
 */
const creationOf = ({ log, lease, meta, hosts }: EngineTables): string[] => [
  // Statements that make one table at once would fail.
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
 * Makes the tables, unless they are there.
 * @returns whether they were made
 * @throws OperatorError where they are of another version, LogUnavailableError, LogUnknownOutcomeError
 */
export async function makeTables(engine: PostgresEngine, tables: EngineTables): Promise<boolean> {
  const format = await formatOf(engine, tables.meta);
  if (format !== null) requireFormat(format);
  // One transaction makes them all.
  else await engine.write(({ run }) => run(creationOf(tables).join(';')));
  return format === null;
}

/** Whether the log is from before version 0.1.0; such a one is begun anew. @throws LogUnavailableError */
export async function isEarlierLog(engine: PostgresEngine, { meta }: EngineTables): Promise<boolean> {
  const format = await formatOf(engine, meta);
  return format !== null && format < LOG_FORMAT;
}

/** Removes the tables with all that they hold. @throws LogUnavailableError, LogUnknownOutcomeError */
export async function dropTables(engine: PostgresEngine, { log, lease, hosts, meta }: EngineTables): Promise<void> {
  await engine.write(({ run }) => run(`DROP TABLE ${log}, ${lease}, ${hosts}, ${meta}`));
}

const UNDEFINED_TABLE = '42P01';

/** Verifies that the tables are there and of this version. @throws OperatorError, LogUnavailableError */
export async function requireTables(engine: PostgresEngine, { meta }: EngineTables): Promise<void> {
  const format = await formatOf(engine, meta);
  if (format === null) {
    throw new OperatorError(
      'The database has no shared log under this prefix.',
      'Make its tables with stackside cluster init, or correct --cluster or --cluster-prefix.',
    );
  }
  requireFormat(format);
}

/** @throws OperatorError where tables have another version */
function requireFormat(format: number): void {
  if (format === LOG_FORMAT) return;
  if (format < LOG_FORMAT) {
    throw new OperatorError(
      'The shared log was made by a Stackside from before version 0.1.0.',
      'Begin it anew: stop all hosts, run stackside rebuild on each, then stackside cluster init with the data directory of one.',
    );
  }
  throw new OperatorError(
    `The shared log has format ${format}; this version of Stackside knows format ${LOG_FORMAT}.`,
    'Run the version of Stackside that the other hosts run.',
  );
}

/**
 * The statement whose commit waits for the standbys, and with it for all that was committed before. An entry can be read that
 * the disk of one server alone has: its session ended while it waited, or its server was started again without the others. A
 * message that nobody reads gives the transaction an id and a record in the write-ahead log, without a row that hosts
 * would wait for each other at. PostgreSQL lets every role send one.
 */
export const WAITING_COMMIT = "SELECT pg_logical_emit_message(true, 'stackside', '')";

/** Null where there is no such table. */
async function formatOf(engine: PostgresEngine, meta: string): Promise<number | null> {
  try {
    const [row] = await engine.read((run) => run<{ format: number }>(`SELECT format FROM ${meta}`));
    return row?.format ?? null;
  } catch (error) {
    if (hasState(error, UNDEFINED_TABLE)) return null;
    throw error;
  }
}

/**
 * The chain of a log. @param named becomes that of a log that has none yet; null names none
 * @returns null where none is named
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function chainOf(
  engine: PostgresEngine,
  { meta }: EngineTables,
  named: number | null,
): Promise<number | null> {
  const [known] = await engine.read((run) => run<{ chain_id: string | null }>(`SELECT chain_id FROM ${meta}`));
  if (known?.chain_id != null) return Number(known.chain_id);
  if (named === null) return null;
  const claim = `UPDATE ${meta} SET chain_id = coalesce(chain_id, $1::bigint) RETURNING chain_id`;
  const [row] = await engine.write(({ run }) => run<{ chain_id: string }>(claim, [named]));
  return Number(row?.chain_id ?? named);
}
