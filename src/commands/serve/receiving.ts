/** Receives the events of a server from its sources: the node, blocks that fill gaps, and the archive of `--from`. */
import type { OperatorError } from '../../base/errors.ts';
import type { EventRate } from '../../node/event-intake.ts';
import { readNodeConfig } from '../../node/node-config.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { MissingParent } from '../../store/ingest/known-blocks.ts';
import type { ServedCluster } from '../cluster/host.ts';
import type { Base } from './base.ts';
import { type EventSources, receiveEvents } from './event-sources.ts';
import { serverFollowing } from './following.ts';
import { serverFilling } from './gap-filling.ts';
import { requiresWhole, startBelowTip, untilPartial } from './history-start.ts';
import type { Filling } from './state-watch.ts';

interface ReceivingParts {
  ingest: Ingest;
  cluster: ServedCluster | null;
  rate: EventRate;
  /** Called with an error that ends the server. */
  ended: (error: OperatorError) => void;
}

export interface Receiving extends EventSources {
  /** The reason why missing blocks can't be added, and the target height; null if nothing adds them. */
  filling(): Filling | null;
}

/**
 * Starts to receive events. An empty index starts below the node's tip first, if the node and its token are known.
 * @throws OperatorError if the event port can't be opened, or the node's configuration can't be read
 */
export async function receiveChain(base: Base, { ingest, cluster, rate, ended }: ReceivingParts): Promise<Receiving> {
  const { settings, environment, services, watch, node, log } = base;
  const { clock } = environment;
  const receive = untilPartial(cluster?.receive ?? ingest.receive, ended);
  const filling = services.use('gap filling', serverFilling(base, ingest, cluster, receive));
  if (filling !== null && !requiresWhole(settings)) await startBelowTip({ ingest, filling, node, clock, log });
  const following = services.use('archive following', serverFollowing(base, ingest, cluster, receive));
  const fillers = [filling, following].filter((one) => one !== null);
  const fill = (parent: MissingParent): void => {
    for (const one of fillers) one.fill(parent);
  };
  const events = receiveEvents({
    ...{ ...base, hour: watch.hour, ingest, rate },
    receive: following?.around(receive) ?? receive,
    caughtUp: cluster?.caughtUp ?? (async () => {}),
    fill: fillers.length === 0 ? null : fill,
    nodeConfig: settings.nodeConfig === null ? null : readNodeConfig(settings.nodeConfig),
  });
  return { ...events, filling: () => filling?.state() ?? following?.state() ?? null };
}
