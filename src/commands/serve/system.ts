/** The operator's functions of a server: `/stackside/v1/system` and related routes. */
import type { HostsState } from '../../api/stackside/server.ts';
import type { RequestBase, SystemApi } from '../../api/stackside/system.ts';
import { watchAlerts } from '../../metrics/alerts.ts';
import type { Commander } from '../../store/ingest/commands.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { ServedCluster } from '../cluster/host.ts';
import { apiThreadCount } from './api-threads.ts';
import type { Base } from './base.ts';
import { inspections } from './inspections.ts';
import { queries } from './queries.ts';
import { systemLog, type ThreadLog } from './recent-log.ts';
import { alertsState, type Sources, systemState } from './server-readings.ts';
import { refreshingTokens } from './tokens.ts';

/** The hosts of a server without a shared log. */
const ALONE: HostsState = { host: null, log: null, problem: null };

interface SystemParts {
  ingest: Ingest;
  cluster: ServedCluster | null;
  commander: Commander;
  /** Sources of the settings' values. */
  sources: Sources;
  /** Bound addresses; more may be added later. */
  listeners: readonly { name: string; url: string }[];
  /** Reads the log events of the API threads. */
  logs: () => Promise<(ThreadLog | null)[]>;
  /** Requests a base of the archive; null without an archive. */
  requestBase: RequestBase | null;
}

/** Makes the operator's functions. */
export function systemOf(
  { settings, environment, operations, log, watch, services }: Base,
  { ingest, cluster, commander, sources, listeners, logs, requestBase }: SystemParts,
): SystemApi {
  const { clock, cores, startOwnProcess: start } = environment;
  const { data: directory } = settings;
  const threads = apiThreadCount(settings.threads, cores);
  const failed = (cause: unknown) =>
    log({ event: 'unexpected_error', part: 'request', method: 'GET', path: '/metrics', cause });
  const inspected = services.use('inspections', inspections({ directory, clock, start }));
  const queryPool = services.use('queries', queries({ directory, start }));
  const alerts = services.use('alerts', watchAlerts(clock, operations.metrics, failed));
  return {
    state: () =>
      systemState({ settings, sources, listeners: [...listeners], threads, valueIndexes: ingest.valueIndexes.all() }),
    log: async () => systemLog([watch.recent.read(), ...(await logs())]),
    inspections: inspected,
    hosts: async () => (await cluster?.hosts()) ?? ALONE,
    refreshTokens: refreshingTokens(settings, commander),
    requestBase,
    queries: queryPool,
    alerts: () => alertsState(alerts.last()),
  };
}
