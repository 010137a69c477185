/** The sources of a server's events: the event port, or stacks-node-publisher. */
import type { Registry } from 'prom-client';
import { type Operations, operationAnswer } from '../../api/operations.ts';
import type { EventSource } from '../../api/server-state.ts';
import type { Services } from '../../base/service.ts';
import type { Turns } from '../../base/turns.ts';
import type { Log } from '../../log.ts';
import { eventMetrics, snpMetrics } from '../../metrics/events.ts';
import type { LastHour } from '../../metrics/last-hour.ts';
import { countedBy, type EventRate, eventIntake, type Intake, type IntakeOptions } from '../../node/event-intake.ts';
import { type NodeConfig, observerProblem } from '../../node/node-config.ts';
import { type Receiver, startReceiver } from '../../node/receiver.ts';
import type { Refusal } from '../../node/refusal.ts';
import { SnpSubscriber } from '../../node/snp/subscriber.ts';
import type { Settings } from '../../settings/config.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { browserUrl } from '../terminal/pages.ts';
import type { Environment } from './environment.ts';

export interface EventSourcesOptions {
  settings: Settings;
  environment: Environment;
  registry: Registry;
  operations: Operations;
  log: Log;
  hour: LastHour;
  turns: Turns;
  ingest: Pick<Ingest, 'imported' | 'history'>;
  /** Accepts an event; it is durable when this resolves. */
  receive: IntakeOptions['receive'];
  /** Fills the gap below a refused block; null if nothing can. */
  fill: NonNullable<IntakeOptions['fill']> | null;
  /** Resolves when this host has the entries of the log, so that a stream begins after them, or when the signal is aborted. */
  caughtUp: (signal: AbortSignal) => Promise<void>;
  rate: EventRate;
  /** The node's configuration; null if unknown. */
  nodeConfig: NodeConfig | null;
  services: Services;
}

export interface EventSources {
  /** URL of the event port; null if it isn't open. */
  port: string | null;
  /** URL at which events arrive or are read. */
  url: string;
  /** The source, for the state of the server. */
  source(): EventSource;
  /** Why the newest block was refused; null if it was accepted. */
  refusal(): Refusal | null;
}

/**
 * Starts receiving events. With stacks-node-publisher, the event port is opened only if it is the process's only port for
 * health and metrics.
 * @throws OperatorError if the event port can't be opened
 */
export function receiveEvents(options: EventSourcesOptions): EventSources {
  const { settings, environment, registry, log, hour, ingest, receive, fill, caughtUp, rate, nodeConfig, services } =
    options;
  const { snp: url, mode } = settings;
  let receiver: Receiver | null = null;
  let refusal: Refusal | null = null;
  const intake = eventIntake({
    receive,
    log,
    metrics: countedBy(rate, hour.aroundEvents(eventMetrics(registry, () => receiver?.waiting() ?? 0))),
    clock: environment.clock,
    ...(fill === null ? {} : { fill }),
    refused(now) {
      refusal = now;
    },
  });
  const state = { refusal: () => refusal };
  if (url === null) {
    receiver = openPort(options, intake);
    const endpoint = new URL(browserUrl(receiver.url)).host;
    const misconfigured = nodeConfig === null ? null : observerProblem(nodeConfig, endpoint);
    const config = nodeConfig === null ? 'unknown' : (misconfigured ?? 'right');
    if (misconfigured !== null) {
      const { problem, remedy, section: observer } = misconfigured;
      log({ event: 'setup_warning', problem, remedy, observer });
    }
    return {
      ...state,
      port: receiver.url,
      url: receiver.url,
      source: () => ({ kind: 'port', endpoint, config }),
    };
  }
  if (mode === 'write') receiver = openPort(options, intake);
  const subscriber = new SnpSubscriber({
    url,
    prefix: settings.snpKeyPrefix,
    skip: settings.snpSkip ?? [],
    intake,
    positionOf: ingest.imported,
    tip: ingest.history.tip,
    begin: caughtUp,
    log,
    clock: environment.clock,
    random: environment.random,
  });
  services.use('event stream', subscriber);
  snpMetrics(registry, subscriber);
  const source = (): EventSource => ({ kind: 'stream', failure: subscriber.failing() });
  return { ...state, port: receiver?.url ?? null, url, source };
}

/** Maximum size of an event's body. */
const MAX_EVENT_BYTES = 500_000_000;

function openPort({ settings, environment, operations, log, turns, services }: EventSourcesOptions, intake: Intake) {
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
