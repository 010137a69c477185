/** The status of a shared log and its hosts, for people to read. */

import { type Head, LOG_START, sameChain } from '../store/log/entry.ts';
import type { EngineAccess } from './engine-tables.ts';
import { type LeaseState, readLeases } from './leases.ts';
import type { PostgresLog } from './postgres-log.ts';
import type { OwnJournal } from './shared-log.ts';

interface DirectoryPosition {
  /** The newest entry of the journal. */
  entry: number;
  /** Whether journal and log have the same entries, as far as both go. */
  fits: boolean;
}

export interface ClusterStatus {
  /** Null until a host has set it. */
  chainId: number | null;
  head: Head;
  /** Bytes of the log on the disk of PostgreSQL. */
  bytes: number;
  hosts: SeenHost[];
  leases: LeaseState[];
  /** Null if no data directory was given, or it has no journal yet. */
  directory: DirectoryPosition | null;
  engine: EngineStatus;
}

/**
 * Reads the status of a shared log and its hosts.
 * @param journal the journal of a data directory to compare with the log
 * @throws OperatorError if there is no log, LogUnavailableError
 */
export async function clusterStatus(log: PostgresLog, journal: OwnJournal | null): Promise<ClusterStatus> {
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
    directory: journal === null ? null : await readPosition(access, journal, head),
    engine: await readEngineStatus(access),
  };
}

async function readPosition(access: EngineAccess, journal: OwnJournal, head: Head): Promise<DirectoryPosition> {
  const { engine, tables } = access;
  const entry = journal.head().id;
  const common = Math.min(entry, head.id);
  if (common === LOG_START.id) return { entry, fits: true };
  const [row] = await engine.read((run) =>
    run<{ chain: Uint8Array }>(`SELECT chain FROM ${tables.log} WHERE seq = $1`, [common]),
  );
  const journalChain = journal.chainAt(common);
  return { entry, fits: row !== undefined && journalChain !== null && sameChain(row.chain, journalChain) };
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

/** The engine's answer to a report. */
export interface HostAnswer {
  /** Whether another process has reported under this name since this process's last report. */
  isNameShared: boolean;
  /** The engine's clock, in Unix milliseconds. */
  now: number;
}

export interface SeenHost extends HostPosition {
  /** Seconds since that report, by the engine's clock. */
  seconds: number;
  /** Seconds since the host last had all entries; 0 if it had all entries when it reported. */
  lagSeconds: number;
}

/**
 * Writes the report of this host.
 * @param isFirst whether it is the first report of this process: a previous process may have used the name
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function writeReport(
  { engine, tables }: EngineAccess,
  host: HostReport,
  isFirst: boolean,
): Promise<HostAnswer> {
  const write =
    `WITH before AS (SELECT process FROM ${tables.hosts} WHERE name = $1),` +
    ` reported AS (INSERT INTO ${tables.hosts} (name, seq, seen_at, version, process, behind_since)` +
    ' VALUES ($1, $2, clock_timestamp(), $3, $4,' +
    " CASE WHEN $5::float8 > 0 THEN clock_timestamp() - $5::float8 * interval '1 second' END)" +
    ' ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, seen_at = excluded.seen_at, version = excluded.version,' +
    ' process = excluded.process, behind_since = excluded.behind_since)' +
    ' SELECT (SELECT process FROM before) AS process, extract(epoch FROM clock_timestamp())::float8 AS now';
  const { name, entry, version, process, lagSeconds } = host;
  const rows = await engine.write(({ run }) =>
    run<{ process: string | null; now: number }>(write, [name, entry, version, process, lagSeconds]),
  );
  const [{ process: previous, now } = { process: null, now: 0 }] = rows;
  return { isNameShared: !isFirst && previous !== null && previous !== process, now: now * 1_000 };
}

/** All hosts that have reported, by name. @throws LogUnavailableError */
export async function readHosts({ engine, tables }: EngineAccess): Promise<SeenHost[]> {
  const rows = await engine.read((run) =>
    run<{ name: string; seq: string; version: string; seconds: number; lag: number }>(
      'SELECT name, seq, version, extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seconds,' +
        ' coalesce(extract(epoch FROM clock_timestamp() - behind_since), 0)::float8 AS lag' +
        ` FROM ${tables.hosts} ORDER BY name`,
    ),
  );
  return rows.map(({ seq, lag, ...row }) => ({ ...row, entry: Number(seq), lagSeconds: lag }));
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
  /** The setting `synchronous_standby_names`; null in an engine without it. */
  synchronous: string | null;
  standbys: Standby[];
  /** Warnings for the operator, as sentences. */
  warnings: string[];
}

/** Reads PostgreSQL's settings and standbys. @throws LogUnavailableError */
async function readEngineStatus({ engine }: EngineAccess): Promise<EngineStatus> {
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
  const status = { server: server.name, version, synchronous: names, standbys: standbys.map((row) => ({ ...row })) };
  return {
    ...status,
    warnings: [...rivals.map((rival) => rivalWarning(primary!, rival)), ...warningsOf(status, fsync)],
  };
}

const rivalWarning = (primary: string, rival: string): string =>
  `PostgreSQL accepts writes at ${primary} and at ${rival}, and Stackside uses ${primary}: stop the server at ${rival}, and make it a standby.`;

function warningsOf({ synchronous, standbys }: Omit<EngineStatus, 'warnings'>, fsync: string | null): string[] {
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
