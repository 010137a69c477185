/** The API on several threads, and in read-only processes next to one that writes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { StacksApiSocketClient } from '@stacks/blockchain-api-client';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';
import { type Server, startServer } from './stackside.ts';

const events = [...devnetEvents({ seed: 9, blocks: 28, transactionsPerBlock: 2, forkEvery: 8 })];
const half = Math.floor(events.length / 2);
const data = dataDirectory();
const quiet = ['--data', data.path, '--log-level', 'error', '--node-rpc', NO_NODE, '--api-host', '127.0.0.1'];
let writer: Server;
const readers: Server[] = [];

beforeAll(async () => {
  writer = await startServer('serve', ...quiet, '--threads', '3');
  await postEvents(events.slice(0, half), writer.events);
  readers.push(await startServer('serve', ...quiet, '--mode', 'read'));
  readers.push(await startServer('serve', ...quiet, '--mode', 'read', '--threads', '1'));
});
afterAll(async () => {
  for (const server of [...readers, writer]) expect(await server.stop()).toBe(0);
  data[Symbol.dispose]();
});

const PATHS = [
  '/extended',
  '/extended/v3/transactions?limit=50',
  '/extended/v3/blocks/latest/transactions',
  '/extended/v3/mempool/transactions?limit=50',
  '/extended/v3/tokens/stx/holders',
  '/extended/v1/block?limit=30',
  '/extended/v2/burn-blocks',
  '/extended/v2/mempool/fees',
  '/extended/v3/transactions?limit=51',
  '/nope',
];

const answer = async (server: Server, path: string) => {
  const response = await fetch(server.api + path);
  return { status: response.status, etag: response.headers.get('etag'), body: await response.text() };
};

/** Each request opens a new connection, which any of the threads may accept. */
async function answers(server: Server, path: string) {
  const answers = await Promise.all(Array.from({ length: 12 }, () => answer(server, path)));
  return [...new Set(answers.map((item) => JSON.stringify(item)))];
}

async function expectTheSame(): Promise<void> {
  for (const path of PATHS) {
    const [first, ...others] = await answers(writer, path);
    expect(others).toEqual([]);
    for (const reader of readers) expect(await answers(reader, path)).toEqual([first ?? '']);
  }
}

describe('threads, and two processes that only read', () => {
  test('answer the same as the process that writes', expectTheSame);

  test('push to clients of every thread and process, over each transport', async () => {
    const connected = [['websocket'], ['polling'], ['polling', 'websocket']].flatMap((transports) =>
      [writer, writer, writer, writer, readers[0]!].map(({ api }) => {
        const client = new StacksApiSocketClient({ url: api, socketOpts: { transports, forceNew: true } });
        const heard: string[] = [];
        client.subscribeBlocks(({ hash }) => void heard.push(hash));
        return { transports, client, heard };
      }),
    );
    await Promise.all(connected.map(({ client }) => client.socket.emitWithAck('subscribe', 'block')));
    await postEvents(events.slice(half), writer.events);
    const tip = JSON.parse((await answer(writer, '/extended')).body).chain_tip.block_hash;
    await until(() => connected.every(({ heard }) => heard.includes(tip)), 'the tip at each client');
    for (const { transports, heard } of connected) {
      expect({ transports, hasHeardMuch: heard.length > 10 }).toEqual({ transports, hasHeardMuch: true });
    }
    for (const { client } of connected) client.socket.disconnect();
  });

  test('give equal answers after further writes', async () => {
    // The thread that accepts events commits them before it reads. Other threads may see the events some milliseconds
    // later.
    await fetch(`${writer.events}/ready`);
    await expectTheSame();
    const { body } = await answer(readers[0]!, '/extended');
    expect(JSON.parse(body)).toMatchObject({ chain_tip: { block_height: 28 } });
  });

  test('count their requests together', async () => {
    const key = 'http_request_duration_seconds_count{method="GET",route="/extended",status_code="200"}';
    const count = async () => (await metricOf(writer.api, key)) || 0;
    const before = await count();
    await answers(writer, '/extended');
    expect((await count()) - before).toBe(12);
  });

  test('a process that only reads accepts no events', () => {
    expect(readers.map(({ events: url }) => url)).toEqual([null, null] as never);
  });
});
