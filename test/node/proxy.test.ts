/** The node's routes through the server, with a small fake node. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  broadcastTransaction,
  Cl,
  fetchCallReadOnlyFunction,
  fetchFeeEstimateTransaction,
  fetchNonce,
  getAddressFromPrivateKey,
  makeContractCall,
  makeSTXTokenTransfer,
  serializePayload,
} from '@stacks/transactions';
import { type Clock, systemClock, systemRandom } from '../../src/base/clock.ts';
import { nodeProxy } from '../../src/node/proxy.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { serving } from '../support/servers/serving.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';
import { until } from '../support/time/until.ts';

const KEY = 'f9d7206a47f14d2870c163ebab4bf3e70d18f5d14ce1031f3902fbbc894fe4c701';
const ADDRESS = getAddressFromPrivateKey(KEY, 'testnet');
const TX_ID = 'ab'.repeat(32);
const directory = dataDirectory();
const endpoints = join(directory.path, 'endpoints');
const [node, other] = [standInNode(), standInNode()];
await Bun.write(endpoints, '');
const server = await serving({ nodeRpc: node.url, extraTxEndpoints: endpoints });
const client = { network: 'testnet' as const, client: { baseUrl: server.api } };
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const used of [node, other, directory]) used[Symbol.dispose]();
});

/**
 * Copies of one broadcast that the additional endpoint received. An earlier broadcast may read the list of endpoints
 * only now.
 */
const broadcastOf = (sent: Uint8Array) => other.requests.filter(({ body }) => Buffer.compare(body, sent) === 0);

const transfer = () =>
  makeSTXTokenTransfer({ recipient: ADDRESS, amount: 5n, senderKey: KEY, network: 'testnet', fee: 200n, nonce: 0n });

describe('@stacks/transactions through the server', () => {
  test('broadcasts a transaction as JSON', async () => {
    node.answer('/v2/transactions', () => Response.json(TX_ID));
    const transaction = await transfer();
    expect(await broadcastTransaction({ transaction, ...client })).toEqual({ txid: TX_ID });
    const request = node.forwarded.at(-1)!;
    expect([request.method, request.path]).toEqual(['POST', '/v2/transactions']);
    expect(JSON.parse(new TextDecoder().decode(request.body))).toEqual({ tx: transaction.serialize() });
  });

  test('receives the reason for a rejected transaction, byte for byte', async () => {
    const text = `{"error":"transaction rejected", "reason":"BadNonce","reason_data":{"expected":1,"actual":0,"is_origin":true,"principal":"${ADDRESS}"},"txid":"${TX_ID}"}`;
    node.answer('/v2/transactions', () => new Response(text, { status: 400 }));
    const response = await server.get('/v2/transactions', { method: 'POST', body: new Uint8Array([0, 1, 2]) });
    expect([response.status, await response.text()]).toEqual([400, text]);
    const rejected = await broadcastTransaction({ transaction: await transfer(), ...client });
    expect(rejected).toMatchObject({ reason: 'BadNonce', txid: TX_ID });
  });

  test('estimates fees', async () => {
    const estimations = [10, 20, 30].map((fee) => ({ fee, fee_rate: 1.5 }));
    node.answer('/v2/fees/transaction', () => Response.json({ cost_scalar_change_by_byte: 0.1, estimations }));
    const payload = serializePayload((await transfer()).payload);
    expect(await fetchFeeEstimateTransaction({ payload, estimatedLength: 180, ...client })).toMatchObject(estimations);
  });

  test('reads contracts', async () => {
    node.answer('/v2/contracts/call-read/ST000000000000000000002AMW42H/pox-4/get', () =>
      Response.json({ okay: true, result: Cl.serialize(Cl.uint(7)) }),
    );
    const value = await fetchCallReadOnlyFunction({
      contractAddress: 'ST000000000000000000002AMW42H',
      contractName: 'pox-4',
      functionName: 'get',
      functionArgs: [],
      senderAddress: ADDRESS,
      ...client,
    });
    expect(value).toEqual(Cl.uint(7));
  });

  test('reads the nonce, then builds and broadcasts a contract call', async () => {
    node.answer(`/v2/accounts/${ADDRESS}`, () => Response.json({ nonce: 9, balance: '0x00', locked: '0x00' }));
    expect(await (await server.get(`/v2/accounts/${ADDRESS}?proof=0`)).json()).toMatchObject({ nonce: 9 });
    node.answer('/v2/contracts/interface/ST000000000000000000002AMW42H/pox-4', () => Response.json({ functions: [] }));
    node.answer('/v2/transactions', () => Response.json(TX_ID));
    expect(await fetchNonce({ address: ADDRESS, ...client })).toBe(0n);
    const transaction = await makeContractCall({
      contractAddress: 'ST000000000000000000002AMW42H',
      contractName: 'pox-4',
      functionName: 'get',
      functionArgs: [],
      senderKey: KEY,
      fee: 300n,
      ...client,
    });
    expect(transaction.auth.spendingCondition.nonce).toBe(0n);
    expect(await broadcastTransaction({ transaction, ...client })).toEqual({ txid: TX_ID });
  });
});

describe('the proxy', () => {
  test('forwards query, method, body and headers, but no cookies or hop-by-hop headers', async () => {
    node.answer('/v2/anything', () => new Response('made', { status: 201, headers: { 'x-from': 'node' } }));
    const response = await server.get('/v2/anything?a=1&b=%20x', {
      method: 'PUT',
      body: 'text',
      headers: { 'content-type': 'text/plain', authorization: 'secret', cookie: 'a=b', te: 'trailers' },
    });
    expect([response.status, await response.text()]).toEqual([201, 'made']);
    expect(response.headers.get('x-from')).toBe('node');
    const { method, path, headers, body } = node.forwarded.at(-1)!;
    expect([method, path, new TextDecoder().decode(body)]).toEqual(['PUT', '/v2/anything?a=1&b=%20x', 'text']);
    expect(headers.get('content-type')).toBe('text/plain');
    expect(headers.get('authorization')).toBe('secret');
    expect(headers.get('host')).toBe(new URL(node.url).host);
    for (const name of ['cookie', 'te']) expect(headers.has(name)).toBe(false);
  });

  test("removes this server's keys and cookies, and sandboxes the node's pages", async () => {
    node.answer('/v2/page', () => {
      const headers = { 'set-cookie': 'stackside_session_1=x', 'clear-site-data': '"cookies"' };
      return new Response('<script>', { headers: { ...headers, 'content-type': 'text/html' } });
    });
    const { headers } = await server.get('/v2/page', {
      headers: { authorization: 'Bearer key', 'x-api-key': 'key', cookie: 'a=b', 'x-chainhook-consumer': 'me' },
    });
    const received = node.forwarded.at(-1)!.headers;
    for (const name of ['authorization', 'x-api-key', 'cookie', 'x-chainhook-consumer', 'x-stackside-peer']) {
      expect([name, received.get(name)]).toEqual([name, null]);
    }
    for (const name of ['set-cookie', 'clear-site-data']) expect([name, headers.get(name)]).toEqual([name, null]);
    expect(headers.get('content-security-policy')).toBe('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('adds headers that the node did not send', async () => {
    node.answer('/v2/cors', () => new Response('', { headers: { 'access-control-allow-origin': 'https://one' } }));
    const { headers } = await server.get('/v2/cors');
    expect(headers.get('access-control-allow-origin')).toBe('https://one');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-api-version')).toStartWith('stackside v');
  });

  test('forwards /v3 and the bare prefixes', async () => {
    for (const path of ['/v3/health', '/v3', '/v2']) {
      node.answer(path, () => Response.json({ path }));
      expect(await (await server.get(path)).json()).toEqual({ path });
    }
  });

  test('forwards HEAD', async () => {
    node.answer('/v2/info-text', () => new Response('12345'));
    const response = await server.get('/v2/info-text', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(node.forwarded.at(-1)?.method).toBe('HEAD');
  });

  test('streams a response while it arrives', async () => {
    const gate = Promise.withResolvers<void>();
    node.answer('/v2/stream', () => {
      async function* parts() {
        yield 'first';
        await gate.promise;
        yield 'second';
      }
      return new Response(parts() as never);
    });
    const reader = (await server.get('/v2/stream')).body!.getReader();
    const decoder = new TextDecoder();
    expect(decoder.decode((await reader.read()).value)).toBe('first');
    gate.resolve();
    expect(decoder.decode((await reader.read()).value)).toBe('second');
    expect((await reader.read()).done).toBe(true);
  });

  test('returns a compressed response unchanged', async () => {
    const compressed = Bun.gzipSync('hello');
    node.answer('/v2/gzip', () => new Response(compressed, { headers: { 'content-encoding': 'gzip' } }));
    const response = await server.get('/v2/gzip', { decompress: false } as RequestInit);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array(compressed));
  });

  test('answers a preflight itself', async () => {
    const before = node.forwarded.length;
    const headers = { origin: 'https://wallet', 'access-control-request-method': 'POST' };
    expect((await server.get('/v2/transactions', { method: 'OPTIONS', headers })).status).toBe(204);
    expect(node.forwarded.length).toBe(before);
  });

  test('retries a read if the node is busy', async () => {
    let times = 0;
    node.answer('/v2/busy', () => (++times < 4 ? new Response('busy', { status: 503 }) : new Response('done')));
    const response = await server.get('/v2/busy');
    expect([response.status, await response.text(), times]).toEqual([200, 'done', 4]);
    // The waits are those of the server's clock and random numbers.
    const waits: number[] = [];
    const clock: Clock = {
      ...systemClock,
      after(milliseconds, end) {
        waits.push(milliseconds);
        queueMicrotask(end);
        return () => {};
      },
    };
    times = 0;
    using snapshots = snapshotsOf(server.directory);
    const options = { via: 'test', estimatesFees: false, extraEndpointsFile: null, log: () => {} };
    const random = { number: () => 0.5 };
    const proxy = nodeProxy({ ...options, clock, random, url: node.url, node: nodeRpc(node.url), snapshots });
    expect((await proxy(new Request('http://api/v2/busy'))).status).toBe(200);
    expect(waits).toEqual([25, 25, 25]);
  });

  test('sends a broadcast only once, even if the node is busy', async () => {
    await Bun.write(endpoints, `${other.url}/once\n`);
    node.answer('/v2/transactions', () => new Response('busy', { status: 503 }));
    const before = node.forwarded.length;
    const body = new Uint8Array([1, 2, 3]);
    const response = await server.get('/v2/transactions', { method: 'POST', body });
    expect([response.status, await response.text()]).toEqual([503, 'busy']);
    await until(() => broadcastOf(body).length > 0, 'the request to the further endpoint');
    expect(node.forwarded.length).toBe(before + 1);
    expect(broadcastOf(body).map(({ path }) => path)).toEqual(['/once']);
    await Bun.write(endpoints, '');
    node.answer('/v2/transactions', () => Response.json(TX_ID));
  });

  test('returns a redirect of the node without following it', async () => {
    node.answer('/v2/moved', () => new Response(null, { status: 307, headers: { location: '/v2/there' } }));
    node.answer('/v2/there', () => new Response('there'));
    node.answer('/v2/far', () => new Response(null, { status: 307, headers: { location: `${node.url}/v2/there` } }));
    expect((await server.get('/v2/far')).headers.get('location')).toBe('/v2/there');
    const before = node.forwarded.length;
    for (const init of [{}, { method: 'POST', body: 'x' }]) {
      const response = await server.get('/v2/moved', init);
      expect([response.status, response.headers.get('location')]).toEqual([307, '/v2/there']);
    }
    const response = await nodeRpc(node.url).request('/v2/moved');
    expect([response.status, await response.text()]).toEqual([307, '']);
    expect(node.forwarded.length).toBe(before + 2);
  });

  test('handles a request whose client disconnects', async () => {
    const [arrival, departure] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    node.answer('/v2/endless', async ({ signal }) => {
      signal.addEventListener('abort', () => departure.resolve());
      arrival.resolve();
      await departure.promise;
      return new Response('nobody reads this');
    });
    const client = new AbortController();
    const answer = server.get('/v2/endless', { signal: client.signal });
    await arrival.promise;
    client.abort();
    await expect(answer).rejects.toThrow();
    await departure.promise;
  });

  test('does not forward indexed routes', async () => {
    const before = node.forwarded.length;
    expect((await server.get('/extended/v2/blocks')).status).toBe(200);
    expect((await server.get('/v1/nothing')).status).toBe(404);
    expect(node.forwarded.length).toBe(before);
  });
});

describe('failures', () => {
  test("a node that can't be reached is 502, without its address", async () => {
    await using alone = await serving();
    const response = await alone.get('/v2/info');
    expect(response.status).toBe(502);
    const message = "The node can't be reached";
    expect(await response.json()).toEqual({ statusCode: 502, error: 'Bad Gateway', message });
  });

  test('a node or a service that answers with a status that HTTP does not have is 502', async () => {
    let status = '';
    using odd = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.end(`HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nhi`) },
    });
    const url = `http://127.0.0.1:${odd.port}`;
    await using odder = await serving({ nodeRpc: url, proxyPrefix: `/odd=${url}` });
    for (status of ['000', '099', '600', '999']) {
      for (const [path, name] of [
        ['/v2/info', 'The node'],
        ['/odd/x', 'The service of /odd'],
      ] as const) {
        const response = await odder.get(path);
        const message = `${name} answered with the status ${Number(status)}, which HTTP doesn't have`;
        expect([response.status, await response.json()]).toEqual([502, expect.objectContaining({ message })]);
      }
    }
  });

  test('a node that does not answer in time is 504', async () => {
    const options = { timeoutMs: 30, via: 'test', estimatesFees: false, extraEndpointsFile: null, log: () => {} };
    const end = Promise.withResolvers<void>();
    node.answer('/v2/slow', () => end.promise.then(() => new Response('late')));
    using snapshots = snapshotsOf(server.directory);
    const time = { clock: systemClock, random: systemRandom };
    const proxy = nodeProxy({ ...options, ...time, url: node.url, node: nodeRpc(node.url), snapshots });
    await expect(proxy(new Request('http://api/v2/slow'))).rejects.toMatchObject({ status: 504 });
    end.resolve();
  });

  test('a body over the limit is 413', async () => {
    const before = node.forwarded.length;
    const response = await server.get('/v2/transactions', { method: 'POST', body: new Uint8Array(10_000_001) });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ message: 'Request body is too large' });
    const allowed = await server.get('/v2/transactions', { method: 'POST', body: new Uint8Array(10_000_000) });
    expect(allowed.status).toBe(200);
    expect(node.forwarded.length).toBe(before + 1);
    expect(node.forwarded.at(-1)?.body.length).toBe(10_000_000);
  });
});

describe('further endpoints of a broadcast', () => {
  test('refuses to start if the file with the endpoints is missing', async () => {
    const missing = join(directory.path, 'missing');
    await expect(serving({ extraTxEndpoints: missing })).rejects.toThrow(`${missing} doesn't exist.`);
  });

  test('get the same bytes, even if some of them fail', async () => {
    await Bun.write(endpoints, `# ours\n\n${other.url}/push?key=1\nhttp://127.0.0.1:1/gone\n`);
    other.answer('/push', () => new Response('no', { status: 400 }));
    const body = new Uint8Array([9, 8, 7]);
    const response = await server.get('/v2/transactions', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/octet-stream' },
    });
    expect(await response.json()).toBe(TX_ID);
    await until(() => broadcastOf(body).length > 0, 'the request to the further endpoint');
    expect(broadcastOf(body)).toMatchObject([{ method: 'POST', path: '/push?key=1' }]);
  });
});
