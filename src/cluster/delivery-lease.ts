/** The lease of the host that delivers chainhooks, and does what else one host of a cluster does at a time. */
import type { Chance } from '../base/chance.ts';
import type { Clock } from '../base/clock.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import type { LeaseEngine } from '../store/log/leases.ts';
import type { ClusterLog } from './events.ts';
import type { ClusterHost } from './host.ts';
import { LeaseKeeper } from './lease-keeper.ts';

const NAME = 'deliveries';

interface DeliveryLeaseOptions {
  leases: LeaseEngine;
  host: Pick<ClusterHost, 'isNear' | 'caughtUp'>;
  /** The name of the host. */
  name: string;
  ingest: Pick<Ingest, 'health' | 'hooks'>;
  clock: Clock;
  chance: Pick<Chance, 'uuid'>;
  say: ClusterLog;
}

/** Makes the keeper of the lease, which asks for nothing before it is started. */
export const deliveryLease = ({ leases, host, name, ingest, clock, chance, say }: DeliveryLeaseOptions): LeaseKeeper =>
  new LeaseKeeper({
    ...{ leases, clock, say, name: NAME, host: name, process: chance.uuid() },
    isFit: () => host.isNear() && ingest.health.failing() === null,
    caughtUp: host.caughtUp,
    epochSeen: () => ingest.hooks.records.epoch(),
  });
