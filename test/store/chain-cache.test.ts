/** What a connection caches of the chain from one snapshot to the next, and the JSON that is cached with them. */
import { expect, test } from 'bun:test';
import { memoizeByObject } from '../../src/base/cache.ts';
import { toHex } from '../../src/codec/hex.ts';
import { createApp } from '../../src/commands/serve/app.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { jsonOf, serializeNow } from '../../src/http/json.ts';
import { openReader } from '../../src/store/files/database.ts';
import { chainCache, sharedChain } from '../../src/store/queries/chain-cache.ts';
import { type Reader, readerOf } from '../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { noEntries } from '../support/data/memory-index.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { alice, announcement, block, bob, drop, START, transfer } from '../support/events/handmade.ts';

interface TransactionRow {
  tx_id: string;
  sender: { address: string };
  contract_call?: { contract_id: string };
}

test('transactions are the same objects while the chain grows, and others after a fork', async () => {
  using open = openNew();
  const chain = new SimulatedChain({ seed: 9, mempool: false });
  open.ingest.receive(received(chain.genesis()));
  using snapshots = watchedSnapshots(open.directory);
  const mine = (parent: string | null, rival = false): string => {
    const block = chain.mine(parent, { newTenure: true, newBurnBlock: true, burnFork: rival });
    for (const event of block.events) open.ingest.receive(received(event));
    return block.indexBlockHash;
  };
  const look = () =>
    snapshots.readLong(async (read) => ({
      tip: read.chain.tip(),
      details: read.transactions.inBlock({ height: 1 }, 'asc', 1, 0)?.items[0],
      summary: read.transactions.ofBlock({ height: 1 }, 1, null)?.items[0],
      block: read.blocks.find({ height: 1 }),
    }));
  const first = mine(null);
  const before = await look();
  expect((await look()).tip).toBe(before.tip);
  mine(first);
  const grown = await look();
  expect(grown.tip?.height).toBe(2);
  expect(grown.details).toBe(before.details);
  expect(grown.summary).toBe(before.summary);
  expect(grown.block).toBe(before.block!);

  const app = createApp({ snapshots, version: 'stackside v0 (test:test)', log: () => {} });
  const miner = before.summary?.sender.address;
  const paths = ['v3/transactions', 'v2/blocks', `v3/principals/${miner}/transactions`];
  // One after the other, so that there is one connection.
  const list = async (of: typeof app) => {
    const texts: string[] = [];
    for (const path of paths)
      texts.push(await (await of.handle(new Request(`http://localhost/extended/${path}`))).text());
    return texts;
  };
  const ofBranch = await list(app);
  let rival = mine(null, true);
  for (let height = 2; height <= 3; height++) rival = mine(rival);
  const forked = await look();
  expect(forked.tip?.height).toBe(3);
  expect(forked.details).not.toEqual(before.details);
  expect(forked.summary).not.toEqual(before.summary);
  expect(forked.block).not.toEqual(before.block!);
  // An app that has seen nothing else answers the same.
  using anew = watchedSnapshots(open.directory);
  const fresh = createApp({ snapshots: anew, version: 'stackside v0 (test:test)', log: () => {} });
  const answer = await list(app);
  expect(answer).toEqual(await list(fresh));
  for (const [place, text] of answer.entries()) expect(text).not.toBe(ofBranch[place]!);
});

test('a pending transaction that is dropped and received again is listed with its new receipt', async () => {
  using open = openNew();
  open.ingest.receive(block(null, 'block 1').event);
  using snapshots = watchedSnapshots(open.directory);
  const app = createApp({ snapshots, version: 'stackside v0 (test:test)', log: () => {} });
  const receipts = async () => {
    const answer = await app.handle(new Request('http://localhost/extended/v3/mempool/transactions'));
    const { results } = (await answer.json()) as { results: { receipt_time: number; tx_id: string }[] };
    return results.map(({ receipt_time: time, tx_id: id }) => [time, id]);
  };
  const [one, other] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
  open.ingest.receive(announcement([one, other], START));
  expect(await receipts()).toEqual(expect.arrayContaining([one, other].map(({ id }) => [START, id])));
  open.ingest.receive(drop([one], 'StaleGarbageCollect'));
  expect(await receipts()).toEqual([[START, other.id]]);
  open.ingest.receive(announcement([one], START + 60));
  expect(await receipts()).toEqual([
    [START + 60, one.id],
    [START, other.id],
  ]);
});

test('while a chain forks, a server that has cached answers as one that has seen nothing', async () => {
  using open = openNew();
  const appOf = (snapshots: Snapshots) => createApp({ snapshots, version: 'stackside v0 (test:test)', log: () => {} });
  using snapshots = watchedSnapshots(open.directory);
  const cached = appOf(snapshots);
  const ask = async (app: typeof cached, path: string) =>
    (await app.handle(new Request(`http://localhost/extended/${path}`))).text();
  const pathsOf = async (app: typeof cached): Promise<string[]> => {
    const { results } = JSON.parse(await ask(app, 'v3/transactions?limit=30')) as { results: TransactionRow[] };
    const contracts = new Set(results.flatMap(({ contract_call: call }) => call?.contract_id ?? []));
    const senders = new Set(results.map(({ sender }) => sender.address));
    const [newest] = results;
    return [
      ...['v3/transactions', 'v3/mempool/transactions', 'v2/blocks?limit=5', `v3/transactions/${newest?.tx_id}/events`],
      `v3/principals/${newest?.sender.address}/transactions/${newest?.tx_id}/balance-changes`,
      ...[...contracts].map((contract) => `v2/smart-contracts/${contract}/logs`),
      ...[...senders].slice(0, 3).map((sender) => `v3/principals/${sender}/transactions`),
      ...[...senders].slice(0, 3).map((sender) => `v3/principals/${sender}/mempool/transactions`),
    ];
  };
  let [logs, forks, tip] = [0, 0, 0];
  for (const event of devnetEvents({ seed: 6, blocks: 40, accounts: 8, transactionsPerBlock: 4, forkEvery: 3 })) {
    open.ingest.receive(received(event));
    if (event.path !== '/new_block') continue;
    using anew = watchedSnapshots(open.directory);
    const fresh = appOf(anew);
    for (const path of await pathsOf(cached)) {
      const answer = await ask(cached, path);
      expect([path, answer]).toEqual([path, await ask(fresh, path)]);
      if (path.endsWith('/logs') && JSON.parse(answer).results.length > 0) logs += 1;
    }
    const height = open.ingest.tipHeight();
    if (height === tip) forks += 1;
    tip = height;
  }
  expect([logs > 20, forks > 3]).toEqual([true, true]);
});

test('connections share one cached object of a transaction, and one from before a fork caches nothing for later ones', async () => {
  using open = openNew();
  const chain = new SimulatedChain({ seed: 9, mempool: false });
  open.ingest.receive(received(chain.genesis()));
  const mine = (parent: string | null, rival = false): string => {
    const block = chain.mine(parent, { newTenure: true, newBurnBlock: true, burnFork: rival });
    for (const event of block.events) open.ingest.receive(received(event));
    return block.indexBlockHash;
  };
  using snapshots = watchedSnapshots(open.directory);
  const at = (read: Reader, height: number) => read.transactions.ofBlock({ height }, 1, null)?.items[0];
  const look = (height: number) => snapshots.read((read) => at(read, height));
  mine(mine(null));
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const held = snapshots.readLong(async (read) => {
    const first = at(read, 1);
    await asked;
    return { first, second: at(read, 2) };
  });
  const first = look(1);
  let rival = mine(null, true);
  for (let height = 2; height <= 3; height++) rival = mine(rival);
  const forked = look(1);
  ask();
  const before = await held;
  expect(before.first).toBe(first);
  // What the other connection reads of the old chain meanwhile is not what this one finds in its place.
  const second = look(2);
  expect(second?.txId).not.toEqual(before.second?.txId);
  using anew = watchedSnapshots(open.directory);
  expect([forked, second]).toEqual(await anew.readLong((read) => Promise.all([at(read, 1), at(read, 2)])));
  // The connection that was held follows when it is used again, beside the other one.
  const together = await snapshots.readLong(async (read) => [at(read, 2), look(2)]);
  expect(together[0]).toBe(second);
  expect(together[1]).toBe(second);
});

test('a snapshot that is older than assumed reads its own chain, and caches nothing for others', async () => {
  using open = openNew();
  const chain = new SimulatedChain({ seed: 9, mempool: false });
  open.ingest.receive(received(chain.genesis()));
  const mine = (parent: string | null, rival = false): string => {
    const block = chain.mine(parent, { newTenure: true, newBurnBlock: true, burnFork: rival });
    for (const event of block.events) open.ingest.receive(received(event));
    return block.indexBlockHash;
  };
  const shared = sharedChain();
  using stack = new DisposableStack();
  const connect = () => {
    const db = stack.use(openReader(open.directory));
    const kept = chainCache(db, shared);
    return { db, kept, read: readerOf(db, noEntries, 1, {}, kept) };
  };
  const [old, young, another] = [connect(), connect(), connect()];
  /** What a connection reads of a block where a snapshot is taken to begin. */
  const look = async ({ kept, read }: ReturnType<typeof connect>, height = 2) => {
    kept.followChain();
    const { items = [] } = read.transactions.ofBlock({ height }, 20, null) ?? {};
    kept.leaveChain();
    return items.map(({ txId }) => toHex(txId));
  };
  const first = mine(null);
  mine(first);
  old.db.run('BEGIN');
  const before = await look(old);
  let rival = mine(first, true);
  for (let height = 3; height <= 4; height++) rival = mine(rival);
  const after = await look(young);
  expect(after).not.toEqual(before);
  // Its connection still reads the chain of before, whoever believes that it begins anew.
  for (const _ of [1, 2]) {
    expect(await look(old)).toEqual(before);
    for (const one of [young, another]) expect(await look(one)).toEqual(after);
  }
  old.db.run('COMMIT');
  expect(await look(old)).toEqual(after);
});

test('a value that is written once makes the same JSON in every place', () => {
  let calls = 0;
  const serialize = (of: { name: string }) => {
    calls += 1;
    return { name: of.name, none: undefined, big: 1 };
  };
  const once = memoizeByObject((of: { name: string }) => serializeNow(serialize(of)));
  const value = { name: 'a "name"' };
  const places = (item: (of: { name: string }) => unknown) => [
    item(value),
    { results: [item(value), { before: 1, none: undefined, value: item(value), after: [item(value)] }], total: 2 },
    { deep: { value: item(value) }, shallow: item(value) },
    [item(value)],
  ];
  const expected = places(serialize);
  calls = 0;
  expect(places(once).map((place) => JSON.parse(jsonOf(place)))).toEqual(
    expected.map((place) => JSON.parse(jsonOf(place))),
  );
  expect(calls).toBe(1);
  const item = { before: 1, none: undefined, value: once(value), after: 2 };
  expect(jsonOf({ results: [item] })).toBe(JSON.stringify({ results: [{ ...item, value: serialize(value) }] }));
});

test('the type checker refuses to read members of a written value, since it has none', () => {
  const text = serializeNow({ name: 'a' });
  // @ts-expect-error: a member of the value
  expect(text.name).toBeUndefined();
});
