/** The context of a server's services, and the observations that outlive a restart. */
import type { Registry } from 'prom-client';
import type { Operations } from '../../api/operations.ts';
import { EXIT } from '../../base/errors.ts';
import type { Services } from '../../base/service.ts';
import type { Turns } from '../../base/turns.ts';
import { type Log, reportingDropped } from '../../log.ts';
import type { Series } from '../../metrics/alerts.ts';
import { type DiskSpace, diskSpace, type LastHour, lastHour, RequestCounts } from '../../metrics/last-hour.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { freeBytes } from '../../store/files/status.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import type { Environment } from './environment.ts';
import { recentLog } from './recent-log.ts';

/** Measurements and log events that a server keeps when it starts again. */
export interface Observations {
  hour: LastHour;
  space: DiskSpace;
  requests: RequestCounts;
  recent: ReturnType<typeof recentLog>;
}

export function newObservations(settings: Settings, { clock, createLog, outputs }: Environment): Observations {
  const requests = new RequestCounts();
  const hour = lastHour({ clock, requests });
  const space = diskSpace(clock, () => freeBytes(settings.data));
  const { log, read } = recentLog(createLog(settings.logLevel), settings.logLevel, clock.now);
  return { hour, space, requests, recent: { log: reportingDropped(log, outputs), read } };
}

export interface ServerOperations extends Operations {
  /** The values of every metric. */
  series(): Promise<Series[]>;
}

export interface ServerContext {
  settings: Settings;
  environment: Environment;
  /** Whether this process runs the simulated node of a devnet or a demo. */
  isSimulated: boolean;
  registry: Registry;
  node: NodeRpc;
  snapshots: Snapshots;
  operations: ServerOperations;
  log: Log;
  observations: Observations;
  /** Divides this thread's time between the node and all clients. */
  turns: Turns;
  services: Services;
}

/** Ends the process at once: acknowledged events are on the disk, but the state in memory may be wrong. */
export function crash(log: Log, cause: unknown): never {
  try {
    log({ event: 'crashed', cause });
  } finally {
    process.exit(EXIT.temporary);
  }
}
