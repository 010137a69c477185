/**
 * Requests to URLs that strangers choose, such as receivers of chainhooks. They come from inside the operator's network, so
 * addresses that aren't public are refused unless the operator allowed them. The connection is made to the checked address,
 * since the name may resolve to another address a moment later (DNS rebinding).
 */
import { lookup } from 'node:dns/promises';
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Clock } from '../base/clock.ts';
import { utcMicroseconds } from '../base/utc-time.ts';
import { type AddressBytes, contains, type Network, network, parseAddress, parseNetworks, unmapped } from './hosts.ts';

/**
 * Networks that are not public, each with the reason, from IANA's registries of special-purpose addresses (RFC 6890 and its
 * successors), and addresses that lead into a network from outside. The first network that contains an address counts.
 */
const special: readonly (readonly [network: Network, reason: string])[] = (
  [
    ['0.0.0.0/8', 'this host or network'],
    ['10.0.0.0/8', 'private'],
    ['100.64.0.0/10', 'shared by customers of a provider'],
    ['127.0.0.0/8', 'loopback'],
    ['168.63.129.16/32', 'the platform service of a cloud'],
    ['169.254.0.0/16', 'link-local'],
    ['172.16.0.0/12', 'private'],
    ['192.0.0.0/24', 'reserved for protocols'],
    ['192.0.2.0/24', 'documentation'],
    ['192.88.99.0/24', 'a relay of 6to4'],
    ['192.168.0.0/16', 'private'],
    ['198.18.0.0/15', 'benchmarks'],
    ['198.51.100.0/24', 'documentation'],
    ['203.0.113.0/24', 'documentation'],
    ['224.0.0.0/4', 'multicast'],
    ['240.0.0.0/4', 'reserved'],
    ['::1/128', 'loopback'],
    ['2001::/23', 'reserved for protocols'],
    ['2001:db8::/32', 'documentation'],
    ['2002::/16', 'an IPv4 address behind 6to4'],
    ['3fff::/20', 'documentation'],
    ['fc00::/7', 'private'],
    ['fe80::/10', 'link-local'],
    ['ff00::/8', 'multicast'],
    // For IPv6, only 2000::/3 is allocated to the Internet.
    ['::/3', 'reserved'],
    ['4000::/2', 'reserved'],
    ['8000::/1', 'reserved'],
  ] as const
).map(([text, reason]) => [network(text), reason]);

/** Returns the networks of a reason, since operators may allow networks by reason; null for an unknown reason. */
const networksNamed = (name: string): Network[] | null =>
  name === 'loopback' || name === 'private' ? special.flatMap(([net, reason]) => (reason === name ? [net] : [])) : null;

/** The well-known prefix of NAT64: a connection ends at the IPv4 address in the last 4 bytes (RFC 6052). */
const NAT64 = network('64:ff9b::/96');

/** Returns the IPv4 address that a NAT64 address leads to; other addresses unchanged. */
const endAddress = (address: AddressBytes): AddressBytes =>
  contains(NAT64, address) ? address.subarray(-4) : unmapped(address);

/** The reason why an address isn't public; null for a public one. */
function notPublic(address: AddressBytes): string | null {
  const end = endAddress(address);
  return special.find(([net]) => contains(net, end))?.[1] ?? null;
}

/** Domains of one machine or network (RFC 6761, 6762, 8375; `internal` by ICANN), with their subdomains. */
const LOCAL_NAMES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/** Whether a name has a different meaning in every network. @param name in lower case, without a final dot */
const isLocalName = (name: string): boolean =>
  LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`));

/** The target is not allowed. The message may be shown to the person who chose the target. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

/** The resolver can't resolve a host, at least for now. */
export class TargetUnresolved extends Error {
  override readonly name = 'TargetUnresolved';
}

export interface Address {
  address: string;
  family: 4 | 6;
}

type Resolve = (host: string) => Promise<Address[]>;

/** Resolves a name with the system's resolver. @throws the resolver's error */
export const systemResolve: Resolve = async (host) => {
  const lookupAddresses = await lookup(host, { all: true, verbatim: true });
  return lookupAddresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * Parses the networks that the operator allows: a list of networks, or `loopback` or `private` for all networks with this
 * reason. @returns null if an item is invalid
 */
export const allowedNetworks = (text: string): Network[] | null => parseNetworks(text, networksNamed);

export interface TargetRules {
  /** Networks that are allowed though they are not public. */
  allowed: readonly Network[];
  /** Whether public targets are allowed without TLS. */
  plainHttp: boolean;
  /** Names of the settings of the two rules, for messages; undefined if the rules are fixed. */
  settings?: { allowed: string; plainHttp: string };
}

/** A checked target: connections to its addresses are allowed. */
export interface Target {
  url: URL;
  addresses: Address[];
}

/**
 * Makes the guard, which decides which URLs and addresses may receive requests.
 * @param resolve resolves host names
 */
export function targetGuard({ allowed, plainHttp, settings }: TargetRules, resolve: Resolve = systemResolve) {
  /** The reason and the setting of the rule, in brackets; empty without both. */
  const explanation = (rule: 'allowed' | 'plainHttp', reason: string | null = null): string => {
    const parts = [reason ?? [], settings === undefined ? [] : `see ${settings[rule]}`].flat();
    return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
  };
  const localName = (host: string): TargetRefused =>
    new TargetRefused(
      `its host ${host} is a name of this machine or network, which is not public${explanation('allowed')}`,
    );

  /** Whether the operator allowed the address. @throws TargetRefused if it is neither allowed nor public */
  function checkAddress({ address }: Address, host: string): 'allowed' | 'public' {
    const bytes = parseAddress(address);
    if (bytes === null) throw new TargetRefused(`its host has the address ${address}, which is not an IP address`);
    if (allowed.some((net) => contains(net, bytes) || contains(net, endAddress(bytes)))) return 'allowed';
    const reason = notPublic(bytes);
    if (reason !== null) {
      if (address === host)
        throw new TargetRefused(`its host is at ${address}, which is not public${explanation('allowed', reason)}`);
      // Without the address: the consumer that chose the URL need not know the private addresses of names.
      throw new TargetRefused(`its host ${host} has an address that is not public${explanation('allowed', reason)}`);
    }
    if (isLocalName(host)) throw localName(host);
    return 'public';
  }

  /** Checks the URL without its addresses. @throws TargetRefused */
  function checkForm(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      const schemes = plainHttp || allowed.length > 0 ? 'http:// or https://' : 'https://';
      throw new TargetRefused(`it must begin with ${schemes}`);
    }
    if (url.port === '0') throw new TargetRefused('its port must not be 0');
    if (url.username !== '' || url.password !== '') throw new TargetRefused('it must not contain a user or password');
  }

  const withoutTls = (): TargetRefused => new TargetRefused(`it must begin with https://${explanation('plainHttp')}`);

  async function resolveHost(host: string, isPlain: boolean): Promise<Address[]> {
    try {
      return await resolve(host);
    } catch (cause) {
      // No address of the host would make the URL acceptable.
      if (isPlain && !plainHttp && allowed.length === 0) throw withoutTls();
      throw new TargetUnresolved(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }

  return {
    /**
     * Checks a URL and resolves its host.
     * @returns the URL to request, and the addresses to connect to
     * @throws TargetRefused if any address of the host is not allowed; TargetUnresolved if the resolver can't resolve the host
     */
    async check(text: string): Promise<Target> {
      const url = new URL(text);
      checkForm(url);
      // A final dot names the same host, but some software compares it as another one.
      url.hostname = url.hostname.replace(/\.+$/, '');
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isLocalName(host) && allowed.length === 0) throw localName(host);
      const literal = parseAddress(host);
      const addresses: Address[] =
        literal === null
          ? await resolveHost(host, url.protocol === 'http:')
          : [{ address: host, family: literal.length === 4 ? 4 : 6 }];
      if (addresses.length === 0) throw new TargetRefused('its host has no address');
      const verdicts = addresses.map((address) => checkAddress(address, host));
      if (url.protocol === 'http:' && verdicts.includes('public') && !plainHttp) throw withoutTls();
      return { url, addresses };
    },
  };
}
export type TargetGuard = ReturnType<typeof targetGuard>;

/** Maximum Retry-After that is honoured. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

function waitIn(text: string, now: number): number | null {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = utcMicroseconds(text);
  return date === null ? null : date / 1000 - now;
}

/** Reads a Retry-After, which is seconds or a date. @returns milliseconds from now; null if it is neither */
export function retryAfter(text: string | undefined, now: number): number | null {
  const wait = text === undefined ? null : waitIn(text.trim(), now);
  return wait === null ? null : Math.min(Math.max(0, wait), MAX_RETRY_AFTER_MS);
}

/** Dependencies of requests to strangers' URLs. */
export interface Outgoing {
  guard: TargetGuard;
  clock: Clock;
  send: Send;
}

export interface SendOptions extends Target {
  headers: Record<string, string>;
  body: Uint8Array;
  /** Timeout for opening the connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Maximum bytes of the response's body that are read. */
  maxBytes: number;
  /** Maximum wait for the rest of a response after its status, in milliseconds. */
  answerMs: number;
  signal: AbortSignal;
  clock: Clock;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body, or its beginning. */
  body: Buffer;
}

/** Maximum interim responses (1xx) of a request. */
const MAX_INTERIM = 100;

/**
 * Sends a POST to the checked addresses only, without proxies and redirects. The URL's name is sent in the Host header, and
 * certificates must be for it. The body of the response is read as it was sent, compressed or not.
 * @throws Error without a response: the connection or the parser failed, or the signal ended the request
 */
export function send(options: SendOptions): Promise<Answer> {
  const { url, connectTimeoutMs, maxBytes, answerMs, signal, clock } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = startRequest(options);
  const endConnecting = clock.after(connectTimeoutMs, () =>
    fail(new Error(`no connection within ${connectTimeoutMs / 1000} s`)),
  );
  let interim = 0;
  /** Ends reading the response; null before its head arrived. */
  let finishReading: (() => void) | null = null;

  function receive(response: IncomingMessage): void {
    const { statusCode: status = 0, headers } = response;
    const parts: Buffer[] = [];
    let length = 0;
    const finish = () => {
      stopWaiting();
      resolve({ status, headers, body: Buffer.concat(parts).subarray(0, maxBytes) });
      request.destroy();
    };
    const stopWaiting = clock.after(answerMs, finish);
    finishReading = finish;
    response.on('data', (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > maxBytes) finish();
    });
    for (const event of ['end', 'error', 'close']) response.on(event, finish);
  }

  function fail(error: Error): void {
    reject(error);
    request.destroy();
  }

  // The request itself emits no event once the other side has upgraded its connection.
  const end = () => (finishReading === null ? fail(new Error('the attempt was ended')) : finishReading());
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  request.on('socket', (socket) => socket.once('connect', endConnecting));
  request.on('response', receive);
  request.on('information', () => {
    interim += 1;
    if (interim > MAX_INTERIM) fail(new Error(`more than ${MAX_INTERIM} interim answers from ${url.host}`));
  });
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    receive(response);
    finishReading?.();
  });
  request.on('error', fail);
  request.end(options.body);
  return promise.finally(() => {
    endConnecting();
    signal.removeEventListener('abort', end);
  });
}

function startRequest({ url, addresses, headers, body }: SendOptions): ClientRequest {
  return (url.protocol === 'https:' ? https : http).request(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-length': body.length },
    lookup: (_host, options, callback) => {
      const [first] = addresses;
      if (options.all === true) callback(null, addresses);
      else if (first !== undefined) callback(null, first.address, first.family);
    },
  });
}

/** Sends a request: {@link send}, or a network of a test. */
export type Send = typeof send;

/** A request had no answer in its time. */
class LateError extends Error {
  override readonly name = 'LateError';
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = () => reject(new Error('the attempt was ended'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });

/** Checks a URL until its request must end. @throws the errors of {@link TargetGuard}, and an Error when the signal aborts */
export const checkedTarget = (guard: TargetGuard, url: string, ending: AbortSignal): Promise<Target> =>
  Promise.race([guard.check(url), rejectOnAbort(ending)]);

/**
 * Runs a function that must end within a time.
 * @param signal ends the function, for example when the process stops
 * @param run receives a signal that aborts when the time is over or `signal` aborts
 * @throws LateError if the function failed after its time was over, otherwise the error of `run`
 */
export async function withTimeout<T>(
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
  run: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  // Not AbortSignal.any or .timeout: such signals outlive the request, and would hold its body in memory.
  const ending = new AbortController();
  const end = () => ending.abort();
  let late = false;
  const cancel = clock.after(timeoutMs, () => {
    late = true;
    end();
  });
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await run(ending.signal);
  } catch (error) {
    throw late ? new LateError(`no answer within ${timeoutMs / 1000} s`) : error;
  } finally {
    cancel();
    signal.removeEventListener('abort', end);
  }
}

/** Why a request had no answer, as a clause. */
export const failureReason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof TargetUnresolved || error instanceof LateError) return error.message;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return code === 'Error' || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
};
