/** Fills gaps from the node's RPC interface: the index equals that of an unbroken run. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { memoize } from '../../src/base/cache.ts';
import { exactJson } from '../../src/base/json.ts';
import { networkOf } from '../../src/chain/network.ts';
import { fromHex } from '../../src/codec/hex.ts';
import type { BurnBlock } from '../../src/devnet/burn-chain.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { NoAnswer, ThrottledNode } from '../../src/node/facts.ts';
import { type FillResult, fillTo } from '../../src/node/fill.ts';
import { olderTenures } from '../../src/node/history.ts';
import { FILLED_FROM, IncompleteBlockError } from '../../src/node/replay.ts';
import { NodeUnreachableError } from '../../src/node/rpc.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import { testApp } from '../api/test-app.ts';
import { copyOf } from '../support/data/data-directory.ts';
import { ingestOf, type OpenIngest, openAt, openNew, received } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { tables } from '../support/data/tables.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { failureOf } from '../support/failure.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { atOnce, edit, honest, type Lie, on, rpcOf, served } from '../support/servers/simulated-rpc.ts';

const NOW = 1_700_000_000_000;

/** Chains without the data that no RPC interface returns for a block: operations on Bitcoin. */
const OPTIONS = { operations: false, mempool: false } as const;

interface BlockBody {
  index_block_hash: string;
  parent_index_block_hash: string;
  block_height: number;
  miner_txid: string;
  transactions: { raw_tx: string }[];
}
const bodyOf = ({ body }: NodeEvent) => JSON.parse(body) as BlockBody;
const isBlock = ({ path }: NodeEvent) => path === '/new_block';
const ofTheChain = ({ path }: NodeEvent) => isBlock({ path } as NodeEvent) || path === '/new_burn_block';

/** Fills up to a block, as a server does with the parent of a rejected block. */
async function fill(
  open: OpenIngest,
  chain: SimulatedChain,
  id: string,
  lie: Lie = honest,
  from = 0,
): Promise<FillResult> {
  const node = new ThrottledNode(rpcOf(served(chain), lie), atOnce);
  using snapshots = snapshotsOf(open.directory);
  const { history, receive } = open.ingest;
  const target = { indexBlockHash: fromHex(id), height: chain.block(id)!.height };
  const index = { snapshots, history, receive, network: networkOf(chain.network.chainId) };
  return await fillTo(target, index, { node, authorization: RPC_TOKEN, clock: { now: () => NOW }, from });
}

/** Receives events, and fills the gap below a block whose parent is unknown. @returns the number of filled blocks */
async function receiveAll(open: OpenIngest, chain: SimulatedChain, events: readonly NodeEvent[]): Promise<number> {
  let filled = 0;
  for (const event of events) {
    try {
      open.ingest.receive(received(event));
    } catch (error) {
      if (!(error instanceof UnknownParentError)) throw error;
      filled += (await fill(open, chain, bodyOf(event).parent_index_block_hash)).blocks;
      open.ingest.receive(received(event));
    }
  }
  return filled;
}

const ZEROS = `0x${'00'.repeat(32)}`;

/** A stream with a gap: events `from` to `to` never arrive. */
interface Broken {
  chain: SimulatedChain;
  events: readonly NodeEvent[];
  from: number;
  to: number;
}

/** Hashes of the Bitcoin blocks that the node has on its chain. */
function bitcoinOf(chain: SimulatedChain): Set<string> {
  const hashes = new Set<string>();
  for (let burn: BurnBlock | undefined = chain.tip.burnView; burn !== undefined; burn = burn.parent) {
    hashes.add(burn.hash);
  }
  return hashes;
}

const burnHashOf = ({ body }: NodeEvent): string => JSON.parse(body).burn_block_hash;

/**
 * Returns true if the last announced Bitcoin block is the node's newest, and none was higher. A real node has one
 * Bitcoin chain. The simulated Bitcoin chain follows the highest Stacks block.
 */
function endsOnItsBitcoin(chain: SimulatedChain, events: readonly NodeEvent[]): boolean {
  const announced = events.filter((event) => !isBlock(event));
  const last = announced.at(-1);
  const highest = Math.max(...announced.map(({ body }) => JSON.parse(body).burn_block_height));
  const { hash, height } = chain.tip.burnView;
  return last === undefined || (burnHashOf(last) === hash && highest <= height);
}

const burnTables = ['burn_blocks', 'burn_rewards', 'burn_slot_holders', 'pox_transactions'];

/** Returns the event that fills a Bitcoin block, without the payouts, which no RPC interface returns. */
function filledBurnBlock(event: NodeEvent): NodeEvent {
  const { burn_block_hash, burn_block_height, consensus_hash, parent_burn_block_hash } = JSON.parse(event.body);
  const hashes = { burn_block_hash, burn_block_height, consensus_hash, parent_burn_block_hash };
  const body = exactJson({ filled_from: FILLED_FROM, burn_amount: 0, ...hashes, reward_recipients: [] });
  return { ...event, body };
}

/**
 * Returns the events that the filled index must match: all events around the gap, and the gap's blocks that are
 * ancestors of later blocks. They lack the data that no RPC interface returns.
 * @param miners the miners' transactions on Bitcoin by their blocks, if they differ from the events
 */
function withoutGap({ chain, events, from, to }: Broken, miners = new Map<string, string>()): NodeEvent[] {
  const needed = new Set<string>();
  const later = events
    .slice(to)
    .filter(isBlock)
    .map((event) => bodyOf(event).index_block_hash);
  for (const id of [...later, chain.tip.indexBlockHash]) {
    for (const block of chain.ancestors(chain.block(id)!)) {
      if (needed.has(block.indexBlockHash)) break;
      needed.add(block.indexBlockHash);
    }
  }
  const bitcoin = bitcoinOf(chain);
  return events.flatMap((event, index) => {
    const isLost = index >= from && index < to;
    if (!isBlock(event)) {
      if (!isLost) return [event];
      return bitcoin.has(burnHashOf(event)) ? [filledBurnBlock(event)] : [];
    }
    const { index_block_hash: id, parent_index_block_hash: parent, miner_txid: miner } = bodyOf(event);
    if (isLost && !needed.has(id)) return [];
    const beginsTenure = chain.block(id)?.blocksInTenure === 1;
    const expectedMiner = !isLost ? miner : beginsTenure ? ZEROS : (miners.get(parent) ?? miner);
    miners.set(id, miners.get(id) ?? expectedMiner);
    return expectedMiner === miner
      ? [event]
      : [{ ...event, body: JSON.stringify({ ...JSON.parse(event.body), miner_txid: expectedMiner }) }];
  });
}

/** Feeds the stream with its gap, and fills up to the node's tip at the end. */
async function filledRun({ chain, events, from, to }: Broken, open: OpenIngest): Promise<number> {
  await receiveAll(open, chain, events.slice(0, from));
  const filled = await receiveAll(open, chain, events.slice(to));
  return filled + (await fill(open, chain, chain.tip.indexBlockHash)).blocks;
}

test('a filled index equals one without a gap, with forks before, in and after the gap', async () => {
  const seen = new Seen({ blocks: 10, 'chains of Bitcoin': 1 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(100), fc.nat(100), async (drawn, first, length) => {
      const { chain, events: posted } = grown(drawn, OPTIONS);
      const events = posted.filter(ofTheChain);
      const ends = events.filter((event) => isBlock(event) && bodyOf(event).block_height === chain.tip.height);
      // At equal height, the first block to arrive is canonical, and a gap may change the order.
      if (new Set(ends.map((event) => bodyOf(event).index_block_hash)).size > 1) return;
      // The gap starts above block 1. Only announced Bitcoin forks reveal rivals of block 1, and it isn't a Nakamoto
      // block on any network.
      const lowest = 1 + events.findLastIndex((event) => isBlock(event) && bodyOf(event).block_height <= 1);
      const from = lowest + Math.floor((first / 100) * (events.length - lowest));
      const to = Math.min(events.length, from + Math.ceil((length / 100) * events.length));
      const broken = { chain, events, from, to };
      using whole = ingestOf(withoutGap(broken).map(received));
      using open = openNew();
      seen.add('blocks', await filledRun(broken, open));
      open.ingest.close();
      const [filled, expected] = [tables(open.directory), tables(whole.path)];
      if (endsOnItsBitcoin(chain, events)) seen.add('chains of Bitcoin');
      else for (const table of burnTables) filled[table] = expected[table] = [];
      expect(filled).toEqual(expected);
    }),
    // With this seed, two rounds of cases meet every situation.
    { cases: 1, seen, seed: firstSeed + 5 },
  );
});

/** A chain without forks, with an epoch that deploys a contract, unlocks, reward sets and tenures that are extended. */
function grownStraight(blocks: number): { chain: SimulatedChain; events: NodeEvent[] } {
  const chain = new SimulatedChain({ seed: 9, accounts: 12, staking: 60, pox5Height: 222, ...OPTIONS });
  const events = mineTo(chain, blocks, (height) => ({
    newTenure: height % 2 === 0,
    newBurnBlock: height % 2 === 0 || height % 7 === 0,
    transactions: 3,
  }));
  return { chain, events: events.filter(ofTheChain) };
}
const straight = grownStraight(45);
/** Returns the position of a block's first event in the stream. */
const placeOf = (height: number): number =>
  straight.events.findIndex((event) => isBlock(event) && bodyOf(event).block_height === height);

test('an epoch, unlocks, reward sets and rewards are filled, and of Bitcoin blocks all but their payouts', async () => {
  const { chain, events } = straight;
  const broken = { chain, events, from: placeOf(5), to: placeOf(40) };
  using whole = ingestOf(withoutGap(broken).map(received));
  using open = openNew();
  const filled = await filledRun(broken, open);
  expect(filled).toBe(35);
  open.ingest.close();
  expect(tables(open.directory)).toEqual(tables(whole.path));
  const count = (directory: string, query: string) => {
    using db = new Database(indexPath(directory), { readonly: true });
    return db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${query}`).get()?.n ?? 0;
  };
  // The gap contains all of it.
  const deployments = 'transactions t JOIN principals p ON p.id = t.contract_id WHERE type IN (1, 6) AND p.address';
  expect(count(whole.path, `${deployments} LIKE '%.pox-5'`)).toBe(1);
  expect(count(whole.path, 'reward_cycles')).toBeGreaterThan(1);
  expect(count(whole.path, 'miner_rewards')).toBeGreaterThan(20);
  const hashes = (directory: string) => {
    using db = new Database(indexPath(directory), { readonly: true });
    return db.query('SELECT height, hash, parent_hash FROM burn_blocks ORDER BY height').values();
  };
  expect(hashes(open.directory)).toEqual(hashes(whole.path));
  expect(count(open.directory, 'burn_blocks WHERE is_filled = 1')).toBeGreaterThan(15);
  using snapshots = snapshotsOf(open.directory);
  const ranges = snapshots.read((reader) => reader.burnRewards.withoutPayouts());
  expect(ranges).toHaveLength(1);
  const app = testApp(snapshots);
  for (const path of [
    'v1/burnchain/rewards',
    'v1/burnchain/reward_slot_holders',
    `v2/burn-blocks/${ranges[0]![0]}/pox-transactions`,
  ]) {
    const { headers } = await app.request(`/extended/${path}`);
    expect(headers.get('stackside-without-payouts')).toBe(ranges[0]!.join('-'));
  }
  expect((await app.request('/extended/v2/blocks')).headers.get('stackside-without-payouts')).toBeNull();
});

const { keep } = keepToEnd();
/** Returns the directory of an index of the straight chain below a block, which is built once. */
const below = memoize((height: number): string =>
  keep(ingestOf(straight.events.slice(0, placeOf(height)).map(received))),
);

/** Fills a gap of the straight chain with a node that lies. */
async function withLie(lie: Lie, from = 20, to = 27): Promise<FillResult> {
  using directory = copyOf({ path: below(from) });
  using open = openAt(directory.path);
  const target = bodyOf(straight.events[placeOf(to)]!).index_block_hash;
  return await fill(open, straight.chain, target, lie);
}

/** Returns the height of the block in a URL. */
const heightOf = ({ pathname, searchParams }: URL): number =>
  straight.chain.block(`0x${searchParams.get('tip') ?? pathname.split('/').at(-1)}`)?.height ?? -1;

describe('a block that the node returns incompletely is named, and the blocks below it are filled', () => {
  const replay = /^\/v3\/blocks\/replay/;
  const at = (height: number, path: RegExp, lie: Lie): Lie =>
    on(path, (url, answer) => (heightOf(url) === height ? lie(url, answer) : answer));
  const editAt = <Body>(height: number, path: RegExp, change: (body: Body) => void): Lie =>
    at(height, path, (_, answer) => edit(answer, change));
  const gone: Lie = () => new Response('gone', { status: 404 });
  interface Replayed {
    transactions: { hex: string; result_hex: string; events: object[] }[];
  }
  const lies: Record<string, { lie: Lie; lacking: RegExp; height?: number; from?: number }> = {
    'no replay': { lie: at(24, replay, gone), lacking: /doesn't execute it again \(status 404\)/, height: 24 },
    'a replay of another block': {
      lie: editAt(24, replay, ({ transactions }: Replayed) => void transactions.pop()),
      lacking: /its replay has different transactions/,
      height: 24,
    },
    'a replay without its events': {
      lie: editAt(25, replay, ({ transactions }: Replayed) => {
        for (const transaction of transactions) transaction.events = [];
      }),
      lacking: /changed by .* micro-STX and .* nonces, its transactions by|leave -?\d+ micro-STX/,
    },
    'a replay with hex that is none': {
      lie: editAt(24, replay, ({ transactions }: Replayed) => {
        for (const transaction of transactions) transaction.result_hex = '0xzz';
      }),
      lacking: /can't be read/,
      height: 24,
    },
    'no sortition': { lie: on(/sortitions\/consensus/, gone), lacking: /its sortition is unknown/, height: 20 },
    'no interface of a contract': {
      lie: on(/contracts\/interface/, gone),
      lacking: /the interface of .* is unknown/,
      from: 5,
    },
    'a balance that is one too great': {
      lie: editAt(24, /v2\/accounts/, (body: { balance: string }) => {
        body.balance = `0x${(BigInt(body.balance) + 1n).toString(16)}`;
      }),
      lacking: /micro-STX/,
    },
    'a supply that is one too great': {
      lie: editAt(24, /v2\/pox/, (body: { total_liquid_supply_ustx: bigint }) => {
        body.total_liquid_supply_ustx = BigInt(body.total_liquid_supply_ustx) + 1n;
      }),
      lacking: /leave 1 micro-STX of the supply's change unexplained/,
      height: 24,
    },
    'the bytes of another block': {
      lie: at(24, /^\/v3\/blocks\/[0-9a-f]{64}$/, async (_, answer) => {
        const bytes = await answer.bytes();
        bytes[100] = (bytes[100] ?? 0) ^ 1;
        return new Response(bytes);
      }),
      lacking: /the bytes of another block/,
    },
  };
  test.each(Object.entries(lies))('%s', async (_, { lie, lacking, height, from = 20 }) => {
    const error = await failureOf(IncompleteBlockError, withLie(lie, from, from + 7));
    expect(error.lacking).toMatch(lacking);
    if (height !== undefined) expect(error.height).toBe(height);
  });
});

test('a block is rejected if an operation on Bitcoin touched one of its accounts', async () => {
  const chain = new SimulatedChain({ seed: 3, accounts: 3, mempool: false });
  const events = mineTo(chain, 60, () => ({ newTenure: true, transactions: 12 }));
  using open = openNew();
  for (const event of events.slice(0, 2)) open.ingest.receive(received(event));
  const error = await failureOf(IncompleteBlockError, fill(open, chain, chain.tip.indexBlockHash));
  expect(error.lacking).toContain('as after an operation on Bitcoin');
  expect(open.ingest.tipHeight()).toBe(error.height - 1);
});

test('a block that the node loses during the fill is named by its own height', async () => {
  const chain = new SimulatedChain({ seed: 3, ...OPTIONS });
  const events = mineTo(chain, 12);
  const lost = events.map(bodyOf).find(({ block_height }) => block_height === 8)!.index_block_hash;
  let requests = 0;
  const losing = on(new RegExp(`^/v3/blocks/${lost.slice(2)}$`), (_, answer) =>
    ++requests === 1 ? answer : new Response('', { status: 404 }),
  );
  using open = openNew();
  for (const event of events.slice(0, 2)) open.ingest.receive(received(event));
  const { height } = await failureOf(IncompleteBlockError, fill(open, chain, chain.tip.indexBlockHash, losing));
  expect({ height, requests }).toEqual({ height: 8, requests: 2 });
});

test('a node that is away, fails or rejects the token ends the fill, and the next one continues', async () => {
  const failing = on(/v2\/accounts/, () => new Response('overloaded', { status: 500 }));
  await expect(withLie(failing)).rejects.toThrow(NodeUnreachableError);
  const refusing = on(/replay/, () => new Response('no', { status: 401 }));
  await expect(withLie(refusing)).rejects.toThrow('The node refuses the token');

  using open = openNew();
  for (const event of straight.events.slice(0, placeOf(20))) open.ingest.receive(received(event));
  const { chain } = straight;
  let requests = 3;
  const dying = on(/replay/, (_, answer) => {
    requests -= 1;
    if (requests < 0) throw new NodeUnreachableError('away');
    return answer;
  });
  await expect(fill(open, chain, chain.tip.indexBlockHash, dying)).rejects.toThrow('away');
  expect(open.ingest.tipHeight()).toBe(22);
  expect(await fill(open, chain, chain.tip.indexBlockHash)).toMatchObject({ blocks: 23, height: 45 });
  expect(await fill(open, chain, chain.tip.indexBlockHash)).toMatchObject({ blocks: 0 });
});

test('an index that begins at a block is filled from there, with the rewards of tenures below it', async () => {
  const { chain, events } = straight;
  // In the middle of a tenure, at a tenure's first block, and at the start of an epoch.
  for (const height of [8, 21, 30]) {
    const broken = { chain, events, from: placeOf(height - 1) + 1, to: events.length };
    const below = bodyOf(events[placeOf(height - 1)]!).index_block_hash;
    const rest = withoutGap(broken, new Map([[below, ZEROS]])).slice(placeOf(height - 1) + 1);
    using whole = ingestOf(rest.map(received));
    using open = openNew();
    const result = await fill(open, chain, chain.tip.indexBlockHash, honest, height);
    expect(result).toMatchObject({ blocks: 46 - height, height: 45 });
    open.ingest.close();
    expect(tables(open.directory)).toEqual(tables(whole.path));
  }
});

test('the first request for an older tenure finds it, even if it began far below the index', async () => {
  const { chain } = straight;
  const [first, below, ...older] = [...chain.ancestors(chain.tip)].filter(({ height }) => height > 0 && height <= 40);
  const tenures = await olderTenures(new ThrottledNode(rpcOf(served(chain)), atOnce), {
    height: first!.height,
    indexBlockHash: fromHex(below!.indexBlockHash),
    blockHash: fromHex(below!.blockHash),
    burnBlockHash: fromHex(below!.burn.hash),
    burnBlockHeight: below!.burn.height,
  });
  expect(tenures?.top).toBe(below!.tenure.height);
  const distant = older.find(({ tenure }) => tenure.height === below!.tenure.height - 7)!;
  expect(await tenures!.rewarded(distant.tenure.height)).toEqual({
    indexBlockHash: fromHex(distant.tenure.indexBlockHash),
    blockHash: fromHex(distant.tenure.blockHash),
    miner: distant.tenure.miner.address,
    recipient: distant.tenure.recipient,
    fees: distant.fees,
  });
});

test('a lock of pox-4 that ends with the epoch of pox-5 equals its event', async () => {
  const pox5Height = 300;
  const chain = new SimulatedChain({ seed: 5, accounts: 40, pox5Height, ...OPTIONS });
  const events = mineTo(chain, 90, (height) => ({ newTenure: height % 4 === 0 }));
  const blocks = events.filter(isBlock);
  const rest = blocks.filter((event) => bodyOf(event).block_height > 80);
  const ends = rest.flatMap(({ body }) => [...body.matchAll(/"unlock_height":"(\d+)"/g)].map(([, end]) => Number(end)));
  expect(ends.some((end) => end > pox5Height + 1)).toBe(true);
  using open = openNew();
  for (const event of blocks.slice(0, -rest.length)) open.ingest.receive(received(event));
  expect(await fill(open, chain, chain.tip.indexBlockHash)).toMatchObject({ height: 90, unanswered: 0 });
});

test("a node's JSON that is nested too deep is no answer", async () => {
  const nest = (levels: number) => [...Array(levels).fill('{"a":'), 1, ...Array(levels).fill('}')].join('');
  const answer = (text: string) => {
    const rpc = rpcOf(served(straight.chain), () => new Response(text));
    return new ThrottledNode(rpc, atOnce).json('/v2/info', Type.Object({}));
  };
  expect(await answer(nest(512))).not.toBeInstanceOf(NoAnswer);
  expect(await answer(nest(513))).toBeInstanceOf(NoAnswer);
});
