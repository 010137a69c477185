/** The published clients, unchanged, over a chain that grows and forks while they are connected. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { connectWebSocketClient, StacksApiSocketClient } from '@stacks/blockchain-api-client';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { RpcConnection } from '../../src/live/websocket.ts';
import { type Typed, typeErrors } from '../client/type-check.ts';
import { alice, announcement, transfer } from '../support/events/handmade.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const START_HEIGHT = 12;
const events = [...devnetEvents({ seed: 23, blocks: 28, transactionsPerBlock: 8, forkEvery: 6, forkDepth: 3 })];

interface BlockBody {
  block_height: number;
  index_block_hash: string;
  block_hash: string;
  transactions: { txid: string; raw_tx: string }[];
  events: Record<string, unknown>[];
}
const bodyOf = (event: NodeEvent): BlockBody => JSON.parse(event.body);
const isBlock = ({ path }: NodeEvent): boolean => path === '/new_block';
const begin = events.findIndex((event) => isBlock(event) && bodyOf(event).block_height === START_HEIGHT) + 1;
const toCome = events.slice(begin);
const blocksToCome = toCome.filter(isBlock).map(bodyOf);

const nftsToCome = blocksToCome.flatMap((block) =>
  block.events.flatMap((event) => Object.values(event).filter((value) => isNft(value))),
) as Record<'asset_identifier' | 'raw_value', string>[];
function isNft(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'asset_identifier' in value && 'raw_value' in value;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at member by member.
type Json = any;
/** The messages pushed to a client, by topic. */
type Heard = Record<string, Json[]>;

interface Listener {
  heard: Heard;
  /** Resolves after the client has answered the next ping, or the last one. */
  answered(): Promise<void>;
  end(): void;
}

/** Subscribes to everything with one client, on one connection. */
type Listen = (url: string, subjects: Subjects) => Promise<Listener>;

interface Subjects {
  txIds: string[];
  addresses: string[];
  asset: string;
  value: string;
}

const nothing = (): Heard => ({
  block: [],
  microblock: [],
  mempool: [],
  transaction: [],
  'address-transaction': [],
  'address-stx-balance': [],
  'nft-event': [],
  'nft-asset-event': [],
  'nft-collection-event': [],
});

const overWebSocket: Listen = async (url, { txIds, addresses, asset, value }) => {
  const client = await connectWebSocketClient(url.replace('http', 'ws'));
  const heard = nothing();
  const hear = (topic: string) => (update: Json) => void heard[topic]?.push(update);
  await client.subscribeBlocks(hear('block'));
  await client.subscribeMicroblocks(hear('microblock'));
  await client.subscribeMempool(hear('mempool'));
  for (const id of txIds) await client.subscribeTxUpdates(id, hear('transaction'));
  for (const address of addresses) {
    await client.subscribeAddressTransactions(address, hear('address-transaction'));
    await client.subscribeAddressBalanceUpdates(address, hear('address-stx-balance'));
  }
  await client.subscribeNftEventUpdates(hear('nft-event'));
  await client.subscribeNftAssetEventUpdates(asset, value, hear('nft-asset-event'));
  await client.subscribeNftCollectionEventUpdates(asset, hear('nft-collection-event'));
  const pongs = spyOn(RpcConnection.prototype, 'receivedControlFrame');
  let answers = 0;
  return {
    heard,
    async answered() {
      answers++;
      await until(() => pongs.mock.calls.length === answers, 'the pong');
    },
    end() {
      pongs.mockRestore();
      client.webSocket.close();
    },
  };
};

/** Uses the transports that the client should use. */
const overSocketIo =
  (transports: string[]): Listen =>
  async (url, { txIds, addresses, asset, value }) => {
    const client = new StacksApiSocketClient({ url, socketOpts: { transports, forceNew: true } });
    const heard = nothing();
    const hear = (topic: string) => (update: Json) => void heard[topic]?.push(update);
    await new Promise<void>((resolve, reject) => {
      client.socket.on('connect', () => resolve());
      client.socket.on('connect_error', reject);
    });
    client.subscribeBlocks(hear('block'));
    client.subscribeMicroblocks(hear('microblock'));
    client.subscribeMempool(hear('mempool'));
    for (const id of txIds) client.subscribeTransaction(id, hear('transaction'));
    for (const address of addresses) {
      client.subscribeAddressTransactions(address, (subject, update: Json) =>
        heard['address-transaction']?.push({ address: subject, ...update }),
      );
      client.subscribeAddressStxBalance(address, (subject, update: Json) =>
        heard['address-stx-balance']?.push({ address: subject, ...update }),
      );
    }
    client.subscribeNftEvent(hear('nft-event'));
    client.subscribeNftAssetEvent(asset, value, (_asset, _value, event) => heard['nft-asset-event']?.push(event));
    client.subscribeNftCollectionEvent(asset, (_asset, event) => heard['nft-collection-event']?.push(event));
    // The server answers this after it has processed the earlier messages.
    await client.socket.emitWithAck('subscribe', 'block');
    return {
      heard,
      answered: () => new Promise((resolve) => client.socket.io.once('ping', resolve)),
      end: () => void client.socket.disconnect(),
    };
  };

const clients: [name: string, listen: Listen][] = [
  ['connectWebSocketClient', overWebSocket],
  ['StacksApiSocketClient', overSocketIo(['websocket'])],
  ['StacksApiSocketClient by long polling', overSocketIo(['polling'])],
  ['StacksApiSocketClient, polling at first', overSocketIo(['polling', 'websocket'])],
];

let nonce = 0;
/**
 * Announces a transaction, and waits until all clients receive it. By then they have received every earlier message.
 */
async function allNotified(listeners: readonly Heard[]): Promise<void> {
  const marker = transfer(alice, nonce++, 400);
  const { path, text } = announcement([marker]);
  await server.post([{ path, body: text, time: 0 }]);
  const isNotified = ({ mempool }: Heard) => mempool?.some(({ tx_id }) => tx_id === marker.id) === true;
  await until(() => listeners.every(isNotified), 'the last announcement');
}

/** Returns the chain's blocks that were announced while the clients listened, in the API's format. */
async function newBlocks(): Promise<Json[]> {
  const announced = new Set(blocksToCome.map(({ index_block_hash }) => index_block_hash));
  const heights = [...new Set(blocksToCome.map(({ block_height }) => block_height))];
  const blocks = await Promise.all(heights.map((height) => get(`/extended/v1/block/by_height/${height}`)));
  return blocks.filter(({ index_block_hash }) => announced.has(index_block_hash));
}

/** Milliseconds between two pings to a client. */
const PING_MS = 1_000;
/** The server pings WebSockets with it, and Socket.IO clients with a separate timer. */
const clock = heldClock([PING_MS]);
let server: Serving;
const heardBy = new Map<string, Heard>();
const ends: (() => void)[] = [];
let subjects: Subjects;
/** Paths of pushed objects that could not be read at that moment. */
const unreadable: string[] = [];

const get = async (path: string): Promise<Json> => (await server.get(path)).json();
const connect = () => connectWebSocketClient(server.api.replace('http', 'ws'));

/** Posts the blocks from before the clients connect. Clients that connect after this receive none of them. */
async function postHistory(): Promise<void> {
  const first = await connect();
  const heard = nothing();
  await first.subscribeMempool((tx) => void heard.mempool?.push(tx));
  await server.post(events.slice(0, begin));
  await allNotified([heard]);
  first.webSocket.close();
}

/** Another client, which requests each object as soon as it is pushed. */
async function listenAndRead(): Promise<{ heard: Heard; checks: Promise<void>[] }> {
  const reader = await connect();
  const heard = nothing();
  const checks: Promise<void>[] = [];
  const check = async (path: string) => {
    if ((await server.get(path)).status !== 200) unreadable.push(path);
  };
  await reader.subscribeBlocks(({ hash }) => void checks.push(check(`/extended/v1/block/${hash}`)));
  await reader.subscribeMempool((tx: Json) => {
    heard.mempool?.push(tx);
    checks.push(check(`/extended/v1/tx/${tx.tx_id}`));
  });
  ends.push(() => reader.webSocket.close());
  return { heard, checks };
}

beforeAll(async () => {
  const environment = { clock, clientLimits: { pingIntervalMs: PING_MS } };
  server = await serving({ logLevel: 'error' }, undefined, {}, environment);
  await postHistory();
  const holders = await get('/extended/v3/tokens/stx/holders?limit=50');
  const people = holders.results.map(({ principal }: Json) => principal).filter((id: string) => !id.includes('.'));
  const txIds = blocksToCome.flatMap(({ transactions }) => transactions.slice(0, 3).map(({ txid }) => txid));
  const { asset_identifier: asset, raw_value: value } = nftsToCome[0]!;
  subjects = { txIds: [...new Set(txIds)].slice(0, 40), addresses: people.slice(0, 4), asset, value };
  const listeners: Listener[] = [];
  for (const [name, listen] of clients) {
    const listener = await listen(server.api, subjects);
    listeners.push(listener);
    heardBy.set(name, listener.heard);
    ends.push(listener.end);
  }
  // A client that doesn't answer the first ping is disconnected at the second.
  for (let question = 0; question < 2; question++) {
    clock.pass(PING_MS);
    await Promise.all(listeners.map(({ answered }) => answered()));
  }
  const { heard, checks } = await listenAndRead();
  await server.post(toCome);
  await allNotified([...heardBy.values(), heard]);
  await Promise.all(checks);
});
afterAll(async () => {
  for (const end of ends) end();
  await server[Symbol.asyncDispose]();
});

test('the chain forks while the clients are connected', async () => {
  const chain = await newBlocks();
  expect(chain.length).toBeGreaterThan(10);
  expect(chain.length).toBeLessThan(blocksToCome.length - 2);
});

/** Callback types that the package declares, by topic. The second type is for Socket.IO, if it differs. */
const declaredTypes: Record<string, [rpc: string, socketIo?: string]> = {
  block: ['api.Block'],
  mempool: ['api.MempoolTransaction'],
  transaction: ['api.Transaction | api.MempoolTransaction'],
  'address-transaction': ['api.RpcAddressTxNotificationParams', 'api.AddressTransactionWithTransfers'],
  'address-stx-balance': ['api.RpcAddressBalanceNotificationParams', 'api.AddressStxBalanceResponse'],
  'nft-event': ['NftEvent'],
  'nft-asset-event': ['NftEvent'],
  'nft-collection-event': ['NftEvent'],
};

test('every push has the type that the package declares', () => {
  const imports = [
    "import type * as api from '@stacks/blockchain-api-client';",
    // The sender of a mint and the recipient of a burn are null. The package omits them. Only Stackside has
    // `canonical`.
    "type NftEvent = Omit<api.NftEvent, 'sender' | 'recipient'> & {",
    '  sender: string | null; recipient: string | null; canonical: boolean };',
  ].join('\n');
  /** By type and text: most clients receive the same. */
  const pushes = new Map<string, Typed>();
  for (const [name, heard] of heardBy) {
    for (const [topic, [rpc, socketIo = rpc]] of Object.entries(declaredTypes)) {
      expect([name, topic, heard[topic]!.length > 0]).toEqual([name, topic, true]);
      for (const pushed of heard[topic]!) {
        // Socket.IO sends the address as a separate argument.
        const { address: _, ...object } = pushed;
        const push = name === 'connectWebSocketClient' ? { type: rpc, body: pushed } : { type: socketIo, body: object };
        pushes.set(JSON.stringify(push), push);
      }
    }
    // The simulated node has none.
    expect(heard.microblock).toEqual([]);
  }
  expect(typeErrors(imports, [...pushes.values()])).toEqual([]);
});

test('every push is readable from the API when it arrives', () => expect(unreadable).toEqual([]));

const [first, ...others] = clients.map(([name]) => name);

test.each(others)('%s gets the same pushes as connectWebSocketClient', (name) => {
  for (const topic of Object.keys(declaredTypes)) {
    // Socket.IO leaves out the members of a notification that its object repeats.
    expect({ topic, pushes: heardBy.get(first!)![topic]! }).toMatchObject({
      topic,
      pushes: heardBy.get(name)![topic]!,
    });
  }
});

test('each block is pushed, and those that a fork orphaned or made canonical again', async () => {
  const pushed = heardBy.get(first!)!.block!;
  const hashes = (blocks: Json[]) => new Set(blocks.map(({ index_block_hash }) => index_block_hash));
  const announced = hashes(blocksToCome);
  expect(hashes(pushed)).toEqual(announced.union(hashes(pushed.filter(({ canonical }) => !canonical))));
  expect(announced.difference(hashes(pushed))).toEqual(new Set());
  for (const now of await newBlocks()) {
    expect(pushed.findLast(({ index_block_hash }) => index_block_hash === now.index_block_hash)).toEqual(now);
  }
  expect(pushed.some(({ canonical }) => canonical === false)).toBe(true);
});

test('announced transactions are pushed, and the dropped ones', async () => {
  const pushed = heardBy.get(first!)!.mempool!;
  const announced = toCome
    .filter(({ path }) => path === '/new_mempool_tx')
    .flatMap(({ body }) => JSON.parse(body) as string[]);
  const pending = pushed.filter(({ tx_status }) => tx_status === 'pending');
  // A newer rival replaces a few before they are pushed.
  expect(pending.length).toBeGreaterThan(announced.length * 0.8);
  expect(pushed.some(({ tx_status }) => tx_status.startsWith('dropped_'))).toBe(true);
  for (const tx of pushed.slice(0, 20)) {
    const now = await get(`/extended/v1/tx/${tx.tx_id}`);
    expect(tx).toMatchObject({ tx_id: now.tx_id, sender_address: now.sender_address, nonce: now.nonce });
  }
});
