/** A log in memory for a server, in place of a log in PostgreSQL. */

import type { LeaseEngine } from '../../../src/cluster/leases.ts';
import type { SharedLog } from '../../../src/cluster/shared-log.ts';
import type { OpenedLog, OpenLog } from '../../../src/commands/cluster/host.ts';
import { directWay, type MemoryLog } from './memory-log.ts';

/** A log with a host `other` that has one entry. */
export const openedLog = (log: SharedLog, leases: LeaseEngine): OpenedLog => ({
  log,
  leases,
  report: async () => false,
  status: async () => ({
    chainId: null,
    head: await log.head(),
    bytes: 0,
    hosts: [{ name: 'other', entry: 1, version: 'a test', seen_seconds_ago: 2, lag_seconds: 3 }],
    leases: [],
    engine: { server: 'memory', version: '', synchronous_standby_names: null, standbys: [] },
    warnings: [],
  }),
});

/** Returns a function that opens a log for a server. @param replaced parts of its client */
export const opening =
  (log: MemoryLog, replaced: Partial<SharedLog> = {}): OpenLog =>
  async () =>
    openedLog({ ...log.client(), ...replaced }, log.leases.client(directWay));
