/** Starts a server: its services in order. Each stops before those that it needs. */
import { Registry } from 'prom-client';
import type { Steering } from '../../api/devnet/family.ts';
import type { OperatorError } from '../../base/errors.ts';
import { Services } from '../../base/service.ts';
import { Turns } from '../../base/turns.ts';
import { noFaucets } from '../../faucets/faucets.ts';
import { snapshotLog } from '../../metrics/requests.ts';
import { outputMetrics } from '../../metrics/server.ts';
import type { Settings } from '../../settings/config.ts';
import { changedSettings, type Sources } from '../../settings/describe.ts';
import { CommitCount } from '../../store/ingest/commit-count.ts';
import { serverVersion } from '../cli/this-program.ts';
import { joinCluster } from '../cluster/host.ts';
import type { ServerInfo } from '../terminal/presenter.ts';
import { type ApiThreads, answerApi } from './api-threads.ts';
import type { Environment } from './environment.ts';
import { askStartingAccounts, requiresWhole } from './history-start.ts';
import { manageHooks } from './hooks.ts';
import type { Receiving } from './receiving.ts';
import type { Observations, ServerContext } from './server-context.ts';
import { newestEntryAt, readOrFailure, serverOperations, serverReadings } from './server-readings.ts';
import {
  chainOfNode,
  requireAgreement,
  requireNodeChain,
  warnOfOpenEventPort,
  warnOfUnmanagedHooks,
} from './start-checks.ts';
import { watchState } from './state-watch.ts';
import { openWritableIndex } from './writable-index.ts';
import { startWriterServices } from './writer-services.ts';

export interface StartOptions {
  /** Controls the simulated node. */
  steering?: Steering | null;
  /** The token that the sBTC faucet sends; default: the test network's. */
  sbtcAsset?: string;
  sources?: Sources;
}

/**
 * Starts a server once.
 * @param observations kept from before a restart
 * @throws OperatorError after stopping the started services
 */
export async function startServer(
  settings: Settings,
  environment: Environment,
  observations: Observations,
  options: StartOptions,
): Promise<ServerInfo> {
  await requireAgreement(settings);
  const services = new Services();
  try {
    return await startServices({ settings, environment, observations, services }, options);
  } catch (error) {
    await services.stop();
    throw error;
  }
}

async function startServices(
  essentials: Pick<ServerContext, 'settings' | 'environment' | 'observations' | 'services'>,
  { steering = null, sbtcAsset, sources = {} }: StartOptions,
): Promise<ServerInfo> {
  const { settings, environment, observations, services } = essentials;
  const { clock } = environment;
  const { log } = observations.recent;
  const ended = Promise.withResolvers<OperatorError>();
  const registry = new Registry();
  outputMetrics(registry, environment.outputs);
  const node = environment.nodeRpc(settings.nodeRpc);
  // Before files are made.
  const nodeChain = await chainOfNode(node);
  requireNodeChain(nodeChain, settings);

  const writable = openWritableIndex({ ...essentials, nodeChain, registry, log, lockLost: ended.resolve });
  const ingest = writable?.ingest ?? null;
  const cluster = services.use(
    'cluster',
    writable === null ? null : await joinCluster({ settings, ...writable, ...environment, registry, log }),
  );
  const commits = ingest?.commits ?? new CommitCount();
  const turns = new Turns(clock);
  const snapshots = environment.openSnapshots(settings.data, {
    log: snapshotLog(registry, log),
    now: clock.monotonic,
    every: clock.every,
    sharing: { turn: clock.turn, commits: () => commits.now() },
    turns,
    ...(ingest === null ? {} : { beforeSnapshot: ingest.publish, writer: ingest.writer }),
  });
  services.use('snapshots', { stop: () => snapshots.close() });
  if (ingest !== null && !requiresWhole(settings)) {
    services.use('starting accounts', askStartingAccounts({ ingest, snapshots, node, clock, registry, log }));
  }

  // Both start after the state, which reads them.
  let threads: ApiThreads | null = null;
  let receiving: Receiving | null = null;
  const isSimulated = steering !== null;
  const state = services.use(
    'state',
    watchState({
      snapshots,
      node,
      clock,
      log,
      isSimulated,
      chainId: settings.network,
      health: ingest?.health ?? null,
      isHost: cluster !== null,
      lag: () => cluster?.behind() ?? null,
      logFailure: () => cluster?.failure() ?? null,
      source: () => receiving?.source() ?? null,
      refusal: () => receiving?.refusal() ?? null,
      filling: () => receiving?.filling() ?? null,
      preparation: () => steering?.preparation() ?? null,
      lastEvent: () => observations.hour.lastEvent(),
      lastEventBefore: ingest === null ? null : newestEntryAt(settings.data),
    }),
  );
  const operations = serverOperations({
    directory: settings.data,
    snapshots,
    node,
    registry,
    isSimulated,
    readiness: state.readiness,
    now: clock.now,
    threads: async () => (await threads?.metrics()) ?? [],
  });
  const context: ServerContext = { ...essentials, isSimulated, registry, node, snapshots, operations, log, turns };
  services.use('last hour', { stop: observations.hour.start() });
  services.use('disk space', { stop: observations.space.start() });

  // A process that only reads manages no hooks, though a host of a cluster writes the entries that it follows.
  const writer = settings.mode === 'read' ? null : writable;
  const hooks = writer === null ? null : services.use('chainhooks', manageHooks(context, writer, cluster, steering));
  cluster?.start();
  const logs = async () => (await threads?.logs()) ?? [];
  const parts = { cluster, sbtcAsset, sources, logs, ended: ended.resolve };
  const writerServices = writer === null ? null : await startWriterServices(context, writer.ingest, parts);
  receiving = writerServices?.receiving ?? null;
  const server = serverReadings({
    settings,
    node,
    clock,
    operations,
    snapshots,
    observations,
    events: receiving?.url ?? null,
    isSimulated,
    host: () => cluster?.host() ?? null,
    archive: () => writerServices?.archiving?.status() ?? null,
  });
  let url: string | null = null;
  if (settings.mode !== 'write') {
    ({ url, threads } = await answerApi(context, {
      commits,
      server,
      steering,
      faucets: writerServices?.faucets ?? noFaucets,
      hooks: hooks?.api ?? null,
      system: writerServices?.system ?? null,
    }));
    writerServices?.listeners.push({ name: 'API and console', url });
  }
  const { mode, data } = settings;
  log({ event: 'started', version: serverVersion, mode, data, settings: changedSettings(settings) });
  state.start();
  if (receiving?.port != null) await warnOfOpenEventPort(settings, log);
  warnOfUnmanagedHooks(settings, writer !== null && writer.ingest.hooks.records.consumers().length > 0, log);
  return {
    api: url,
    node: node.location,
    events: receiving?.port ?? null,
    signInPath: hooks?.signInPath ?? null,
    readiness: operations.readiness,
    chainId: async () => readOrFailure(() => snapshots.read((read) => read.chain.chainId())).read,
    failed: cluster === null ? ended.promise : Promise.race([cluster.failed, ended.promise]),
    stop: () => services.stop(),
  };
}
