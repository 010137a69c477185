/** The sources of a server's events: the event port, or stacks-node-publisher. */
import { operationAnswer } from '../../api/operations.ts';
import type { EventSource } from '../../api/server-state.ts';
import type { OperatorError } from '../../base/errors.ts';
import { eventMetrics, snpMetrics } from '../../metrics/events.ts';
import { eventIntake, type Intake, type IntakeOptions, type Refusal } from '../../node/event-intake.ts';
import { observerProblem, readNodeConfig } from '../../node/node-config.ts';
import { type Receiver, startReceiver } from '../../node/receiver.ts';
import { SnpSubscriber } from '../../node/snp/subscriber.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { MissingParent } from '../../store/ingest/known-blocks.ts';
import type { ServedCluster } from '../cluster/host.ts';
import { browserUrl } from '../terminal/presenter.ts';
import { serverFollowing } from './following.ts';
import { serverFilling } from './gap-filling.ts';
import { requiresWhole, startBelowTip, untilPartial } from './history-start.ts';
import type { ServerContext } from './server-context.ts';
import { readOrFailure } from './server-readings.ts';
import type { Filling } from './state-watch.ts';

interface SourceParts {
  ingest: Pick<Ingest, 'entries' | 'history' | 'identity' | 'imported'>;
  /** Accepts an event; it is durable when this resolves. */
  receive: IntakeOptions['receive'];
  /** Fills the gap below a refused block; null if nothing can. */
  fill: NonNullable<IntakeOptions['fill']> | null;
  /** Resolves when this host has the entries of the log, so that a stream begins after them, or when the signal is aborted. */
  caughtUp: (signal: AbortSignal) => Promise<void>;
}

interface EventSources {
  /** URL of the event port; null if it isn't open. */
  port: string | null;
  /** URL at which events arrive or are read. */
  url: string;
  /** The source, for the state of the server. */
  source(): EventSource;
  /** Why the newest block was refused; null if it was accepted, or if the missing blocks have arrived since. */
  refusal(): Refusal | null;
}

/**
 * Starts receiving events. With stacks-node-publisher, the event port is opened only if it is the process's only port for
 * health and metrics.
 * @throws OperatorError if the event port can't be opened, or the node's configuration can't be read
 */
function receiveEvents(context: ServerContext, { ingest, receive, fill, caughtUp }: SourceParts): EventSources {
  const { settings, environment, registry, log, observations, services } = context;
  const { clock, random } = environment;
  const { snp: url, mode } = settings;
  const nodeConfig = settings.nodeConfig === null ? null : readNodeConfig(settings.nodeConfig);
  let receiver: Receiver | null = null;
  let refusal: Refusal | null = null;
  const intake = eventIntake({
    receive,
    log,
    metrics: observations.hour.aroundEvents(eventMetrics(registry, () => receiver?.waiting() ?? 0, clock.now)),
    clock,
    ...(fill === null ? {} : { fill }),
    refused(latest) {
      refusal = latest;
    },
  });
  /** Whether the missing blocks have arrived: the node sends the refused block again only after a pause. */
  const isFilled = ({ missing }: Refusal): boolean => {
    const last = missing?.hash ?? null;
    return last !== null && readOrFailure(() => ingest.history.isKnown(last)).read === true;
  };
  const state = { refusal: () => (refusal === null || isFilled(refusal) ? null : refusal) };
  if (url === null) {
    receiver = openPort(context, intake);
    const endpoint = new URL(browserUrl(receiver.url)).host;
    const configProblem = nodeConfig === null ? null : observerProblem(nodeConfig, endpoint);
    const config = nodeConfig === null ? 'unknown' : (configProblem ?? 'right');
    if (configProblem !== null) {
      const { problem, remedy, section: observer } = configProblem;
      log({ event: 'setup_warning', problem, remedy, observer });
    }
    return { ...state, port: receiver.url, url: receiver.url, source: () => ({ kind: 'port', endpoint, config }) };
  }
  if (mode === 'write') receiver = openPort(context, intake);
  const subscriber = new SnpSubscriber({
    url,
    prefix: settings.snpKeyPrefix,
    skip: settings.snpSkip ?? [],
    intake,
    positionOf: ingest.imported,
    tip: ingest.history.tip,
    begin: caughtUp,
    log,
    clock,
    random,
  });
  services.use('event stream', subscriber);
  snpMetrics(registry, subscriber);
  const source = (): EventSource => ({ kind: 'stream', failure: subscriber.failing() });
  return { ...state, port: receiver?.url ?? null, url, source };
}

/** Maximum size of an event's body. */
const MAX_EVENT_BYTES = 500_000_000;

function openPort({ settings, environment, operations, log, turns, services }: ServerContext, intake: Intake) {
  const { clock, listen } = environment;
  const receiver = startReceiver({
    hostname: settings.eventHost,
    port: settings.eventPort,
    bodyLimit: MAX_EVENT_BYTES,
    intake,
    log,
    otherwise: operationAnswer(operations),
    turns,
    clock,
    listen,
  });
  return services.use('event receiver', receiver);
}

export interface ReceivingParts {
  ingest: Ingest;
  cluster: ServedCluster | null;
  /** Called with an error that ends the server. */
  ended: (error: OperatorError) => void;
}

export interface Receiving extends EventSources {
  /** The reason why missing blocks can't be added, and the target height; null if nothing adds them. */
  filling(): Filling | null;
}

/**
 * Starts to receive events. An empty index starts below the node's tip, if the node answers and its token is known.
 * @throws OperatorError if the event port can't be opened, or the node's configuration can't be read
 */
export function receiveChain(context: ServerContext, { ingest, cluster, ended }: ReceivingParts): Receiving {
  const { settings, environment, services, node, log } = context;
  const { clock } = environment;
  const receive = untilPartial(cluster?.receive ?? ingest.receive, ended);
  const filling = services.use('gap filling', serverFilling(context, ingest, cluster, receive));
  const following = services.use('archive following', serverFollowing(context, ingest, cluster, receive));
  const fillers = [filling, following].filter((filler) => filler !== null);
  const fill = (parent: MissingParent): void => {
    for (const filler of fillers) filler.fill(parent);
  };
  const starting = requiresWhole(settings)
    ? null
    : services.use('history start', startBelowTip({ ingest, filling, node, clock, log }));
  const receiveEvent = starting?.around(receive) ?? receive;
  const events = receiveEvents(context, {
    ingest,
    receive: following?.around(receiveEvent) ?? receiveEvent,
    caughtUp: cluster?.caughtUp ?? (async () => {}),
    fill: fillers.length === 0 ? null : fill,
  });
  const state = (): Filling | null => filling?.state() ?? following?.state() ?? null;
  return {
    ...events,
    filling() {
      const filler = state();
      return filler === null ? null : { ...filler, archiveFailure: following?.state().failure ?? null };
    },
  };
}
