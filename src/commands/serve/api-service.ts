/** The API as a whole: its routes, the proxy to the node, and realtime. It runs in the main thread or in API threads. */
import type { Registry } from 'prom-client';
import type { PrefixForward } from '../../api/forwarded.ts';
import type { Clock, RandomSource } from '../../base/clock.ts';
import { deprecationPolicy } from '../../http/deprecation.ts';
import { type Forward, MAX_PROXY_BODY_BYTES, markPeer, passedPeer } from '../../http/forward.ts';
import { type AddressOf, clientBehind, parseNetworks } from '../../http/hosts.ts';
import { type ApiServer, type Listen, startApi } from '../../http/listener.ts';
import { type RateLimiter, RateTable, rateLimiter, readKeysOf } from '../../http/rate-limit.ts';
import { type ClientLimits, startRealtime } from '../../live/realtime.ts';
import type { Log } from '../../log.ts';
import type { RequestCounts } from '../../metrics/last-hour.ts';
import { changeMetrics, liveMetrics, rateLimitMetrics, requestMetrics } from '../../metrics/requests.ts';
import { untouchedAccounts } from '../../node/history.ts';
import { nodeProxy, parseProxyPrefixes, prefixProxy } from '../../node/proxy.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { serverVersion } from '../cli/this-program.ts';
import { type ApiOptions, createApp, type MainThreadParts } from './app.ts';

type SharedOption = 'snapshots' | 'operations' | 'mainThread' | 'internalToken' | 'clock' | 'turns';

export interface ApiServiceOptions extends MainThreadParts, Pick<ApiOptions, SharedOption> {
  settings: Settings;
  node: NodeRpc;
  log: Log;
  registry: Registry;
  /** Counts the requests of clients; null if other threads answer them. */
  requestCounts: RequestCounts | null;
  address: { hostname: string; port: number; shared: boolean };
  listen: Listen;
  clientLimits: Partial<ClientLimits>;
  random: RandomSource;
  /** Memory with the counts of clients' requests, which all threads share. */
  rates: SharedArrayBuffer;
}

/** Starts the API on its port, with realtime and the node's proxy. @throws OperatorError if it can't listen */
export async function startApiService(options: ApiServiceOptions): Promise<ApiServer> {
  const { settings, node, registry, requestCounts, rates, address, listen, clientLimits, random, ...parts } = options;
  const { snapshots, log, turns, clock, internalToken, mainThread } = parts;
  const via = viaOf(internalToken);
  const limiter = limiterOf(settings, rates, registry, clock);
  const addressOf = clientAddresses(settings, log);
  const stopping = new AbortController();
  const app = createApp({
    ...parts,
    version: serverVersion,
    deprecation: deprecationPolicy(settings.deprecated),
    openHooks: settings.hookAccess === 'open',
    changes: { metrics: changeMetrics(registry), stopping: stopping.signal },
    metrics: requestCounts?.around(requestMetrics(registry)) ?? requestMetrics(registry),
    nodeProxy: nodeProxy({
      node,
      url: settings.nodeRpc,
      extraEndpointsFile: settings.extraTxEndpoints,
      estimatesFees: settings.feeEstimator,
      via,
      snapshots,
      clock,
      random,
      log,
    }),
    askAccount: untouchedAccounts(node, clock),
    prefixes: prefixForwards(settings, via),
    asksAboutTokens: settings.tokenMetadata === 'on',
    namesContract: settings.namesContract,
    limiter,
    addressOf,
  });
  const clientAddress = (request: Request, server: Bun.Server<unknown>): string =>
    passedPeer(request.headers, internalToken) ?? addressOf(server.requestIP(request)?.address ?? '', request.headers);
  const countedBefore = (forward: Forward) => (request: Request, server: Bun.Server<unknown>) => {
    markPeer(request.headers, internalToken, clientAddress(request, server));
    return forward(request);
  };
  const realtime = startRealtime({
    limits: clientLimits,
    limiter,
    clientAddress,
    isCounted: (request) => passedPeer(request.headers, internalToken) !== null,
    snapshots,
    metrics: liveMetrics(registry),
    log,
    turns,
    clock,
    ...(mainThread === null ? {} : { polling: countedBefore(mainThread) }),
  });
  try {
    return startApi({
      app,
      ...address,
      turns,
      clock,
      listen,
      bodyLimit: MAX_PROXY_BODY_BYTES,
      pushed: {
        ...realtime,
        stop() {
          stopping.abort();
          return realtime.stop();
        },
      },
      log,
    });
  } catch (error) {
    await realtime.stop();
    throw error;
  }
}

/** Name of this process in `Via` headers, the same in all threads. It is a digest, since the token is a secret. */
const viaOf = (internalToken: string): string =>
  `stackside-${new Bun.CryptoHasher('sha256').update(internalToken).digest('hex').slice(0, 16)}`;

function prefixForwards(settings: Settings, via: string): PrefixForward[] {
  const prefixes = parseProxyPrefixes(settings.proxyPrefix);
  if (prefixes === null) throw new Error('prefixes are checked when the settings are read');
  return prefixes.map((prefix) => ({ prefix: prefix.prefix, forward: prefixProxy({ ...prefix, via }) }));
}

/**
 * Counts the requests of clients; null if there is no limit, and no key.
 * @param rates memory with the counts, which all threads share
 * @throws OperatorError if the keys can't be read
 */
function limiterOf(
  { rateLimit: perMinute, readKeys }: Settings,
  rates: SharedArrayBuffer,
  registry: Registry,
  clock: Clock,
): RateLimiter | null {
  if (perMinute === null && readKeys === null) return null;
  const keys = readKeysOf(readKeys, perMinute);
  const table = new RateTable(rates, clock.now);
  return rateLimiter({ perMinute, keys, table, metrics: rateLimitMetrics(registry) });
}

/** Makes the function that returns a client's address. A proxy that isn't trusted is logged once, since its clients share limits. */
function clientAddresses({ trustedProxies }: Settings, log: Log): AddressOf {
  const networks = parseNetworks(trustedProxies);
  if (networks === null) throw new Error('proxies are checked when the settings are read');
  let isLogged = false;
  return clientBehind(networks, (address) => {
    if (isLogged) return;
    isLogged = true;
    log({
      event: 'setup_warning',
      problem: `Requests name their clients through a proxy at ${address} that isn't trusted, so its clients share the limits of one client.`,
      remedy: `Add ${address} to --trusted-proxies if the proxy is yours.`,
    });
  });
}
