/** Reads what `/stackside/v1/status` answers. */
import type { Operations } from '../../api/operations.ts';
import type { ServerStatus } from '../../api/stackside/status.ts';
import type { Clock } from '../../base/clock.ts';
import type { EventRate } from '../../node/event-rate.ts';
import type { Settings } from '../../settings/config.ts';
import { fileSizes, freeBytes } from '../../store/files/status.ts';
import { serverVersion } from '../cli/version.ts';

export interface ServerStatusOptions {
  settings: Pick<Settings, 'mode' | 'data'>;
  clock: Clock;
  operations: Pick<Operations, 'readiness'>;
  /** Events from the node, with the URL of the port they come to; null in a process that takes none. */
  events: { rate: EventRate; url: string } | null;
  /** Where this host of a cluster stands; null in a server that shares no log. */
  host: () => ServerStatus['cluster'];
}

const MILLISECONDS = 1000;

/** Creates what reads the status of this process. Its uptime counts from this call. */
export function serverStatus({
  settings,
  clock,
  operations,
  events,
  host,
}: ServerStatusOptions): () => Promise<ServerStatus> {
  const start = clock.monotonic();
  return async () => {
    const { ready, reason, height, node_height, tip_age_seconds } = await operations.readiness();
    const files = [...fileSizes(settings.data)];
    const sizeOf = (name: string) =>
      files.filter(([file]) => file.startsWith(name)).reduce((sum, [, size]) => sum + size, 0);
    return {
      server_version: serverVersion,
      mode: settings.mode,
      uptime_seconds: Math.floor((clock.monotonic() - start) / MILLISECONDS),
      ready,
      reason,
      index: { height, tip_age_seconds },
      node: { height: node_height },
      events:
        events === null
          ? null
          : {
              endpoint: new URL(events.url).host,
              per_second: events.rate.perSecond(),
              last_received_at: events.rate.last(),
            },
      cluster: host(),
      memory_bytes: process.memoryUsage.rss(),
      disk: {
        index_bytes: sizeOf('index'),
        journal_bytes: sizeOf('journal'),
        free_bytes: freeBytes(settings.data),
      },
    };
  };
}
