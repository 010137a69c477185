/** A simulated node's RPC interface without a socket. Tests can change its answers. */

import { exactJson } from '../../../src/base/json.ts';
import { parseJson } from '../../../src/chain/payload-reader.ts';
import { fromHex } from '../../../src/codec/hex.ts';
import type { SimulatedChain } from '../../../src/devnet/chain.ts';
import { answerRpc, type ServedNode } from '../../../src/devnet/rpc.ts';
import type { NodeRpc } from '../../../src/node/rpc.ts';
import { impatientClock } from '../time/impatient-clock.ts';

/** Changes an answer, as a faulty node would; returns the answer itself if it stays correct. */
export type Lie = (url: URL, answer: Response) => Response | Promise<Response>;

export const honest: Lie = (_, answer) => answer;

/** Changes only successful answers from paths that match. */
export const on =
  (path: RegExp, lie: Lie): Lie =>
  (url, answer) =>
    path.test(url.pathname) && answer.ok ? lie(url, answer) : answer;

/** Changes the JSON of an answer. */
export async function edit<Body>(answer: Response, change: (body: Body) => void): Promise<Response> {
  const body = parseJson(await answer.text());
  change(body as Body);
  return new Response(exactJson(body), { status: answer.status });
}

/** A node without a socket. */
export function rpcOf(
  node: ServedNode,
  lie: Lie = honest,
  info: Partial<Awaited<ReturnType<NodeRpc['info']>>> = {},
): NodeRpc {
  return {
    location: 'http://node',
    async request(path, init) {
      const request = new Request(`http://node${path}`, init);
      return lie(new URL(request.url), await answerRpc(node, request));
    },
    json: () => Promise.reject(new Error('nobody asks this')),
    info: async () => ({
      chainId: node.chain.network.chainId,
      height: node.tip.height,
      burnBlockHeight: node.tip.burnView.height,
      indexBlockHash: fromHex(node.tip.indexBlockHash),
      ...info,
    }),
  };
}

export const served = (chain: SimulatedChain): ServedNode => ({
  chain,
  tip: chain.tip,
  submit: () => Promise.reject(new Error('no transaction is sent')),
});

/** Requests without waits. */
export const atOnce = { rate: 1_000_000, clock: impatientClock };
