/** `--verify-node`: comparisons beside the server, by a clock that the test moves. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import { verifyNode } from '../../src/commands/serve/node-verification.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { ComparisonEvent } from '../../src/node/comparison.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { atOnce, type Lie, rpcOf, served } from '../support/servers/simulated-rpc.ts';
import { until } from '../support/time/until.ts';

const chain = new SimulatedChain({ seed: 9, accounts: 8 });
const events = [chain.genesis()];
const mine = () => {
  events.push(...chain.mine(chain.tip.height === 0 ? null : chain.tip.indexBlockHash, { newTenure: true }).events);
};

let index: Snapshots;
const snapshots = snapshotsBy((request) => index.read(request));
const log: ComparisonEvent[] = [];
let lie: Lie = (_, answer) => answer;
let isAway = false;
let isOther = false;
const asked: string[] = [];

/** The node as it is at the moment. */
const node: NodeRpc = {
  request(path, init) {
    if (isAway) return Promise.reject(new NodeUnreachableError('away'));
    asked.push(path);
    return rpcOf(served(chain), (url, answer) => lie(url, answer)).request(path, init);
  },
  json: () => Promise.reject(new Error('nobody asks this')),
  info: () => rpcOf(served(chain), undefined, isOther ? { chainId: 1 } : {}).info(),
};

/** Waits of the comparison's interval, which the test ends; others end at once. */
const waits: (() => void)[] = [];
const clock = {
  ...atOnce.clock,
  now: () => 1_700_000_000_000,
  after(milliseconds: number, call: () => void) {
    if (milliseconds !== 60_000) return atOnce.clock.after(milliseconds, call);
    waits.push(call);
    return () => {};
  },
};
const registry = new Registry();
let verification: ReturnType<typeof verifyNode>;

/** Mines on a block, until the branch of as many blocks is the canonical one. */
function fork(parent: string, blocks: number): void {
  let on = parent;
  for (let block = 0; block < blocks; block++) {
    const mined = chain.mine(on, { newTenure: true, burnFork: block === 0 });
    events.push(...mined.events);
    on = mined.indexBlockHash;
  }
  index = memoryIndex(events.map(received));
}

/** The blocks whose bytes were asked for, from the lowest. */
function blocksAsked(): number[] {
  const ids = asked.flatMap((path) => /^\/v3\/blocks\/([0-9a-f]{64})$/.exec(path)?.[1] ?? []);
  return ids.map((id) => chain.block(`0x${id}`)!.height).sort((a, b) => a - b);
}

/** Lets one comparison run. */
async function compare(): Promise<void> {
  await until(() => waits.length === 1);
  waits.pop()!();
  await until(() => waits.length === 1);
}

const counted = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value ?? 0;

beforeAll(() => {
  for (let height = 0; height < 30; height++) mine();
  index = memoryIndex(events.map(received));
  verification = verifyNode({ seconds: 60, snapshots, node, clock, registry, log: (event) => log.push(event) });
});
afterAll(() => verification.stop());

test('the newest blocks are compared, and those that came since alone the next time', async () => {
  expect(verification.last()).toBeNull();
  await compare();
  expect(verification.last()).toMatchObject({
    ...{ height: 30, indexBlockHash: chain.tip.indexBlockHash },
    ...{ mismatches: 0, mismatchHeight: null },
  });
  // Once each, though two facts are in a block.
  expect(blocksAsked()).toEqual(Array.from({ length: 20 }, (_, block) => 11 + block));
  expect(await counted('stackside_node_compared_total')).toBe(verification.last()?.compared ?? 0);
  asked.length = 0;
  await compare();
  expect(blocksAsked()).toEqual([]);
  mine();
  index = memoryIndex(events.map(received));
  await compare();
  expect(blocksAsked()).toEqual([31]);
  expect(verification.last()).toMatchObject({ height: 31, mismatches: 0 });
  expect(log).toEqual([]);
});

test('blocks that a fork put in the place of compared ones are compared, from the fork on', async () => {
  const parent = [...chain.ancestors(chain.tip)].find(({ height }) => height === 28)!.indexBlockHash;
  fork(parent, 4);
  expect(chain.tip.height).toBe(32);
  asked.length = 0;
  await compare();
  expect(blocksAsked()).toEqual([29, 30, 31, 32]);
  expect(verification.last()).toMatchObject({ height: 32, mismatches: 0 });
  asked.length = 0;
  await compare();
  expect(blocksAsked()).toEqual([]);
});

test('a difference is logged and counted', async () => {
  mine();
  index = memoryIndex(events.map(received));
  lie = async (url, answer) =>
    url.pathname.startsWith('/v3/transaction/') && answer.ok
      ? Response.json({ ...((await answer.json()) as object), result: '(err u1)' })
      : answer;
  await compare();
  lie = (_, answer) => answer;
  const { mismatches, mismatchHeight } = verification.last()!;
  expect(mismatches).toBeGreaterThan(0);
  expect(mismatchHeight).toBe(33);
  expect(await counted('stackside_node_mismatches_total')).toBe(mismatches);
  expect(log.splice(0)[0]).toMatchObject({ event: 'node_mismatch', kind: 'transactions', block_height: 33 });
  mine();
  index = memoryIndex(events.map(received));
  await compare();
  expect(verification.last()).toMatchObject({ height: 34, mismatches, mismatchHeight: 33 });
});

test('what keeps index and node from being compared is said once', async () => {
  mine();
  index = memoryIndex(events.map(received));
  isAway = true;
  await compare();
  await compare();
  isAway = false;
  lie = (url, answer) => (url.pathname.startsWith('/v2/accounts') ? new Response('', { status: 503 }) : answer);
  await compare();
  await compare();
  lie = (_, answer) => answer;
  isOther = true;
  await compare();
  await compare();
  isOther = false;
  expect(log.splice(0)).toEqual([
    { event: 'node_not_compared', reason: 'away' },
    { event: 'node_not_compared', reason: 'the node answered /v2/accounts with 503' },
    { event: 'node_not_compared', reason: expect.stringContaining('another chain') },
  ]);
  expect(verification.last()?.height).toBe(34);
  await compare();
  expect(verification.last()?.height).toBe(35);
  expect(log).toEqual([]);
});
