/** A small server in place of a node's RPC interface. */

/** A request that the node received. */
export interface ReceivedRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Headers;
  body: Uint8Array;
  /** Aborted when the client has disconnected. */
  signal: AbortSignal;
}

export interface StandInNode extends Disposable {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** The requests that the server forwarded. It also sends its own requests at any time, such as for the node's tip. */
  readonly forwarded: readonly ReceivedRequest[];
  /** Changes the answer for a path without query; undefined for 404. */
  answer(path: string, response: ((asked: ReceivedRequest) => Response | Promise<Response>) | undefined): void;
}

export const TESTNET_INFO = { network_id: 0x8000_0000, stacks_tip_height: 0, burn_block_height: 0 };

/** A node of the test network. */
export function standInNode(): StandInNode {
  const requests: ReceivedRequest[] = [];
  const answers = new Map<string, (asked: ReceivedRequest) => Response | Promise<Response>>([
    ['/v2/info', () => Response.json(TESTNET_INFO)],
  ]);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers, signal } = request;
      const body = new Uint8Array(await request.arrayBuffer());
      const received: ReceivedRequest = { method, path: pathname + search, headers, signal, body };
      requests.push(received);
      return answers.get(pathname)?.(received) ?? new Response('not here', { status: 404 });
    },
  });
  return {
    url: server.url.origin,
    requests,
    get forwarded() {
      return requests.filter(({ headers }) => headers.has('via'));
    },
    answer(path, response) {
      if (response === undefined) answers.delete(path);
      else answers.set(path, response);
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}
