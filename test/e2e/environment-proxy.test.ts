/** A proxy in the environment receives no requests between threads, to nodes or to receivers. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { definition, filtersOf, receiver } from '../hooks/server.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { standInNode, TESTNET_INFO } from '../support/servers/stand-in-node.ts';
import { type Environment, type Server, stacksideIn, startServerIn } from './stackside.ts';

const KEY = 'a-key-of-some-length-to-be-a-key';
const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
const directory = dataDirectory();
const node = standInNode();
const other = standInNode();
const bitcoin = standInNode();
const target = receiver();
/** Rejected as soon as the proxy receives a request, with its first line. */
const captured = Promise.withResolvers<never>();
const proxy = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    data(socket, bytes) {
      captured.reject(new Error(`the proxy got ${bytes.toString().split('\r\n')[0]}`));
      socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
    },
  },
});
const proxyUrl = `http://127.0.0.1:${proxy.port}`;
const environment: Environment = {
  HTTP_PROXY: proxyUrl,
  http_proxy: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  https_proxy: proxyUrl,
  ALL_PROXY: proxyUrl,
  NO_PROXY: '',
  no_proxy: '',
  STACKSIDE_HOOK_KEY: KEY,
};
let server: Server;

beforeAll(async () => {
  node.answer('/v2/transactions', () => Response.json('ab'.repeat(32)));
  await Bun.write(join(directory.path, 'keys'), `me ${KEY}\n`);
  await Bun.write(join(directory.path, 'endpoints'), `${other.url}/v2/transactions\n`);
  const variables = {
    STACKSIDE_FAUCET_KEYS: '11'.repeat(32),
    STACKSIDE_BTC_RPC: bitcoin.url.replace('://', '://user:secret@'),
    STACKSIDE_BTC_FAUCET_KEY: '33'.repeat(32),
  };
  server = await startServerIn(
    { ...environment, ...variables },
    'serve',
    ...['--data', join(directory.path, 'data'), '--network', 'testnet', '--log-level', 'silent'],
    ...['--threads', '1', '--api-host', '127.0.0.1', '--node-rpc', node.url],
    ...['--hook-keys', join(directory.path, 'keys'), '--hook-targets', '127.0.0.0/8'],
    ...['--extra-tx-endpoints', join(directory.path, 'endpoints')],
  );
});
afterAll(async () => {
  await server.stop();
  proxy.stop(true);
  for (const used of [node, other, bitcoin, target, directory]) used[Symbol.dispose]();
});

const status = async (method: string, path: string, body?: string): Promise<number> =>
  (await fetch(server.api + path, { method, ...(body === undefined ? {} : { body }) })).status;

test('between threads, to the node, to a Bitcoin node and to receivers, everything goes directly', async () => {
  await Promise.race([everything(), captured.promise]);
});

async function everything(): Promise<void> {
  await postEvents(devnetEvents({ seed: 1, blocks: 3 }), server.events);

  // Requests that the thread forwards to the main thread, and requests that the main thread sends itself.
  expect(await status('GET', '/metrics')).toBe(200);
  await fetch(`${server.api}/extended/v1/faucets/stx?address=${ADDRESS}`, { method: 'POST' });
  await fetch(`${server.api}/extended/v1/faucets/btc/mqkhEMH6NCeYjFybv7pvFC22MFeaNT9AQC`);
  expect(bitcoin.requests.length).toBeGreaterThan(0);

  // The thread's request to the node.
  const requested = Promise.withResolvers<void>();
  other.answer('/v2/transactions', () => {
    requested.resolve();
    return Response.json('ab'.repeat(32));
  });
  expect(await status('GET', '/v2/info')).toBe(200);
  expect(await status('POST', '/v2/transactions', 'transaction')).toBe(200);
  await requested.promise;
  expect(await status('GET', '/ready')).toBe(200);
  expect(new Set(node.requests.map(({ path }) => path))).toContain('/v2/transactions');
  expect(await (await fetch(`${server.api}/v2/info`)).json()).toEqual(TESTNET_INFO);

  // A command that calls the server, and a delivery.
  const hook = definition(target.url, filtersOf('tenure_change', 'coinbase', 'stx_event'));
  await Bun.write(join(directory.path, 'hook.json'), JSON.stringify(hook));
  const command = (...args: string[]) => stacksideIn(environment, 'hooks', ...args, '--url', server.api);
  const added = await command('add', join(directory.path, 'hook.json'));
  expect([added.code, added.stderr]).toEqual([0, '']);
  const tested = await command('test', JSON.parse(added.stdout).uuid, '--json');
  expect(JSON.parse(tested.stdout)).toMatchObject({ ok: true, status_code: 200 });
}
