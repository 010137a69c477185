/** Starts the chainhooks of a serving process by its settings. */
import type { Steering } from '../../api/devnet/family.ts';
import { OperatorError } from '../../base/errors.ts';
import type { Service } from '../../base/service.ts';
import type { Lease } from '../../cluster/lease-keeper.ts';
import { type Access, access } from '../../hooks/access/access.ts';
import { adminKeyOf, keysOf, namedAdminKey, OPERATOR, type WrongKeys, wrongKeys } from '../../hooks/access/keys.ts';
import { openSessions, type Sessions } from '../../hooks/access/sessions.ts';
import { sealingForServer } from '../../hooks/delivery/sealing.ts';
import type { HookTimers } from '../../hooks/reporting.ts';
import { hookBackfills } from '../../hooks/routes/backfills.ts';
import { deliveryLog } from '../../hooks/routes/deliveries.ts';
import type { ReadHooks } from '../../hooks/routes/family.ts';
import { type HookApi, management } from '../../hooks/routes/hooks.ts';
import { consumerSecrets } from '../../hooks/routes/secret.ts';
import { signInLink } from '../../hooks/routes/session.ts';
import { trials } from '../../hooks/routes/trials.ts';
import { type Chainhooks, type HookRules, startChainhooks } from '../../hooks/service.ts';
import { hostNames } from '../../http/hosts.ts';
import { allowedNetworks } from '../../http/outgoing.ts';
import type { Log } from '../../log.ts';
import { hookMetrics, hookTimers } from '../../metrics/hooks.ts';
import type { Settings } from '../../settings/config.ts';
import type { Commander } from '../../store/ingest/commands.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { serverVersion } from '../cli/this-program.ts';
import type { ServedCluster } from '../cluster/host.ts';
import type { Environment } from './environment.ts';
import type { ServerContext } from './server-context.ts';
import type { WritableIndex } from './writable-index.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Milliseconds that a receiver has to answer a delivery. */
const TIMEOUT_MS = 20 * SECOND;
/** Maximum milliseconds between two attempts of a delivery. */
const RETRY_CAP_MS = 300 * SECOND;
/** Maximum concurrent deliveries. */
const CONCURRENCY = 32;

function toRules(
  settings: Settings,
  { timeoutMs = TIMEOUT_MS, retryCapMs = RETRY_CAP_MS, concurrency = CONCURRENCY }: Environment['deliveryRules'],
): HookRules {
  const networks = allowedNetworks(settings.hookTargets);
  if (networks === null) throw new Error('networks are checked when the settings are read');
  return {
    targets: {
      allowed: networks,
      plainHttp: settings.hookHttp,
      settings: { allowed: '--hook-targets', plainHttp: '--hook-http' },
    },
    alertUrl: settings.hookAlert,
    timeoutMs,
    connectTimeoutMs: timeoutMs / 4,
    budgetMs: settings.hookBudget * HOUR,
    retryCapMs,
    concurrency,
    retentionMs: settings.hookRetention * DAY,
  };
}

/**
 * Access to chainhooks by the settings. Unless the settings name a file for it, the admin key is created in any case, so that
 * it exists when keys are needed.
 * @throws OperatorError for files of keys that can't be used
 */
function openAccess(
  settings: Settings,
  isSimulated: boolean,
  keyFailures: WrongKeys,
  sessions: Sessions,
  log: Log,
): Access {
  const { data, adminKey, hookAccess, hookKeys, apiHost, allowedHosts } = settings;
  const admin =
    adminKey === null ? adminKeyOf(data, (file) => log({ event: 'key_created', file })) : namedAdminKey(adminKey);
  const hosts = [apiHost, ...hostNames(allowedHosts)];
  if (hookAccess === 'key') {
    const consumers = hookKeys === null ? [] : keysOf(hookKeys);
    return access({ keys: { consumers, admin }, hosts, wrongKeys: keyFailures, sessions });
  }
  if (hookKeys !== null) {
    throw new OperatorError(
      "--hook-keys can't be combined with --hook-access open.",
      'Set --hook-access key, or omit --hook-keys.',
    );
  }
  // Open access is a devnet's default, which listens on this machine only.
  if (!isSimulated) {
    log({
      event: 'setup_warning',
      problem: 'With --hook-access open, everybody who reaches a port can manage chainhooks.',
      remedy: 'Let only trusted clients reach the ports, or set --hook-access key.',
    });
  }
  return access({ keys: null, hosts, wrongKeys: keyFailures, sessions });
}

export interface ServedHooks {
  hooks: Chainhooks;
  api: HookApi;
  wrongKeys: () => number;
  signInPath: () => string;
}

export interface ServeHooksOptions extends WritableIndex, Pick<ServerContext, 'settings' | 'environment' | 'log'> {
  snapshots: Pick<Snapshots, 'read'>;
  timers: HookTimers;
  /** Whether the chain is a devnet's. Default false. */
  isSimulated?: boolean;
  /** Returns the Bitcoin height of the lowest block that forks can start from, on a devnet. */
  lowestFork?: (() => number) | undefined;
  /** Sends commands to the log that hosts share; by default, to the host's own. */
  commander?: Commander;
  /** The lease to deliver, on a host of a cluster; by default, this host always has it. */
  lease?: Lease;
}

/** Starts evaluating chainhooks, and delivering while the lease is held. */
export function serveHooks(options: ServeHooksOptions): ServedHooks {
  const { settings, log, environment, isSimulated = false } = options;
  const { clock, random, send, deliveryRules } = environment;
  const keyFailures = wrongKeys(log, clock);
  const hookAccess = openAccess(settings, isSimulated, keyFailures, openSessions(clock), log);
  const hooks = startChainhooks({
    ...options,
    rules: toRules(settings, deliveryRules),
    sealing: sealingForServer(settings, settings.cluster !== null, log),
    clock,
    random,
    send,
    userAgent: serverVersion.replace(/^(\w+) v(\S+).*$/, '$1/$2'),
  });
  const read: ReadHooks = (look) => options.snapshots.read(look);
  const api = {
    access: hookAccess,
    // Immutable once stored, which it is before a registration is answered.
    ownerOf: hooks.store.records.owner,
    management: management(hooks, read),
    secrets: consumerSecrets(hooks, read),
    deliveries: deliveryLog(hooks, read),
    trials: trials(hooks, read),
    backfills: hookBackfills(hooks, read),
  };
  return { hooks, api, wrongKeys: keyFailures.total, signInPath: () => signInLink(hookAccess, OPERATOR).path };
}

/** Starts the chainhooks of a server, with metrics. */
export function manageHooks(
  { settings, environment, isSimulated, registry, snapshots, log, observations }: ServerContext,
  index: WritableIndex,
  cluster: ServedCluster | null,
  steering: Steering | null,
): ServedHooks & Service {
  const served = serveHooks({
    settings,
    isSimulated,
    lowestFork: steering === null ? undefined : () => steering.node.lowestFork,
    ...index,
    snapshots,
    log,
    environment,
    timers: observations.hour.aroundTimers(hookTimers(registry)),
    ...(cluster === null ? {} : { commander: cluster.commander }),
    ...(cluster?.deliveries == null ? {} : { lease: cluster.deliveries }),
  });
  const { hooks, wrongKeys } = served;
  observations.hour.follow(hooks.counters);
  const unreadableSecrets = () => hooks.secrets.unreadable().length;
  hookMetrics(registry, { counters: hooks.counters, gauges: hooks.gauges, unreadableSecrets, wrongKeys });
  return { ...served, stop: () => hooks.stop() };
}
