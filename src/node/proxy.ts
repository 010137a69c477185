/** A proxy to the node's RPC interface: requests are forwarded unchanged, and answers are streamed back. */
import { directFetch } from '../http/direct-fetch.ts';
import { ApiError } from '../http/errors.ts';
import type { Forward } from '../http/forward.ts';
import { BodyError, bodyBytes } from '../http/request-body.ts';
import { pathAndQuery } from '../http/request-url.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { type BroadcastEvent, extraBroadcasts } from './broadcast.ts';
import { type FeeSettings, isQuiet, tenureLimits, withFees } from './fee-estimates.ts';
import type { NodeRpc } from './rpc.ts';

export interface ProxyOptions {
  node: NodeRpc;
  /** The URL of the node's RPC interface, without a slash at its end. */
  url: string;
  /** Largest body of a request, in bytes. */
  bodyLimit: number;
  /** Milliseconds until the node must have begun to answer. */
  timeoutMs?: number;
  /** Settings of fee estimates; null for the node's own estimates. */
  fees: FeeSettings | null;
  /** A file of further URLs to broadcast to. */
  extraEndpointsFile: string | null;
  snapshots: Snapshots;
  log: (event: BroadcastEvent) => void;
}

export const NODE_TIMEOUT_MS = 60_000;

/** Hop-by-hop headers, which a proxy doesn't forward (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Request headers that are not forwarded: host and length are set anew, and cookies are not meant for nodes. */
const NOT_FORWARDED = [...HOP_BY_HOP, 'host', 'content-length', 'cookie', 'expect'];

function without(headers: Headers, names: readonly string[]): Headers {
  const left = new Headers(headers);
  for (const name of [...names, ...(headers.get('connection')?.split(',') ?? [])]) {
    // What a neighbour names may be no header's name.
    if (/^[\w-]+$/.test(name.trim())) left.delete(name.trim());
  }
  return left;
}

/** Maximum retries of a read that a busy node answers with 503. */
const BUSY_RETRIES = 10;
const BUSY_WAIT_MS = 50;

/** The body of a request. @param limit in bytes @throws ApiError where it is too large or incomplete */
async function bodyOf(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await bodyBytes(request, limit);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    const words = error.reason === 'too_large' ? 'Request body is too large' : 'Request body is not complete';
    throw new ApiError(error.status, words);
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** Passes requests on to the node. */
export function nodeProxy(options: ProxyOptions): Forward {
  const { node, url, bodyLimit, timeoutMs = NODE_TIMEOUT_MS, fees, extraEndpointsFile, snapshots, log } = options;
  const limits = tenureLimits(node);
  const broadcast = extraBroadcasts(extraEndpointsFile, log);

  async function ask(path: string, request: Request, body: Uint8Array<ArrayBuffer> | null): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), timeoutMs);
    try {
      return await directFetch(url + path, {
        method: request.method,
        headers: without(request.headers, NOT_FORWARDED),
        body: body === null || body.length === 0 ? null : body,
        redirect: 'manual',
        // As it is on the wire: the client is told of the encoding.
        decompress: false,
        signal: AbortSignal.any([late.signal, request.signal]),
      });
    } finally {
      // A body may take longer than its beginning.
      clearTimeout(timer);
    }
  }

  async function askPatiently(path: string, request: Request, body: Uint8Array<ArrayBuffer> | null) {
    for (let tries = 0; ; tries++) {
      const response = await ask(path, request, body);
      if (response.status !== 503 || request.method !== 'GET' || tries === BUSY_RETRIES) return response;
      await response.body?.cancel();
      await Bun.sleep(Math.random() * BUSY_WAIT_MS);
    }
  }

  /** The node's estimates, or the minimum fee while tenures are not full. */
  async function withOurFees(text: string, headers: Headers, body: Uint8Array<ArrayBuffer>, settings: FeeSettings) {
    const answer = parsed(text);
    const request = parsed(new TextDecoder().decode(body));
    const loads = await snapshots.read((read) => read.tenures.loads(settings.pastTenures));
    const quiet = isQuiet(loads, await limits(), settings);
    const changed = withFees(answer, request, quiet, settings.modifier);
    const ours = without(headers, [...HOP_BY_HOP, 'content-length']);
    return new Response(changed === null ? text : JSON.stringify(changed), { status: 200, headers: ours });
  }

  return async (request) => {
    const path = pathAndQuery(request.url);
    const route = path.split('?')[0];
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const body = hasBody ? await bodyOf(request, bodyLimit) : null;
    if (body !== null && request.method === 'POST' && route === '/v2/transactions') {
      // Not waited for: it never fails, and only the node's own answer counts.
      void broadcast(body, request.headers.get('content-type') ?? 'application/octet-stream');
    }
    // Its answer is read here, so it must not be compressed.
    const estimates = fees !== null && body !== null && request.method === 'POST' && route === '/v2/fees/transaction';
    if (estimates) request.headers.delete('accept-encoding');
    let response: Response;
    let estimate: string | null;
    try {
      response = await askPatiently(path, request, body);
      estimate = estimates && response.status === 200 ? await response.text() : null;
    } catch (error) {
      throw isTimeout(error)
        ? new ApiError(504, 'The node did not answer in time')
        : new ApiError(502, 'The node can not be reached');
    }
    const { status, headers } = response;
    if (estimates && estimate !== null) return withOurFees(estimate, headers, body, fees);
    return new Response(response.body, { status, headers: without(headers, HOP_BY_HOP) });
  };
}
