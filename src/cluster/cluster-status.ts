/** The status of a shared log and its hosts, for people to read. */

import type { Head } from '../store/log/entry.ts';
import type { EngineAccess } from './engine-tables.ts';
import { type LeaseState, readLeases } from './leases.ts';
import type { PostgresLog } from './postgres-log.ts';

export interface ClusterStatus {
  /** Null until a host has set it. */
  chainId: number | null;
  head: Head;
  /** Bytes of the log on the disk of PostgreSQL. */
  bytes: number;
  hosts: SeenHost[];
  leases: LeaseState[];
  engine: EngineStatus;
  /** Warnings for the operator, as sentences. */
  warnings: string[];
}

/** Reads the status of a shared log and its hosts. @throws OperatorError if there is no log, LogUnavailableError */
export async function clusterStatus(log: PostgresLog): Promise<ClusterStatus> {
  const { access } = log;
  const { engine, tables } = access;
  await log.requireTables();
  // Read before the head, so that no host that works is above it.
  const hosts = await readHosts(access);
  const head = await log.head();
  const [facts] = await engine.read((run) =>
    run<{ chain_id: string | null; bytes: string }>(
      `SELECT chain_id, pg_total_relation_size('${tables.log}') AS bytes FROM ${tables.meta}`,
    ),
  );
  return {
    chainId: facts?.chain_id == null ? null : Number(facts.chain_id),
    head,
    bytes: Number(facts?.bytes ?? 0),
    hosts,
    leases: await readLeases(access),
    ...(await readEngineStatus(access)),
  };
}

// ── The reports of hosts ──

interface HostPosition {
  /** The host's name. */
  name: string;
  /** The newest entry in its index. */
  entry: number;
  version: string;
}

export interface HostReport extends HostPosition {
  /** Seconds since the host last had all entries of the log; 0 while it has them. */
  lagSeconds: number;
  /** Unique among the processes of all hosts. */
  process: string;
}

export interface SeenHost extends HostPosition {
  /** Seconds since that report, by the engine's clock. */
  seen_seconds_ago: number;
  /** Seconds since the host last had all entries; 0 if it had all entries when it reported. */
  lag_seconds: number;
}

/**
 * Writes the report of this host.
 * @param isFirst whether it is the first report of this process: a previous process may have used the name
 * @returns whether another process has reported under this name since this process's last report
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function writeReport(
  { engine, tables }: EngineAccess,
  host: HostReport,
  isFirst: boolean,
): Promise<boolean> {
  const write =
    `WITH before AS (SELECT process FROM ${tables.hosts} WHERE name = $1),` +
    ` reported AS (INSERT INTO ${tables.hosts} (name, seq, seen_at, version, process, behind_since)` +
    ' VALUES ($1, $2, clock_timestamp(), $3, $4,' +
    " CASE WHEN $5::float8 > 0 THEN clock_timestamp() - $5::float8 * interval '1 second' END)" +
    ' ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, seen_at = excluded.seen_at, version = excluded.version,' +
    ' process = excluded.process, behind_since = excluded.behind_since)' +
    ' SELECT process FROM before';
  const { name, entry, version, process, lagSeconds } = host;
  const [previous] = await engine.write(({ run }) =>
    run<{ process: string }>(write, [name, entry, version, process, lagSeconds]),
  );
  return !isFirst && previous !== undefined && previous.process !== process;
}

/** All hosts that have reported, by name. @throws LogUnavailableError */
export async function readHosts({ engine, tables }: EngineAccess): Promise<SeenHost[]> {
  const rows = await engine.read((run) =>
    run<Omit<SeenHost, 'entry'> & { entry: string }>(
      'SELECT name, seq AS entry, version, extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seen_seconds_ago,' +
        ' coalesce(extract(epoch FROM clock_timestamp() - behind_since), 0)::float8 AS lag_seconds' +
        ` FROM ${tables.hosts} ORDER BY name`,
    ),
  );
  return rows.map((row) => ({ ...row, entry: Number(row.entry) }));
}

// ── The server that takes writes, and synchronous replication ──

interface Standby {
  name: string;
  /** `streaming` if the standby is up to date; null if the role may not read the state. */
  state: string | null;
  /** `sync` or `quorum` if commits wait for the standby; null if the role may not read this. */
  sync: string | null;
}

interface EngineStatus {
  /** Host and port of the server that takes writes. */
  server: string;
  version: string;
  /** Null in an engine without this setting. */
  synchronous_standby_names: string | null;
  standbys: Standby[];
}

/** Reads PostgreSQL's settings and standbys. @throws LogUnavailableError */
async function readEngineStatus({ engine }: EngineAccess): Promise<Pick<ClusterStatus, 'engine' | 'warnings'>> {
  const { server } = await engine.writable();
  const [settings] = await engine.read((run) =>
    run<{ version: string; names: string | null; fsync: string | null }>(
      "SELECT current_setting('server_version') AS version, current_setting('fsync', true) AS fsync," +
        " current_setting('synchronous_standby_names', true) AS names",
    ),
  );
  const standbys = await engine.read((run) =>
    run<Standby>(
      'SELECT application_name AS name, state, sync_state AS sync FROM pg_stat_replication ORDER BY application_name',
    ),
  );
  // The search for the primary may be long past.
  const [primary, ...rivals] = await engine.writableServers();
  const { version = '', names = null, fsync = null } = settings ?? {};
  const status: EngineStatus = {
    server: server.name,
    version,
    synchronous_standby_names: names,
    standbys: standbys.map((row) => ({ ...row })),
  };
  const warnings = [...rivals.map((rival) => rivalWarning(primary!, rival)), ...warningsOf(status, fsync)];
  return { engine: status, warnings };
}

const rivalWarning = (primary: string, rival: string): string =>
  `PostgreSQL accepts writes at ${primary} and at ${rival}, and Stackside uses ${primary}: stop the server at ${rival}, and make it a standby.`;

function warningsOf(
  { synchronous_standby_names: synchronous, standbys }: EngineStatus,
  fsync: string | null,
): string[] {
  const warnings: string[] = [];
  if (fsync === 'off') {
    warnings.push('PostgreSQL does not sync to its disk (fsync is off): a loss of power loses acknowledged events.');
  }
  if (synchronous === '') {
    warnings.push(
      'PostgreSQL does not replicate synchronously (synchronous_standby_names is empty): acknowledged events that no ' +
        'host has yet are lost with the disk of its server, unless that disk is itself replicated.',
    );
  } else if (synchronous !== null && !standbys.some(({ sync }) => sync !== 'async' && sync !== 'potential')) {
    warnings.push('No synchronous standby is connected: events are not acknowledged until one is.');
  }
  return warnings;
}
