import { afterEach, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import type { Block } from '../../src/devnet/block.ts';
import { SimulatedNode } from '../../src/devnet/node.ts';
import type { ObserverEvent } from '../../src/devnet/node-event.ts';
import { type HeldClock, heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

interface Received {
  path: string;
  body: string;
}

const servers: ReturnType<typeof Bun.serve>[] = [];
const nodes: SimulatedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()));
  await Promise.all(servers.splice(0).map((server) => server.stop(true)));
});

/** An observer that accepts the events for which the status is 200. */
function observer(status = () => 200): { received: Received[]; url: string } {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const event = { path: new URL(request.url).pathname, body: await request.text() };
      const answer = status();
      if (answer === 200) received.push(event);
      return Response.json({ result: 'ok' }, { status: answer });
    },
  });
  servers.push(server);
  return { received, url: server.url.origin };
}

/** Starts a node that mines only on request. @returns the node, and the events of its observer */
async function startedNode(
  more: Partial<ConstructorParameters<typeof SimulatedNode>[0]> = {},
  { received, url } = observer(),
): Promise<{ node: SimulatedNode; received: Received[] }> {
  const node = new SimulatedNode({ ...options, interval: 0, ...more });
  nodes.push(node);
  await node.start(url);
  return { node, received };
}

const blocksOf = (received: readonly Received[]): number => received.filter(({ path }) => path === '/new_block').length;

const options = { seed: 1, history: 4, traffic: 2, clock: systemClock };
const now = Date.parse('2027-01-15T08:00:00Z');
const recipient = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';

test('equal seeds and calls produce equal events', async () => {
  const run = async (seed: number) => {
    const { node, received } = await startedNode({ seed });
    await node.fund(recipient, 5n);
    await node.mine({ count: 2 }, 3, []);
    await node.advance({ seconds: 1_000 });
    await node.fork(2, 3);
    await node.cycle({ count: 1 });
    return received;
  };
  const first = await run(9);
  expect(await run(9)).toEqual(first);
  expect(await run(10)).not.toEqual(first);
});

const idsOf = (blocks: readonly Block[]): string[] =>
  blocks.flatMap(({ transactions }) => transactions.map(({ id }) => id));

test('after a fork, transactions of simulated users are pending, and the next block contains them', async () => {
  const { node } = await startedNode({ history: 0 });
  let mined = idsOf(await node.mine({ count: 3 }, 10, []));
  // A fork takes the blocks from the chain, and another fork also the block that contains the transactions again.
  for (const depth of [3, 1]) {
    const { pending } = await node.fork(depth, depth + 1);
    expect([pending, node.pending.map(({ id }) => id)]).toEqual([mined, mined]);
    const ids = idsOf(await node.mine({ count: 1 }, 0, []));
    expect([ids, node.pending]).toEqual([expect.arrayContaining(mined), []]);
    mined = ids;
  }
});

test('after a revert, transactions of simulated users are dropped and never mined', async () => {
  const { node, received } = await startedNode({ history: 0 });
  await node.snapshot('before');
  const mined = idsOf(await node.mine({ count: 2 }, 10, []));
  await node.revert({ snapshot: 'before' });
  const drops = received.filter(({ path }) => path === '/drop_mempool_tx');
  const dropped = drops.flatMap(({ body }) => (JSON.parse(body) as { dropped_txids: string[] }).dropped_txids);
  expect(dropped).toEqual(expect.arrayContaining(mined));
  expect([idsOf(await node.mine({ count: 1 }, 0, [])), node.pending]).toEqual([[], []]);
});

test('the lowest block that forks can start from rises with the chain, except above a snapshot', async () => {
  const { node } = await startedNode();
  const start = node.lowestFork;
  await node.mine({ count: 150 }, 0, []);
  const risen = node.lowestFork;
  expect(risen).toBeGreaterThan(start);
  await node.snapshot('kept');
  const { height } = node.tip.burnView;
  await node.mine({ count: 150 }, 0, []);
  expect(node.lowestFork).toBeWithin(risen, height + 1);
});

test('errors explain the removal of the newest 100 removed snapshots', async () => {
  const { node } = await startedNode();
  await node.mine({ count: 1 }, 0, []);
  for (let number = 0; number <= 100; number++) await node.snapshot(`state-${number}`);
  await node.fork(1, 2);
  const problemOf = (snapshot: string) => node.revert({ snapshot }).catch((error: Error) => error.message);
  expect(await problemOf('state-0')).not.toContain('removed');
  expect(await problemOf('state-1')).toContain('removed state-1');
});

test('a command that mines blocks includes announced transactions of simulated users, also without traffic', async () => {
  const { node } = await startedNode();
  const announced = async (): Promise<string[]> => {
    while (node.chain.mempool.waiting.length === 0) await node.mine({ count: 1 }, 3, []);
    return node.chain.mempool.waiting.map(({ id }) => id);
  };
  const ids = await announced();
  expect(idsOf(await node.mine({ count: 1 }, 0, []))).toEqual(ids);
  expect(node.chain.mempool.waiting).toEqual([]);
  await announced();
  const { id, block } = await node.fund(recipient, 5n);
  expect(idsOf([block])).toEqual([id]);
});

/** The wait for a block is divided among the events before it, so it may be any part of the interval. */
const waits = Array.from({ length: 60 }, (_, events) => 10_000 / (events + 1));

/** Starts a node that mines every ten seconds. Only the test ends its waits. */
async function liveNode(): Promise<{ node: SimulatedNode; received: Received[]; clock: HeldClock }> {
  const clock = heldClock(waits, () => now);
  return { ...(await startedNode({ interval: 10, clock })), clock };
}

const isWaiting = (clock: HeldClock): boolean => waits.some((wait) => clock.waiting(wait) > 0);

test('a live node posts its history immediately, then spreads the events before a block over the interval', async () => {
  const { node, received, clock } = await liveNode();
  const { height } = node.tip;
  expect(height).toBe(options.history);
  while (node.tip.height < height + 3) {
    await until(() => isWaiting(clock), 'the wait before an event');
    const before = received.length;
    for (const wait of waits) if (clock.waiting(wait) > 0) clock.pass(wait);
    await until(() => received.length === before + 1, 'one event');
  }
  expect(Math.abs(node.tip.time * 1000 - now)).toBeLessThan(60_000);
});

test('requested blocks follow the current block, which is announced immediately', async () => {
  const { node, received, clock } = await liveNode();
  await until(() => isWaiting(clock), 'the wait before an event');
  const { height } = node.tip;
  const [block] = await node.mine({ count: 1 }, 0, []);
  expect(node.tip).toBe(block!);
  expect(block!.height).toBeGreaterThan(height + 1);
  await node.mineEvery(0);
  const announced = blocksOf(received);
  const [next] = await node.mine({ count: 1 }, 0, []);
  expect([next!.height, blocksOf(received)]).toEqual([node.tip.height, announced + 1]);
  expect(isWaiting(clock)).toBe(false);
  await node.mineEvery(10);
  await until(() => isWaiting(clock), 'the wait before an event');
});

test('a second observer receives the events in order', async () => {
  const [first, second] = [observer(), observer()];
  const other = { url: second.url, clock: systemClock, log: () => {} };
  const { node } = await startedNode({ otherObserver: other }, first);
  await node.mine({ count: 3 }, 2, []);
  await node.fork(2, 3);
  await until(() => second.received.length === first.received.length, 'the events');
  expect(second.received).toEqual(first.received);
});

test('a second observer that rejects events delays neither the node nor the first observer, and receives them later', async () => {
  let isAway = true;
  const [first, second] = [observer(), observer(() => (isAway ? 503 : 200))];
  const clock = heldClock([100, 200, 400]);
  const logged: ObserverEvent[] = [];
  const other = { url: second.url, clock, log: (event: ObserverEvent) => logged.push(event) };
  const { node } = await startedNode({ otherObserver: other }, first);
  for (const wait of [100, 200]) {
    await until(() => clock.waiting(wait) === 1, 'the wait after a refusal');
    clock.pass(wait);
  }
  await until(() => clock.waiting(400) === 1, 'the third wait');
  expect([node.tip.height, logged.length]).toEqual([options.history, 1]);
  isAway = false;
  clock.pass(400);
  await until(() => second.received.length === first.received.length, 'all events');
  expect(second.received).toEqual(first.received);
});

test('a node stops even if its observer accepts no events', async () => {
  const clock = heldClock([100, 200, 400]);
  const node = new SimulatedNode({ ...options, interval: 0, clock });
  const started = node.start(observer(() => 503).url);
  await until(() => clock.waiting(100) === 1, 'the wait after a refusal');
  await node.stop();
  await started;
  expect(node.tip.height).toBe(0);
});
