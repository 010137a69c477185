/** The services of a process that writes, except its chainhooks; and the operator's functions of `/stackside/v1/system`. */

import { hostname } from 'node:os';
import type { ServerStatus } from '../../api/stackside/server.ts';
import type { RequestBase, SystemApi } from '../../api/stackside/system.ts';
import { loadOrCreateSigner, loadRequiredSigner } from '../../archive/signing.ts';
import { type FaucetSettings, type Faucets, openFaucets } from '../../faucets/faucets.ts';
import { watchAlerts } from '../../metrics/alerts.ts';
import { startMetadataFetcher } from '../../node/token-metadata.ts';
import type { Settings } from '../../settings/config.ts';
import type { Sources } from '../../settings/describe.ts';
import { type Commander, commandsOf } from '../../store/ingest/commands.ts';
import type { FaucetCommands } from '../../store/ingest/faucet-requests.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { TokenCommands } from '../../store/ingest/token-commands.ts';
import type { ServedCluster } from '../cluster/host.ts';
import { apiThreadCount } from './api-threads.ts';
import { type ArchiveLease, startArchiving, startBases } from './archiving.ts';
import { importOldNames } from './old-names.ts';
import { inspections, queries } from './own-processes.ts';
import { type ReceivingParts, receiveChain } from './receiving.ts';
import { systemLog, type ThreadLog } from './recent-log.ts';
import type { ServerContext } from './server-context.ts';
import { alertsState, systemState } from './server-readings.ts';

interface WriterServicesOptions extends Pick<ReceivingParts, 'cluster' | 'ended'> {
  sbtcAsset: string | undefined;
  sources: Sources;
  logs: () => Promise<(ThreadLog | null)[]>;
}

/** Starts the services of a process that writes, except its chainhooks. */
export async function startWriterServices(context: ServerContext, ingest: Ingest, parts: WriterServicesOptions) {
  const { settings, environment, services, log } = context;
  const { cluster, ended, sbtcAsset, ...rest } = parts;
  const { clock, random } = environment;
  const commander = cluster?.commander ?? ingest.commander(clock, random);
  const faucets = serverFaucets(context, ingest, commander, sbtcAsset);
  const names = services.use('old names', await importOldNames(settings, { commander, ingest, clock, log }));
  if (cluster === null) await names.done;
  services.use('token metadata', fetchMetadata(context, ingest, commander, cluster));
  const archiving = services.use('archive', archiveLog(context, ingest, cluster));
  const receiving = receiveChain(context, { ingest, cluster, ended });
  const listeners = receiving.port === null ? [] : [{ name: 'Events of the node', url: receiving.port }];
  const requestBase = archiving?.requestBase ?? null;
  const system = systemOf(context, { ...rest, ingest, cluster, commander, listeners, requestBase });
  return { faucets, archiving, receiving, listeners, system };
}

/**
 * Archives the log; of several hosts that share it, the one that holds the lease does.
 * @returns null if the settings name no archive
 */
function archiveLog(
  { settings, environment, registry, log }: ServerContext,
  ingest: Ingest,
  cluster: ServedCluster | null,
) {
  const { data: directory, archive: location, archiveBase: hours, archivePublic: isPublic, hostName } = settings;
  if (location === null) return null;
  // All hosts of a cluster share one key, so a host doesn't create it.
  if (isPublic && cluster !== null) loadRequiredSigner(directory);
  else if (isPublic) loadOrCreateSigner(directory, (file) => log({ event: 'key_created', file }));
  const lease = (): ReturnType<ArchiveLease> => {
    if (cluster === null) return { epoch: null };
    return cluster.deliveries?.hasLease() ? { epoch: cluster.deliveries.status().epoch } : null;
  };
  const { clock, random, archiveSeconds: seconds } = environment;
  const worker = () => environment.archiveWorker({ directory, location, isPublic });
  const shared = { directory, location, lease, clock, random, registry, log };
  const archiving = startArchiving({
    ...shared,
    seconds,
    host: hostName ?? hostname(),
    worker: worker(),
    ingest,
    newestBase: () => bases.newest(),
  });
  const bases = startBases({
    ...shared,
    hours,
    keepDays: settings.archiveKeep,
    worker: worker(),
    archive: archiving.status,
  });
  return {
    status(): ServerStatus['archive'] {
      const status = archiving.status();
      return status === null ? null : { ...status, base: bases.state() };
    },
    requestBase: (): ReturnType<RequestBase> => bases.request() ?? bases.state(),
    async stop() {
      await Promise.all([bases.stop(), archiving.stop()]);
    },
  };
}

/** The token of the test network that the sBTC faucet sends. */
const SBTC_ASSET = 'ST1F7QA2MDF17S807EPA36TSS8AMEFY4KA9TVGWXT.sbtc-token::sbtc-token';

/** The Bitcoin node with its credentials; null unless URL, user, password and key are all set. */
function bitcoinOf({ btcRpc, btcFaucetKey: key }: Settings): FaucetSettings['bitcoin'] {
  if (btcRpc === null || key === null) return null;
  const { origin, pathname, username, password } = new URL(btcRpc);
  if (username === '' || password === '') return null;
  // The setting rejects a URL with invalid escapes.
  const url = `${origin}${pathname === '/' ? '' : pathname}`;
  return { url, user: decodeURIComponent(username), password: decodeURIComponent(password), key };
}

/** The faucets of the process that writes, since every request that is served is recorded in the index. */
const serverFaucets = (
  { settings, environment, snapshots, node, log }: ServerContext,
  ingest: Ingest,
  commander: Commander,
  sbtcAsset = SBTC_ASSET,
): Faucets =>
  openFaucets({
    settings: {
      sbtc: settings.sbtcFaucet,
      keys: settings.faucetKeys?.split(',') ?? [],
      sbtcAsset,
      bitcoin: bitcoinOf(settings),
      limited: settings.faucetLimits,
    },
    onTestNetwork: () => ingest.networkKind() === 'testnet',
    requests: ingest.faucetRequests,
    commands: commandsOf<FaucetCommands>(commander),
    node,
    nextNonce: (address) => snapshots.read((read) => read.principals.nonces(address).next),
    now: environment.clock.now,
    log,
  });

/** Looks token metadata up; in a cluster, only one host does. @returns null if lookups are off */
function fetchMetadata(context: ServerContext, ingest: Ingest, commander: Commander, cluster: ServedCluster | null) {
  const { settings, environment, snapshots, node, log } = context;
  if (settings.tokenMetadata === 'off') return null;
  const { clock, random } = environment;
  const hasLease = () => cluster?.deliveries?.hasLease() ?? true;
  const { commits } = ingest;
  return startMetadataFetcher({ snapshots, node, commander, hasLease, log, commits, clock, random });
}

function tokenRefresher({ tokenMetadata }: Settings, commander: Commander): SystemApi['refreshTokens'] {
  if (tokenMetadata === 'off') return null;
  const commands = commandsOf<TokenCommands>(commander);
  return async (contract, tokens) => {
    const unknown = await commands.run('tokens.refresh', { contract, tokens: tokens?.map(String) ?? null });
    return Array.isArray(unknown) ? unknown.map(BigInt) : unknown;
  };
}

interface SystemParts extends Pick<WriterServicesOptions, 'cluster' | 'sources' | 'logs'> {
  ingest: Ingest;
  commander: Commander;
  /** Bound addresses; more may be added later. */
  listeners: readonly { name: string; url: string }[];
  /** Requests a base of the archive; null without an archive. */
  requestBase: RequestBase | null;
}

function systemOf(
  { settings, environment, operations, log, observations, services }: ServerContext,
  { ingest, cluster, commander, sources, listeners, logs, requestBase }: SystemParts,
): SystemApi {
  const { clock, cores, startOwnProcess: start } = environment;
  const { data: directory } = settings;
  const threads = apiThreadCount(settings.threads, cores);
  const logFailure = (cause: unknown) =>
    log({ event: 'unexpected_error', part: 'request', method: 'GET', path: '/metrics', cause });
  const alerts = services.use('alerts', watchAlerts(clock, operations.series, logFailure));
  return {
    state: () =>
      systemState({ settings, sources, listeners: [...listeners], threads, valueIndexes: ingest.valueIndexes.all() }),
    log: async () => systemLog([observations.recent.read(), ...(await logs())]),
    inspections: services.use('inspections', inspections({ directory, clock, start })),
    hosts: async () => (await cluster?.hosts()) ?? { host: null, log: null, problem: null },
    refreshTokens: tokenRefresher(settings, commander),
    requestBase,
    queries: services.use('queries', queries({ directory, start })),
    alerts: () => alertsState(alerts.last()),
  };
}
