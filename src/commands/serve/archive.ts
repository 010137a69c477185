/** The archive of a server: its rounds and its bases. */
import { hostname } from 'node:os';
import type { ServerStatus } from '../../api/stackside/server.ts';
import type { RequestBase } from '../../api/stackside/system.ts';
import { servedSigner } from '../../archive/key-file.ts';
import type { Service } from '../../base/service.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { ServedCluster } from '../cluster/host.ts';
import { type ArchiveLease, startArchiving } from './archiving.ts';
import type { Base } from './base.ts';
import { startBases } from './bases.ts';

/** The archive of a server, with its bases. */
export interface ServedArchive extends Service {
  status: () => ServerStatus['archive'];
  requestBase: RequestBase;
}

/**
 * Archives the log; of several hosts that share it, the one that holds the lease does.
 * @returns null if the settings name no archive
 */
export function archiveLog(
  { settings, environment, registry, log }: Base,
  ingest: Ingest,
  cluster: ServedCluster | null,
): ServedArchive | null {
  const { data: directory, archive: location, archiveBase: hours, archivePublic: isPublic, hostName } = settings;
  if (location === null) return null;
  if (isPublic) servedSigner(directory, cluster !== null);
  const lease = (): ReturnType<ArchiveLease> => {
    if (cluster === null) return { epoch: null };
    return cluster.deliveries?.isHeld() ? { epoch: cluster.deliveries.status().epoch } : null;
  };
  const { clock, random, archiveSeconds: seconds, archiveRounds, baseMaking } = environment;
  const rounds = archiveRounds({ directory, location, isPublic });
  const host = hostName ?? hostname();
  const archiving = startArchiving({
    ...{ directory, location, seconds, host, lease, rounds, ingest, clock, random, registry, log },
    newestBase: () => bases.newest(),
  });
  const making = baseMaking({ directory, location, isPublic }, settings.archiveKeep);
  const bases = startBases({
    ...{ directory, location, hours, lease, making, clock, random, registry, log },
    archive: archiving.status,
  });
  return {
    status() {
      const status = archiving.status();
      return status === null ? null : { ...status, base: bases.state() };
    },
    requestBase: () => bases.request() ?? bases.state(),
    async stop() {
      await Promise.all([bases.stop(), archiving.stop()]);
    },
  };
}
