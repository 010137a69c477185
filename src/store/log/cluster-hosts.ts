/** The hosts that share a log, as they told of themselves: for people, and no law depends on it. */
import type { EngineAccess } from './postgres-log.ts';

/** Where a host is. */
export interface HostPosition {
  /** The host's name. */
  name: string;
  /** The newest entry in its index. */
  seq: number;
  /** The version of Stackside that it runs. */
  version: string;
}

/** What a host tells of itself. */
export interface HostReport extends HostPosition {
  /** Seconds since it was last known to have all entries of the log; 0 while it is. */
  lagSeconds: number;
  /** A text that no other process of any host has. */
  process: string;
}

/** What the engine knows that a host tells of itself. */
export interface HostAnswer {
  /** Whether another process told of itself under this name since this process did. */
  isNameShared: boolean;
  /** The engine's clock, in Unix milliseconds. */
  now: number;
}

/** A host with when it told of itself. */
export interface SeenHost extends HostPosition {
  /** Seconds since then, by the engine's clock. */
  seconds: number;
  /** Seconds since it was last known to have all entries; 0 where it had them when it told of itself. */
  lagSeconds: number;
}

/**
 * Tells where this host is.
 * @param isFirst whether this process tells it for the first time: the process before it may have told of itself
 * @throws LogUnavailableError, LogUnknownOutcomeError
 */
export async function tellPosition(
  { engine, tables }: EngineAccess,
  host: HostReport,
  isFirst: boolean,
): Promise<HostAnswer> {
  const tell =
    `WITH before AS (SELECT process FROM ${tables.hosts} WHERE name = $1),` +
    ` told AS (INSERT INTO ${tables.hosts} (name, seq, seen_at, version, process, behind_since)` +
    ' VALUES ($1, $2, clock_timestamp(), $3, $4,' +
    " CASE WHEN $5::float8 > 0 THEN clock_timestamp() - $5::float8 * interval '1 second' END)" +
    ' ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, seen_at = excluded.seen_at, version = excluded.version,' +
    ' process = excluded.process, behind_since = excluded.behind_since)' +
    ' SELECT (SELECT process FROM before) AS process, extract(epoch FROM clock_timestamp())::float8 AS now';
  const { name, seq, version, process, lagSeconds } = host;
  const rows = await engine.write(({ run }) =>
    run<{ process: string | null; now: number }>(tell, [name, seq, version, process, lagSeconds]),
  );
  const [{ process: before, now } = { process: null, now: 0 }] = rows;
  return { isNameShared: !isFirst && before !== null && before !== process, now: now * 1_000 };
}

/** All hosts that ever told of themselves, by name. @throws LogUnavailableError */
export async function readHosts({ engine, tables }: EngineAccess): Promise<SeenHost[]> {
  const rows = await engine.read((run) =>
    run<{ name: string; seq: string; version: string; seconds: number; lag: number }>(
      'SELECT name, seq, version, extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seconds,' +
        ' coalesce(extract(epoch FROM clock_timestamp() - behind_since), 0)::float8 AS lag' +
        ` FROM ${tables.hosts} ORDER BY name`,
    ),
  );
  return rows.map(({ lag, ...row }) => ({ ...row, seq: Number(row.seq), lagSeconds: lag }));
}
