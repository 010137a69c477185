/** A proxy to the node's RPC interface: requests are forwarded unchanged, and answers are streamed back. */
import { parsedJson } from '../base/json-text.ts';
import type { Forward } from '../http/forward.ts';
import { pathAndQuery } from '../http/request-url.ts';
import { bodyToPassOn, headersWithout, upstream } from '../http/upstream.ts';
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
  /** What this process calls itself in `Via`. */
  via: string;
  /** Settings of fee estimates; null for the node's own estimates. */
  fees: FeeSettings | null;
  /** A file of further URLs to broadcast to. */
  extraEndpointsFile: string | null;
  snapshots: Snapshots;
  log: (event: BroadcastEvent) => void;
}

/** Maximum retries of a read that a busy node answers with 503. */
const BUSY_RETRIES = 10;
const BUSY_WAIT_MS = 50;

/** Passes requests on to the node. */
export function nodeProxy(options: ProxyOptions): Forward {
  const { node, url, bodyLimit, timeoutMs, via, fees, extraEndpointsFile, snapshots, log } = options;
  const limits = tenureLimits(node);
  const broadcast = extraBroadcasts(extraEndpointsFile, log);
  const { ask, passedBack, textOf } = upstream({
    name: 'The node',
    url,
    prefix: '',
    via,
    // The node's own password, which its routes for signers ask for, stands there without a scheme.
    isOurKey: (authorization) => /^Bearer\s/i.test(authorization),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });

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
    const answer = parsedJson(text);
    const request = parsedJson(new TextDecoder().decode(body));
    const loads = await snapshots.read((read) => read.tenures.loads(settings.pastTenures));
    const quiet = isQuiet(loads, await limits(), settings);
    const changed = withFees(answer, request, quiet, settings.modifier);
    const ours = headersWithout(headers, ['content-length']);
    return passedBack(new Response(changed === null ? text : JSON.stringify(changed), { status: 200, headers: ours }));
  }

  return async (request) => {
    const path = pathAndQuery(request.url);
    const route = path.split('?')[0];
    const body = await bodyToPassOn(request, bodyLimit);
    if (body !== null && request.method === 'POST' && route === '/v2/transactions') {
      // Nobody waits for the other endpoints: only the node's own answer counts, and their failures are logged there.
      void broadcast(body, request.headers.get('content-type') ?? 'application/octet-stream');
    }
    // The answer to a request for estimates is read here, so it must not be compressed.
    const estimates = fees !== null && body !== null && request.method === 'POST' && route === '/v2/fees/transaction';
    if (estimates) request.headers.delete('accept-encoding');
    const response = await askPatiently(path, request, body);
    if (!estimates || response.status !== 200) return passedBack(response);
    return withOurFees(await textOf(response), response.headers, body, fees);
  };
}
