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
  /** The chain of its index, which a log that began empty learns by it; null before its first block. */
  chainId: number | null;
}

/** A host with when it told of itself. */
export interface SeenHost extends HostPosition {
  /** Seconds since then, by the engine's clock. */
  seconds: number;
  /**
   * Seconds since the first entry that it lacks came to another host; 0 where it had all entries when it told of itself. The
   * clocks of hosts and engine are taken to agree.
   */
  lagSeconds: number;
}

/** Tells where this host is. @throws LogUnavailableError, LogUnknownOutcomeError */
export async function tellPosition({ engine, tables }: EngineAccess, host: HostReport): Promise<void> {
  const tell =
    `WITH named AS (UPDATE ${tables.meta} SET chain_id = $4::bigint WHERE chain_id IS NULL AND $4::bigint IS NOT NULL)` +
    ` INSERT INTO ${tables.hosts} (name, seq, seen_at, version) VALUES ($1, $2, clock_timestamp(), $3)` +
    ' ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, seen_at = excluded.seen_at, version = excluded.version';
  await engine.write(({ run }) => run(tell, [host.name, host.seq, host.version, host.chainId]));
}

/** All hosts that ever told of themselves, by name. @throws LogUnavailableError */
export async function readHosts({ engine, tables }: EngineAccess): Promise<SeenHost[]> {
  const rows = await engine.read((run) =>
    run<{ name: string; seq: string; version: string; seconds: number; lag: number }>(
      'SELECT name, host.seq, version, extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seconds,' +
        ' CASE WHEN next.received_at < extract(epoch FROM seen_at) * 1000000' +
        ' THEN greatest(0, extract(epoch FROM clock_timestamp()) - next.received_at / 1000000.0) ELSE 0 END::float8 AS lag' +
        ` FROM ${tables.hosts} AS host LEFT JOIN ${tables.log} AS next ON next.seq = host.seq + 1 ORDER BY name`,
    ),
  );
  return rows.map(({ lag, ...row }) => ({ ...row, seq: Number(row.seq), lagSeconds: lag }));
}
