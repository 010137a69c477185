/** The RPC interface of the simulated node, on a port of the loopback. */
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Listen, type ListenerEvent, listenHttp } from '../../http/listener.ts';
import { stopGracefully } from '../../http/listening.ts';
import type { Block } from '../block.ts';
import type { SimulatedNode } from '../node.ts';
import { accountRoutes } from './account-routes.ts';
import { chainRoutes } from './chain-routes.ts';
import { contractRoutes } from './contract-routes.ts';
import { MAX_RPC_BODY, RpcError, type RpcRoute } from './rpc-route.ts';
import { transactionRoutes } from './transaction-routes.ts';

const routes: readonly RpcRoute[] = [...chainRoutes, ...accountRoutes, ...contractRoutes, ...transactionRoutes];

const text = (status: number, message: string): Response => new Response(message, { status });

/** The parameters of a path, decoded; null where it isn't the route's. */
function paramsOf(pattern: string, path: string): string[] | null {
  const [expected, given] = [pattern.split('/'), path.split('/')];
  if (expected.length !== given.length) return null;
  if (!expected.every((part, at) => part === given[at] || (part === '*' && given[at] !== ''))) return null;
  return given.filter((_, at) => expected[at] === '*').map(decodedPart);
}

function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new RpcError(400, `${part} is not a part of a path`);
  }
}

/** The block that `?tip=` names. @throws RpcError */
function blockAt(node: SimulatedNode, tip: string | null): Block {
  if (tip === null || tip === '' || tip === 'latest') return node.tip;
  if (!/^(0x)?[0-9a-f]{64}$/i.test(tip)) throw new RpcError(400, 'tip is not a block id');
  const block = node.chain.block(`0x${tip.replace(/^0x/, '').toLowerCase()}`);
  if (block === undefined) throw new RpcError(404, 'The block of tip is not kept');
  return block;
}

/** Answers a request to the RPC interface of a node. @throws what no request should cause */
async function answerRpc(node: SimulatedNode, request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url);
  try {
    const found = routes.flatMap((route) => {
      const params = paramsOf(route.path, pathname);
      return params === null ? [] : [{ route, params }];
    });
    const match = found.find(({ route }) => route.method === request.method);
    if (match === undefined) {
      return found.length === 0 ? text(404, 'Not found') : text(405, `Method not allowed: ${request.method}`);
    }
    const { route, params } = match;
    const answer = await route.answer({ node, block: blockAt(node, query.get('tip')), params, query, request });
    return answer instanceof Response ? answer : Response.json(answer);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return text(error.status, error.message);
  }
}

export interface RpcServer {
  /** The URL, without a slash at its end. */
  readonly url: string;
  /** Lets the requests in hand be answered. */
  stop(): Promise<void>;
}

export interface RpcServerOptions {
  readonly clock?: Clock;
  readonly listen?: Listen;
  readonly log: (event: ListenerEvent) => void;
}

const IDLE_SECONDS = 75;

/** Serves the RPC interface of a node on a free port of the loopback. @throws OperatorError where it can't listen */
export function startRpc(
  node: SimulatedNode,
  { clock = systemClock, listen = listenHttp, log }: RpcServerOptions,
): RpcServer {
  const server = listen({
    what: 'The simulated node',
    hostname: '127.0.0.1',
    port: 0,
    bodyLimit: MAX_RPC_BODY,
    idleSeconds: IDLE_SECONDS,
    fetch: (request) => answerRpc(node, request),
    refuse: text,
    log,
  });
  return { url: server.url.origin, stop: () => stopGracefully(server, clock) };
}
