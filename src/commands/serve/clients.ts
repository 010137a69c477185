/** The clients of the API, by the settings: which addresses they have, and how many requests. */
import type { Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { type AddressOf, clientBehind } from '../../http/client-address.ts';
import { parseNetworks } from '../../http/hosts.ts';
import { RateLimiter, RateTable, readKeysOf } from '../../http/rate-limit.ts';
import type { Log } from '../../log.ts';
import { rateLimitMetrics } from '../../metrics/requests.ts';
import type { Settings } from '../../settings/config.ts';

/**
 * Counts the requests of clients; null if there is no limit, and no key.
 * @param rates memory with the counts, which all threads share
 * @throws OperatorError if the keys can't be read
 */
export function rateLimiter(
  { rateLimit: perMinute, readKeys }: Settings,
  rates: SharedArrayBuffer,
  registry: Registry,
  clock: Clock,
): RateLimiter | null {
  if (perMinute === null && readKeys === null) return null;
  const keys = readKeys === null ? [] : readKeysOf(readKeys);
  const table = new RateTable(rates, clock.now);
  return new RateLimiter({ perMinute, keys, table, metrics: rateLimitMetrics(registry) });
}

/** Makes the function that returns a client's address. A proxy that isn't trusted is logged once, if its clients then share a limit. */
export function clientAddresses({ trustedProxies }: Settings, isLimited: boolean, log: Log): AddressOf {
  const networks = parseNetworks(trustedProxies);
  if (networks === null) throw new Error('proxies are checked when the settings are read');
  let isSaid = !isLimited;
  return clientBehind(networks, (address) => {
    if (isSaid) return;
    isSaid = true;
    log({
      event: 'setup_warning',
      problem: `Requests name their clients through a proxy at ${address} that isn't trusted, so its clients share one limit.`,
      remedy: `Add ${address} to --trusted-proxies if the proxy is yours.`,
    });
  });
}
