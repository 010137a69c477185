/** What PostgreSQL says of itself: which server is written, and whether a commit waits for another server's disk. */
import type { EngineAccess } from './postgres-log.ts';

/** A server that copies the one which is written. */
export interface Standby {
  name: string;
  /** `streaming` where it is up to date; null where the role may not see it. */
  state: string | null;
  /** `sync` or `quorum` where commits wait for it; null where the role may not see it. */
  sync: string | null;
}

export interface EngineStatus {
  /** Host and port of the server that takes writes. */
  server: string;
  version: string;
  /** The setting `synchronous_standby_names`; null in an engine that has none. */
  synchronous: string | null;
  standbys: Standby[];
  /** What an operator should know, as sentences. */
  warnings: string[];
}

interface SettingsRow {
  version: string;
  names: string | null;
  fsync: string | null;
}

/** @throws LogUnavailableError */
export async function engineStatus({ engine }: EngineAccess): Promise<EngineStatus> {
  const { server } = await engine.writable();
  const [settings] = await engine.read((run) =>
    run<SettingsRow>(
      "SELECT current_setting('server_version') AS version, current_setting('fsync', true) AS fsync," +
        " current_setting('synchronous_standby_names', true) AS names",
    ),
  );
  const standbys = await engine.read((run) =>
    run<Standby>(
      'SELECT application_name AS name, state, sync_state AS sync FROM pg_stat_replication ORDER BY application_name',
    ),
  );
  const { version = '', names = null, fsync = null } = settings ?? {};
  const status = { server: server.name, version, synchronous: names, standbys: standbys.map((one) => ({ ...one })) };
  return { ...status, warnings: warningsOf(status, fsync) };
}

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
