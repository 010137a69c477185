/** `stackside serve`: accepts the node's events and serves the API, until a signal. */

import { hostname } from 'node:os';
import { Registry } from 'prom-client';
import type { Steering } from '../../api/devnet/family.ts';
import type { Operations } from '../../api/operations.ts';
import type { HostsState, ServerStatus } from '../../api/stackside/server.ts';
import type { RequestBase, SystemApi } from '../../api/stackside/system.ts';
import { servedSigner } from '../../archive/key-file.ts';
import { type Every, pause } from '../../base/clock.ts';
import { DiskFullError, EXIT, OperatorError, PassingError } from '../../base/errors.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import { Turns } from '../../base/turns.ts';
import { type Faucets, noFaucets } from '../../faucets/faucets.ts';
import { openWithHooks } from '../../hooks/machine.ts';
import type { HookApi } from '../../hooks/routes/hooks.ts';
import { RateTable } from '../../http/rate-limit.ts';
import { type Log, reportingDropped } from '../../log.ts';
import { watchAlerts } from '../../metrics/alerts.ts';
import { hookMetrics, hookTimers } from '../../metrics/hooks.ts';
import { DiskSpace, LastHour, RequestCounts } from '../../metrics/last-hour.ts';
import { snapshotLog } from '../../metrics/requests.ts';
import { outputMetrics, storeMetrics } from '../../metrics/server.ts';
import { EventRate, type IntakeOptions } from '../../node/event-intake.ts';
import { nodeToken, readNodeConfig } from '../../node/node-config.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { Reading, Settings } from '../../settings/config.ts';
import { valueIndexesIn } from '../../settings/data.ts';
import { changedSettings } from '../../settings/describe.ts';
import { ignoredVariables } from '../../settings/unknown.ts';
import { startCheckpointer } from '../../store/files/checkpointer.ts';
import { isOffered } from '../../store/files/new-index.ts';
import { openToOthers } from '../../store/files/private-files.ts';
import { freeBytes } from '../../store/files/status.ts';
import { unavailable } from '../../store/files/store-failure.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { MissingParent } from '../../store/ingest/known-blocks.ts';
import { startValueIndexing } from '../../store/ingest/value-indexes.ts';
import { CommitCount } from '../../store/ingest/writer.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { interruptible, stopSignals } from '../cli/output.ts';
import { serverVersion } from '../cli/this-program.ts';
import { joinCluster, type ServedCluster } from '../cluster/host.ts';
import { type Presenter, type Running, servePresenter, serverOutputs } from '../terminal/presenter.ts';
import { startApiService } from './api-service.ts';
import { type ApiThreads, apiThreadCount, startApiThreads } from './api-threads.ts';
import type { ServerReadings } from './app.ts';
import { type ArchiveLease, requireArchivable, startArchiving } from './archiving.ts';
import { startBases } from './bases.ts';
import { type Environment, realEnvironment } from './environment.ts';
import { type EventSources, receiveEvents } from './event-sources.ts';
import { serverFaucets } from './faucets.ts';
import { archiveFollowing, isOfEarlierPoint, nodeActivity } from './following.ts';
import { opened, startFrom } from './from.ts';
import { always, gapFilling } from './gap-filling.ts';
import {
  askStartingAccounts,
  requiresWhole,
  requireWholeHistory,
  startBelowTip,
  untilPartial,
} from './history-start.ts';
import { serveHooks } from './hooks.ts';
import { inspections } from './inspections.ts';
import { importOldNames } from './old-names.ts';
import { readOrReason, serverOperations } from './operations.ts';
import { queries } from './queries.ts';
import { recentLog, systemLog, type ThreadLog } from './recent-log.ts';
import {
  alertsState,
  newestEntryAt,
  type Sources,
  serverHistory,
  serverStatus,
  systemState,
} from './server-readings.ts';
import {
  chainOfNode,
  requireLoopback,
  requireNoArchive,
  requireNodesChain,
  warnOfOpenEventPort,
} from './start-checks.ts';
import { watchState } from './state-watch.ts';
import { askAboutTokens, refreshingTokens } from './tokens.ts';

/** Observations of a server about its own work; kept when it starts anew. */
interface Watch {
  hour: LastHour;
  space: DiskSpace;
  requests: RequestCounts;
  recent: ReturnType<typeof recentLog>;
}

/** What the API and the event receiver of a server share. */
interface Base {
  settings: Settings;
  environment: Environment;
  registry: Registry;
  node: NodeRpc;
  snapshots: Snapshots;
  operations: Operations;
  log: Log;
  watch: Watch;
  /** Divides this thread's time between the node and all clients. */
  turns: Turns;
  /** Functions that close what was opened, in order. */
  closing: (() => Promise<void> | void)[];
}

/** The address at which the main thread answers forwarded requests. */
const LOOPBACK = { hostname: '127.0.0.1', port: 0, shared: false };

/**
 * Starts the API on this thread or on threads of its own.
 * @param threads called with the API threads, if any
 */
async function answerApi(
  { closing, environment, watch, ...base }: Base,
  {
    commits,
    ...own
  }: {
    commits: CommitCount;
    faucets: Faucets;
    hooks: HookApi | null;
    server: ServerReadings;
    system: SystemApi | null;
    steering: Steering | null;
  },
  threads: (started: ApiThreads) => void,
): Promise<string> {
  const { settings, log } = base;
  const { clock, listen, clientLimits, cores } = environment;
  const { apiHost: hostname, apiPort: port } = settings;
  const count = apiThreadCount(settings.threads, cores);
  const address = count === 0 ? { hostname, port, shared: false } : LOOPBACK;
  const internalToken = crypto.randomUUID();
  const rates = RateTable.memory(clock.now());
  const { requests } = watch;
  // API threads count the requests that they forward.
  const counted = count === 0 ? { requestCounts: requests } : {};
  const server = await startApiService({
    ...{ ...base, ...own, ...counted, clock, listen, clientLimits, address, internalToken, rates },
  });
  closing.unshift(() => server.stop());
  if (count === 0) return server.url;
  const crashed = (cause: unknown) => crash(log, cause);
  const started = await startApiThreads({
    settings,
    count,
    mainThread: server.url,
    internalToken,
    rates,
    clock,
    requests,
    commits,
    lines: environment.threadLines,
    crashed,
  });
  closing.unshift(() => started.stop());
  threads(started);
  return started.url;
}

/** Additional options of a server. */
export interface Started {
  /** Controls the simulated node beside it. */
  steering?: Steering;
  /** The token that the sBTC faucet sends; that of the test network if omitted. */
  sbtcAsset?: string;
  /** Sources of the settings' values. */
  sources?: Sources;
}

function watchOf(settings: Settings, { clock, createLog, outputs }: Environment): Watch {
  const requests = new RequestCounts();
  const hour = new LastHour({ clock, requests });
  const space = new DiskSpace(clock, () => freeBytes(settings.data));
  const { log, read } = recentLog(createLog(settings.logLevel), settings.logLevel, clock.now);
  return { hour, space, requests, recent: { log: reportingDropped(log, outputs), read } };
}

/** The hosts of a server without a shared log. */
const ALONE: HostsState = { host: null, log: null, problem: null };

/**
 * The operator's functions.
 * @param listeners bound addresses; more may be added later
 * @param logs reads the log events of the API threads
 */
function systemOf(
  { settings, environment, operations, log, watch, closing }: Base,
  { ingest }: Writing,
  cluster: ServedCluster | null,
  sources: Sources,
  listeners: { name: string; url: string }[],
  logs: () => Promise<(ThreadLog | null)[]>,
  requestBase: RequestBase | null,
): SystemApi {
  const { clock, chance, cores, startOwnProcess } = environment;
  const threads = apiThreadCount(settings.threads, cores);
  const inspected = inspections({ directory: settings.data, clock, start: startOwnProcess });
  closing.unshift(() => inspected.stop());
  const asked = queries({ directory: settings.data, start: startOwnProcess });
  closing.unshift(() => asked.stop());
  const alerts = watchAlerts(clock, operations.metrics, (cause) =>
    log({ event: 'request_failed', method: 'GET', path: '/metrics', cause }),
  );
  closing.unshift(alerts.stop);
  return {
    state: () => systemState({ settings, sources, listeners, threads, valueIndexes: ingest.valueIndexes.all() }),
    log: async () => systemLog([watch.recent.read(), ...(await logs())]),
    inspections: inspected,
    hosts: async () => (await cluster?.hosts()) ?? ALONE,
    refreshTokens: refreshingTokens(settings, cluster?.commander ?? ingest.commander(clock, chance)),
    requestBase,
    queries: asked,
    alerts: () => alertsState(alerts.last()),
  };
}

/** Checks that depend on several settings, or on the network. @throws OperatorError */
async function requireAgreement(settings: Settings): Promise<void> {
  requireNoArchive(settings.data);
  if (settings.hookAccess === 'open') await requireLoopback(settings);
  if (settings.mode !== 'read') {
    requireArchivable(settings);
  }
}

/** Evaluates and delivers chainhooks, with metrics. */
function manageHooks(
  { settings, environment, registry, snapshots, log, watch, closing }: Base,
  writing: Writing,
  cluster: ServedCluster | null,
) {
  const timers = watch.hour.aroundTimers(hookTimers(registry));
  const served = serveHooks({
    ...{ settings, ...writing, snapshots, log, timers, environment },
    ...(cluster === null ? {} : { commander: cluster.commander }),
    ...(cluster?.deliveries == null ? {} : { lease: cluster.deliveries }),
  });
  const { hooks, wrongKeys } = served;
  closing.unshift(() => hooks.stop());
  watch.hour.follow(hooks.counters);
  const unreadableSecrets = () => hooks.secrets.unreadable().length;
  hookMetrics(registry, { counters: hooks.counters, gauges: hooks.gauges, unreadableSecrets, wrongKeys });
  return served;
}

/** The archive of a server, with its bases. */
interface ServedArchive {
  status: () => ServerStatus['archive'];
  requestBase: RequestBase;
  stop: () => Promise<void>;
}

/** Archives the log; of several hosts that share it, the one that holds the lease does. */
function archiveLog(
  { settings, environment, registry, log }: Base,
  location: string,
  ingest: Ingest,
  cluster: ServedCluster | null,
): ServedArchive {
  const { data: directory, archiveBase: hours, archivePublic: isPublic, hostName } = settings;
  if (isPublic) servedSigner(directory, cluster !== null);
  const lease = (): ReturnType<ArchiveLease> => {
    if (cluster === null) return { epoch: null };
    return cluster.deliveries?.isHeld() ? { epoch: cluster.deliveries.status().epoch } : null;
  };
  const { clock, archiveSeconds: seconds, archiveRounds, baseMaking } = environment;
  const rounds = archiveRounds({ directory, location, isPublic });
  const host = hostName ?? hostname();
  const archiving = startArchiving({
    ...{ directory, location, seconds, host, lease, rounds, ingest, clock, registry, log },
    newestBase: () => bases.newest(),
  });
  const making = baseMaking({ directory, location, isPublic }, settings.archiveKeep);
  const bases = startBases({
    directory,
    location,
    hours,
    lease,
    archive: archiving.status,
    making,
    clock,
    registry,
    log,
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

/** Fills gaps in the chain if the node's token is known. @throws OperatorError if it can't be read */
function serverFilling(
  { settings, environment, node, snapshots, log }: Base,
  ingest: Ingest,
  cluster: ServedCluster | null,
  receive: IntakeOptions['receive'],
) {
  const authorization = nodeToken(settings);
  if (authorization === null) return null;
  return gapFilling({
    authorization,
    ...{ node, snapshots, ingest, receive, log },
    claim: async () => (cluster === null ? always : cluster.claim('fill')),
    clock: environment.clock,
  });
}

/** Follows the archive of --from, and notes what the node posts. @returns null for data that don't follow one */
function serverFollowing(
  { settings, environment: { clock }, log }: Base,
  ingest: Ingest,
  cluster: ServedCluster | null,
  receive: IntakeOptions['receive'],
) {
  const { from } = settings;
  if (from === null || isOfEarlierPoint(ingest)) return null;
  const node = nodeActivity(clock, () => ingest.history.tip().height);
  const following = archiveFollowing({
    ...{ location: from, ingest, receive, node, clock, log },
    open: () => opened({ from, settings, clock, log }, settings.data),
    claim: async () => (cluster === null ? always : cluster.claim('follow')),
  });
  return { ...following, around: node.around, fill: node.fill };
}

/** The opened index of a process that writes. */
type Writing = ReturnType<typeof openWithHooks>;

/**
 * Opens the data directory for a process that writes, and starts the upkeep of its files.
 * @param lockLost called if another process may write to the directory
 * @returns null for a process that only reads
 */
async function openWriting(
  settings: Settings,
  environment: Environment,
  log: Log,
  closing: Base['closing'],
  lockLost: (error: OperatorError) => void,
): Promise<Writing | null> {
  const shared = settings.cluster !== null;
  if (settings.mode === 'read' && !shared) return null;
  const { clock, walLimitBytes: limitBytes } = environment;
  const opened = { ...ingestSettings(settings), ...writingIn(environment, shared), log, lockLost };
  const { ingest, machine } = openWithHooks(opened, { log });
  closing.unshift(() => ingest.queue.run(ingest.close));
  warnOfOthers(settings.data, log);
  const every = inTurn(ingest, clock.every);
  const { publish: before } = ingest;
  closing.unshift(
    startCheckpointer({ directory: settings.data, log, limitBytes, now: clock.monotonic, every, before }),
  );
  closing.unshift(startValueIndexing({ write: ingest.local, batch: ingest.valueIndexes.batch, clock, log }));
  return { ingest, machine };
}

/** Milliseconds between two checks for a new index. */
const LOOK_FOR_INDEX_MS = 2_000;

/** Milliseconds until a server that a full disk stopped starts again. */
const START_AGAIN_MS = 1_000;

/** Whether the error passes by itself, or needs no restart after the operator's remedy. */
const passes = (error: unknown): boolean =>
  unavailable(error) !== null || error instanceof PassingError || error instanceof DiskFullError;

const portOf = (url: string | null): number | null => (url === null ? null : Number(new URL(url).port));

/**
 * Starts a server in the mode of its settings. When a rebuild has made a new index beside the present one, the server stops and
 * starts anew on the same ports; the start puts the new index in place.
 * @param environment replaced by tests
 */
export async function startServing(
  settings: Settings,
  environment: Environment = realEnvironment,
  started: Started = {},
): Promise<Running> {
  const watch = watchOf(settings, environment);
  let server = await startServer(settings, environment, watch, started);
  if (settings.mode === 'read' && settings.cluster === null) return server;
  const { api, events, signInPath } = server;
  const { log } = watch.recent;
  const again = {
    ...settings,
    apiPort: portOf(api) ?? settings.apiPort,
    eventPort: portOf(events) ?? settings.eventPort,
  };
  const failed = Promise.withResolvers<OperatorError>();
  // Callers that await it get the error; others must not see an unhandled rejection.
  failed.promise.catch(() => {});
  const stopping = new AbortController();
  let starting: Promise<void> | null = null;

  const follow = ({ failed: ofCluster }: Running) => void ofCluster?.then(failed.resolve);
  async function startAnew(): Promise<void> {
    log({ event: 'new_index_ready' });
    await server.stop();
    while (!stopping.signal.aborted) {
      try {
        server = await startServer(again, environment, watch, started);
        return follow(server);
      } catch (error) {
        if (!passes(error)) throw error;
        log({ event: 'start_failed', cause: error });
        await pause(environment.clock, START_AGAIN_MS, stopping.signal);
      }
    }
  }
  follow(server);
  const cancel = environment.clock.every(LOOK_FOR_INDEX_MS, () => {
    if (starting !== null || !isOffered(settings.data)) return;
    starting = startAnew()
      .catch(failed.reject)
      .finally(() => {
        starting = null;
      });
  });
  return {
    ...{ api, events },
    signInPath: signInPath === null ? null : () => server.signInPath?.() ?? '/',
    readiness: () => server.readiness(),
    chainId: () => server.chainId(),
    failed: failed.promise,
    async stop() {
      stopping.abort();
      cancel();
      await starting;
      await server.stop();
    },
  };
}

/** Starts a server once. @param watch observations from before a restart */
async function startServer(
  settings: Settings,
  environment: Environment,
  watch: Watch,
  { steering, sbtcAsset, sources = {} }: Started,
): Promise<Running> {
  const { clock } = environment;
  const { log } = watch.recent;
  await requireAgreement(settings);
  const closing: Base['closing'] = [];
  const stop = async () => {
    for (const close of closing.splice(0)) await close();
  };
  try {
    const ended = Promise.withResolvers<OperatorError>();
    const [registry, node] = [new Registry(), environment.nodeRpc(settings.nodeRpc)];
    // Before files are made.
    const nodesChain = await chainOfNode(node);
    requireNodesChain(nodesChain, settings.network);
    const writing = await openWriting(settings, environment, log, closing, ended.resolve);
    const ingest = writing?.ingest ?? null;
    requireNodesChain(nodesChain, ingest?.chainId() ?? null);
    if (ingest !== null && nodesChain !== null) ingest.holdTo(nodesChain);
    outputMetrics(registry, environment.outputs);
    if (ingest !== null) requireWholeHistory(settings, ingest.history);
    const cluster =
      writing === null ? null : await joinCluster({ settings, ...writing, ...environment, registry, log });
    if (cluster !== null) closing.unshift(cluster.stop);
    const commits = ingest?.commits ?? new CommitCount();
    const turns = new Turns(clock);
    const snapshots = environment.openSnapshots(settings.data, {
      log: snapshotLog(registry, log),
      now: clock.monotonic,
      every: clock.every,
      sharing: { turn: clock.turn, commits: () => commits.now() },
      turns,
      ...(ingest === null ? {} : { before: ingest.publish }),
    });
    closing.unshift(() => snapshots.close());
    if (ingest !== null && !requiresWhole(settings)) {
      const asking = askStartingAccounts({ ingest, snapshots, node, clock, registry, log });
      closing.unshift(asking.stop);
    }
    let threads: ApiThreads | null = null;
    let events: EventSources | null = null;
    let filling: ReturnType<typeof serverFilling> = null;
    let following: ReturnType<typeof serverFollowing> = null;
    let archiving: ServedArchive | null = null;
    const metrics = async () => (await threads?.metrics()) ?? [];
    const logs = async () => (await threads?.logs()) ?? [];
    const rate = new EventRate(clock.now);
    const state = watchState({
      ...{ snapshots, node, clock, log },
      nodeRpc: settings.nodeRpc,
      chainId: settings.network,
      health: ingest?.health ?? null,
      behind: () => cluster?.behind() ?? null,
      source: () => events?.source() ?? null,
      refusal: () => events?.refusal() ?? null,
      filling: () => filling?.state() ?? following?.state() ?? null,
      lastEvent: () => rate.last(),
      lastEventBefore: ingest === null ? null : newestEntryAt(settings.data),
    });
    closing.unshift(state.stop);
    const operations = serverOperations({
      directory: settings.data,
      snapshots,
      node,
      registry,
      readiness: state.readiness,
      now: clock.now,
      threads: metrics,
    });
    const base: Base = { settings, environment, registry, node, snapshots, operations, log, watch, turns, closing };
    closing.unshift(watch.hour.start());
    closing.unshift(watch.space.start());
    // A process that only reads manages no hooks, though a host of a cluster writes the entries that it follows.
    const managing = settings.mode === 'read' ? null : writing;
    const faucets =
      managing === null
        ? noFaucets
        : serverFaucets(settings, { ...managing, cluster, snapshots, node, log }, sbtcAsset);
    const served = managing === null ? null : manageHooks(base, managing, cluster);
    cluster?.start();
    if (managing !== null) {
      const commander = cluster?.commander ?? managing.ingest.commander(clock, environment.chance);
      const names = await importOldNames(settings, { commander, ...managing, clock, log });
      closing.unshift(names.stop);
      if (cluster === null) await names.done;
      const { ingest: writing } = managing;
      const isHeld = () => cluster?.deliveries?.isHeld() ?? true;
      const asker = askAboutTokens(settings, { ...base, ingest: writing, commander, isHeld });
      if (asker !== null) closing.unshift(asker.stop);
      if (settings.archive !== null) {
        archiving = archiveLog(base, settings.archive, writing, cluster);
        closing.unshift(archiving.stop);
      }
    }
    if (managing !== null) {
      const receive = untilPartial(cluster?.receive ?? managing.ingest.receive, ended.resolve);
      const caughtUp = cluster?.caughtUp ?? (async () => {});
      filling = serverFilling(base, managing.ingest, cluster, receive);
      if (filling !== null) {
        closing.unshift(filling.stop);
        if (!requiresWhole(settings)) await startBelowTip({ ingest: managing.ingest, filling, node, clock, log });
      }
      following = serverFollowing(base, managing.ingest, cluster, receive);
      if (following !== null) closing.unshift(following.stop);
      const fillers = [filling, following].filter((one) => one !== null);
      const fill = (parent: MissingParent): void => {
        for (const one of fillers) one.fill(parent);
      };
      const posted = following?.around(receive) ?? receive;
      events = receiveEvents({
        ...{ ...base, hour: watch.hour, ingest: managing.ingest, receive: posted, caughtUp, rate },
        fill: fillers.length === 0 ? null : fill,
        nodeConfig: settings.nodeConfig === null ? null : readNodeConfig(settings.nodeConfig),
      });
    }
    const port = events?.port ?? null;
    const listeners = port === null ? [] : [{ name: 'Events of the node', url: port }];
    const server: ServerReadings = {
      status: serverStatus({
        settings,
        clock,
        operations,
        snapshots,
        events: events === null ? null : { rate, url: events.url },
        hour: watch.hour,
        space: watch.space,
        isSimulated: steering !== undefined,
        host: () => cluster?.host() ?? null,
        archive: () => archiving?.status() ?? null,
      }),
      history: () => serverHistory(watch.hour),
    };
    const system =
      managing === null
        ? null
        : systemOf(base, managing, cluster, sources, listeners, logs, archiving?.requestBase ?? null);
    if (ingest !== null) {
      storeMetrics(registry, ingest.health, ingest.unknownCounts);
      closing.unshift(probeWrites(ingest, inTurn(ingest, clock.every)));
    }
    const api =
      settings.mode === 'write'
        ? null
        : await answerApi(
            base,
            {
              ...{ commits, faucets, server, system },
              hooks: served?.api ?? null,
              steering: steering ?? null,
            },
            (started) => {
              threads = started;
            },
          );
    if (api !== null) listeners.push({ name: 'API and console', url: api });
    log({
      event: 'started',
      version: serverVersion,
      mode: settings.mode,
      data: settings.data,
      settings: changedSettings(settings),
    });
    state.start();
    if (port !== null) await warnOfOpenEventPort(settings, log);
    return {
      api,
      events: port,
      signInPath: served?.signInPath ?? null,
      readiness: operations.readiness,
      chainId: async () => (await readOrReason(snapshots.read((read) => read.chain.chainId()))).read,
      failed: cluster === null ? ended.promise : Promise.race([cluster.failed, ended.promise]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const ingestSettings = (settings: Settings) => ({
  directory: settings.data,
  chainId: settings.network,
  valueIndexes: valueIndexesIn(settings),
  history: requiresWhole(settings) ? ('full' as const) : ('any' as const),
});
/** With a shared log each entry is committed by itself, so that a conflict with another host rolls back only that entry. */
const writingIn = ({ connect, clock, chance }: Environment, shared: boolean) => ({
  ...{ connect, chance },
  ...(shared ? {} : { after: clock.after }),
});

/** Runs repeated work in the writer's turn, between writes. */
const inTurn =
  ({ queue }: Ingest, every: Every): Every =>
  (ms, call) =>
    every(ms, () => void queue.run(call));

/** Milliseconds between two test writes. */
const PROBE_MS = 2_000;

/**
 * Detects that writes succeed again even if no event comes. By a timer, not at requests of `/ready`: the index's lag behind the
 * journal, and deliveries of chainhooks, wait for it in any case.
 * @param probe costs nothing while writes succeed
 * @returns a function that ends the probes
 */
export const probeWrites = ({ probe }: { probe: () => void }, every: Every): (() => void) => every(PROBE_MS, probe);

/** Warns if other users may read the data directory, whose files have secrets. */
function warnOfOthers(directory: string, log: Log): void {
  const paths = openToOthers(directory);
  if (paths.length === 0) return;
  log({ event: 'data_open_to_others', paths, remedy: `chmod 700 ${directory}; chmod 600 ${directory}/*` });
}

/** Ends the process at once: acknowledged events are on the disk, but the state in memory may be wrong. */
function crash(log: Log, cause: unknown): never {
  try {
    log({ event: 'crashed', cause });
  } finally {
    process.exit(EXIT.again);
  }
}

/** Resolves with the first of these signals that the process gets from now on. */
export const nextSignal = (names: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    for (const name of names) process.once(name, () => resolve(name));
  });

/**
 * Prints that the server listens; resolves when a signal has stopped it.
 * @throws OperatorError that ended a host of a cluster
 */
export async function serveUntilSignal(
  { log, ready }: Presenter,
  running: Running,
  signalled = nextSignal(stopSignals()),
): Promise<void> {
  for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(kind, (cause: unknown) => crash(log, cause));
  }
  await ready(running);
  const ended = await (running.failed === null ? signalled : Promise.race([signalled, running.failed]));
  if (ended instanceof OperatorError) log({ event: 'host_ended', problem: ended.message, remedy: ended.remedy });
  else log({ event: 'stopping', signal: ended });
  await running.stop();
  if (ended instanceof OperatorError) throw ended;
}

/** The exit code of a server that a signal stopped; one that is being restored goes on after its next start. */
const STOPPED = 0;

/** `stackside serve`, from its start until a signal. @throws OperatorError if it can't serve */
export async function runServe({ settings, sources }: Reading<'serve'>): Promise<void> {
  const { env: variables } = process;
  const presenter = servePresenter({ settings, environment: realEnvironment, ...serverOutputs(), variables });
  for (const ignored of ignoredVariables(variables)) presenter.log({ event: 'variable_ignored', ...ignored });
  try {
    const { from } = settings;
    requireNoArchive(settings.data);
    const { log, environment } = presenter;
    if (from !== null) {
      await interruptible(
        (signal) => log({ event: 'stopping', signal }),
        () => startFrom({ from, settings, clock: environment.clock, log }),
        STOPPED,
      );
    }
    await serveUntilSignal(presenter, await startServing(settings, presenter.environment, { sources }));
  } catch (error) {
    const known = operatorErrorOf(error, settings.data);
    // A supervisor restarts the server, and no event is lost meanwhile.
    if (known instanceof DiskFullError) throw new PassingError(known.message, known.remedy, { cause: error });
    throw error;
  }
}
