/**
 * Proxies that forward requests unchanged and stream responses back: to the node's RPC interface, and to other services by
 * path prefix. The node's fee estimates follow recent fees and stay high after a peak, so the proxy replaces them while
 * blocks are not full.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type Clock, pause, type RandomSource } from '../base/clock.ts';
import { fileText } from '../base/files.ts';
import { parsedJson } from '../base/json.ts';
import { TENURE_BUDGET } from '../chain/network.ts';
import { wholeAnswer } from '../http/direct-fetch.ts';
import { type Forward, forwardedBody, headersWithout, upstream } from '../http/forward.ts';
import { pathAndQuery, withPlainPath } from '../http/request-url.ts';
import type { TenureLoad } from '../store/model/block.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Number of tenures before the current one to examine. */
const PAST_TENURES = 5;
/** Minimum share of a limit for earlier tenures to count as full. */
const PAST_FULLNESS = 0.9;
/** Minimum share of a limit for the current tenure to count as full. */
const CURRENT_FULLNESS = 0.5;
/** Minimum blocks in the current tenure for examining it. */
const MIN_CURRENT_BLOCKS = 5;

export type TenureLimits = Omit<TenureLoad, 'blocks'>;

const DEFAULT_LIMITS: TenureLimits = { ...TENURE_BUDGET, size: 2_097_152 };
const dimensions = ['runtime', 'readCount', 'readLength', 'writeCount', 'writeLength', 'size'] as const;
type Dimension = (typeof dimensions)[number];

const BlockLimit = Type.Object({
  runtime: Type.Number(),
  read_count: Type.Number(),
  read_length: Type.Number(),
  write_count: Type.Number(),
  write_length: Type.Number(),
});
const Pox = Type.Object({ epochs: Type.Array(Type.Object({ block_limit: BlockLimit }), { minItems: 1 }) });

/** Returns the limits of the newest epoch in the node's answer; null if there are none. */
function parseLimits(answer: unknown): TenureLimits | null {
  const limit = Value.Check(Pox, answer) ? answer.epochs.at(-1)?.block_limit : undefined;
  if (limit === undefined) return null;
  return {
    runtime: limit.runtime,
    readCount: limit.read_count,
    readLength: limit.read_length,
    writeCount: limit.write_count,
    writeLength: limit.write_length,
    size: DEFAULT_LIMITS.size,
  };
}

/**
 * Reads the limits of the newest epoch from the node once, and again after a failure. Until the node answers, mainnet's
 * limits are used.
 */
function tenureLimits(node: NodeRpc): () => Promise<TenureLimits> {
  let cachedLimits: TenureLimits | null = null;
  return async () => {
    if (cachedLimits !== null) return cachedLimits;
    try {
      cachedLimits = parseLimits(await node.json('/v2/pox'));
    } catch (error) {
      if (!(error instanceof NodeUnreachableError)) throw error;
    }
    return cachedLimits ?? DEFAULT_LIMITS;
  };
}

const isBelow = (load: TenureLimits, limits: TenureLimits, fullness: number): boolean =>
  dimensions.every((dimension) => load[dimension] < limits[dimension] * fullness);

/** Returns the weighted mean of tenures. The newest counts most. @param loads newest first */
function weightedMean(loads: readonly TenureLimits[]): TenureLimits {
  const weights = loads.length * (loads.length + 1) * 0.5;
  const mean = (dimension: Dimension): number =>
    Math.round(loads.reduce((sum, load, age) => sum + load[dimension] * (loads.length - age), 0) / weights);
  return Object.fromEntries(dimensions.map((dimension) => [dimension, mean(dimension)])) as Record<Dimension, number>;
}

/**
 * Reports whether tenures are not full, so that the minimum fee is enough.
 * @param loads of the current tenure and of the earlier tenures to examine; newest first
 */
export function isQuiet(loads: readonly TenureLoad[], limits: TenureLimits): boolean {
  const [current, ...past] = loads;
  if (current === undefined || past.length < PAST_TENURES) return true;
  if (current.blocks >= MIN_CURRENT_BLOCKS && isBelow(current, limits, CURRENT_FULLNESS)) return true;
  return isBelow(weightedMean(past), limits, PAST_FULLNESS);
}

const FeeRequest = Type.Object({
  transaction_payload: Type.String(),
  estimated_len: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
});
const FeeAnswer = Type.Object({ estimations: Type.Array(Type.Object({ fee: Type.Number() })) });

/**
 * Replaces the fees in the node's answer, in micro-STX.
 * @param hasRoom whether tenures are not full: each fee is then the minimum, otherwise the node's, but at least the minimum
 * @returns null if the request or the answer has another form
 */
export function withOurFees(answer: unknown, request: unknown, hasRoom: boolean): Static<typeof FeeAnswer> | null {
  if (!Value.Check(FeeAnswer, answer) || !Value.Check(FeeRequest, request)) return null;
  const digits = request.transaction_payload.replace(/^0x/, '');
  const minimum = Math.max(request.estimated_len ?? 0, digits.length / 2);
  const feeOf = (fee: number): number => (hasRoom ? minimum : Math.max(minimum, Math.round(fee)));
  return {
    ...answer,
    estimations: answer.estimations.map((estimation) => ({ ...estimation, fee: feeOf(estimation.fee) })),
  };
}

export interface ProxyOptions {
  node: NodeRpc;
  /** URL of the node's RPC interface, without a trailing slash. */
  url: string;
  /** Timeout until the node's response starts, in milliseconds. */
  timeoutMs?: number;
  /** Name of this process in `Via` headers. */
  via: string;
  /** Whether fee estimates are the minimum fee while tenures are not full, and at least the minimum fee otherwise. */
  estimatesFees: boolean;
  /** File with additional URLs that receive broadcast transactions. */
  extraEndpointsFile: string | null;
  snapshots: Snapshots;
  clock: Clock;
  random: Pick<RandomSource, 'number'>;
  log: (event: BroadcastEvent) => void;
}

/** Maximum retries of a read if a busy node answers with 503. */
const BUSY_RETRIES = 10;
const BUSY_WAIT_MS = 50;

/** Forwards requests to the node. */
export function nodeProxy(options: ProxyOptions): Forward {
  const { node, url, timeoutMs, via, estimatesFees, extraEndpointsFile, snapshots, clock, random, log } = options;
  const limits = tenureLimits(node);
  const broadcast = extraBroadcasts(extraEndpointsFile, log);
  const { ask, passedBack, textOf } = upstream({
    name: 'The node',
    url,
    prefix: '',
    via,
    // The node's password for its signer routes has no scheme.
    isOurKey: (authorization) => /^Bearer\s/i.test(authorization),
    timeoutMs,
  });

  async function askPatiently(path: string, request: Request, body: Uint8Array<ArrayBuffer> | null) {
    for (let tries = 0; ; tries++) {
      const response = await ask(path, request, body);
      if (response.status !== 503 || request.method !== 'GET' || tries === BUSY_RETRIES) return response;
      await response.body?.cancel();
      await pause(clock, random.number() * BUSY_WAIT_MS);
    }
  }

  /** Returns the node's response to a request for estimates, with our fees. */
  async function estimatesFrom(text: string, headers: Headers, body: Uint8Array<ArrayBuffer>) {
    const answer = parsedJson(text);
    const request = parsedJson(new TextDecoder().decode(body));
    const loads = snapshots.read((read) => read.tenures.loads(PAST_TENURES));
    const estimates = withOurFees(answer, request, isQuiet(loads, await limits()));
    const init = { status: 200, headers: headersWithout(headers, ['content-length']) };
    return passedBack(new Response(estimates === null ? text : JSON.stringify(estimates), init));
  }

  return async (request) => {
    const path = pathAndQuery(request.url);
    const route = path.split('?')[0];
    const body = await forwardedBody(request);
    if (body !== null && request.method === 'POST' && route === '/v2/transactions') {
      // Not awaited: only the node's answer counts, and failures of other endpoints are logged.
      void broadcast(body, request.headers.get('content-type') ?? 'application/octet-stream');
    }
    const isEstimate = request.method === 'POST' && route === '/v2/fees/transaction';
    if (!estimatesFees || body === null || !isEstimate) return passedBack(await askPatiently(path, request, body));
    // The response is changed here, so the node must not compress it.
    request.headers.delete('accept-encoding');
    const response = await askPatiently(path, request, body);
    if (response.status !== 200) return passedBack(response);
    return estimatesFrom(await textOf(response), response.headers, body);
  };
}

/** `target` is an endpoint, or the file that names the endpoints. */
export type BroadcastEvent = { event: 'extra_broadcast_failed'; target: string; status?: number; cause?: unknown };

const TIMEOUT_MS = 10_000;

/** Reads the URLs in a file: one per line, `#` starts a comment. The file is read for each broadcast, so it may change. */
async function readEndpoints(file: string, log: (event: BroadcastEvent) => void): Promise<string[]> {
  try {
    const lines = (await Bun.file(file).text()).split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '' && !line.startsWith('#'));
  } catch (cause) {
    log({ event: 'extra_broadcast_failed', target: file, cause });
    return [];
  }
}

/**
 * Sends each broadcast to the endpoints in the file, if there is one. Failures are only logged.
 * @throws OperatorError if the file can't be read at the start
 */
function extraBroadcasts(file: string | null, log: (event: BroadcastEvent) => void) {
  if (file !== null) fileText(file, 'Check --extra-tx-endpoints.');
  async function post(endpoint: string, body: Uint8Array<ArrayBuffer>, contentType: string): Promise<void> {
    // The path and query may contain keys.
    const target = URL.parse(endpoint)?.origin ?? 'not a URL';
    try {
      const headers = { 'content-type': contentType };
      const init: BunFetchRequestInit = { method: 'POST', body, headers, redirect: 'follow' };
      const { ok, status } = await wholeAnswer(endpoint, init, { server: target, timeoutMs: TIMEOUT_MS });
      if (!ok) log({ event: 'extra_broadcast_failed', target, status });
    } catch (cause) {
      log({ event: 'extra_broadcast_failed', target, cause });
    }
  }

  return async (body: Uint8Array<ArrayBuffer>, contentType: string): Promise<void> => {
    if (file === null) return;
    const endpoints = await readEndpoints(file, log);
    await Promise.all(endpoints.map((endpoint) => post(endpoint, body, contentType)));
  };
}

/** A prefix of paths, and the URL that replaces it. */
export interface ProxyPrefix {
  /** The prefix without a trailing slash, such as `/metadata`. */
  prefix: string;
  /** The URL without a trailing slash, such as `http://127.0.0.1:3001/metadata`. */
  url: string;
}

const PREFIX = /^(?:\/[\w.~-]+)+$/;

function parsePrefix(text: string): ProxyPrefix | null {
  const separator = text.indexOf('=');
  const [prefix, target] = [text.slice(0, separator), text.slice(separator + 1)];
  const url = URL.parse(target);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp || url.username !== '' || url.password !== '' || /[?#]/.test(target)) return null;
  if (!PREFIX.test(prefix) || prefix.split('/').some((segment) => /^\.+$/.test(segment))) return null;
  return { prefix, url: url.href.replace(/\/+$/, '') };
}

/**
 * Parses prefixes in the operator's notation, separated by blanks: `/metadata=http://127.0.0.1:3001/metadata`.
 * @returns null if a part is invalid, or a prefix occurs twice
 */
export function parseProxyPrefixes(text: string): ProxyPrefix[] | null {
  const parts = text.split(/\s+/).filter((part) => part !== '');
  const prefixes = parts.map(parsePrefix).filter((prefix) => prefix !== null);
  const isWhole =
    prefixes.length === parts.length && new Set(prefixes.map(({ prefix }) => prefix)).size === parts.length;
  return isWhole ? prefixes : null;
}

export interface PrefixProxyOptions extends ProxyPrefix {
  /** Name of this process in `Via` headers. */
  via: string;
  timeoutMs?: number;
}

/** Forwards requests below a prefix. Appends the path after the prefix to the service's URL. */
export function prefixProxy({ prefix, url, via, timeoutMs }: PrefixProxyOptions): Forward {
  const name = `The service of ${prefix}`;
  const { ask, passedBack } = upstream({ name, url, prefix, via, isOurKey: () => true, timeoutMs });
  return async (request) => {
    const target = pathAndQuery(withPlainPath(request.url));
    return passedBack(await ask(target, request, await forwardedBody(request)));
  };
}
