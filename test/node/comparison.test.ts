/** Comparison of the index with its node: they agree after any forks, and each wrong answer is reported. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OperatorError, TemporaryError } from '../../src/base/errors.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { comparison, type KindReport } from '../../src/node/comparison.ts';
import { type FactKind, factsOf } from '../../src/node/facts.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import { ChainReplacedError } from '../../src/store/model/read-errors.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { atOnce, edit, honest, type Lie, on, rpcOf, served } from '../support/servers/simulated-rpc.ts';

interface Compared {
  height: number;
  blocksAbove: number;
  isBehind: boolean;
  reports: Map<FactKind, KindReport>;
}

async function runComparison(snapshots: Snapshots, rpc: NodeRpc, limit = Number.POSITIVE_INFINITY): Promise<Compared> {
  const { common, compare } = comparison(snapshots, rpc, atOnce);
  const start = await common();
  if (start === null) throw new Error('the index has no block');
  const reports = await compare(start, { limit });
  return { ...start, reports: new Map(reports.map((report) => [report.kind, report])) };
}

const differences = ({ reports }: Compared) => [...reports.values()].flatMap((report) => report.differences);

const events: NodeEvent[] = [];
const chain = new SimulatedChain({ seed: 5, accounts: 15, transactionsPerBlock: 12 });
events.push(chain.genesis());
while (chain.tip.height < 60) {
  const isFork = chain.tip.height % 13 === 0;
  const parent = isFork ? chain.block(chain.tip.indexBlockHash)!.parent : chain.tip.indexBlockHash;
  events.push(...chain.mine(chain.tip.height === 0 ? null : parent, { newTenure: chain.tip.height % 3 === 0 }).events);
  if (isFork) {
    const rival = chain.mine(chain.tip.indexBlockHash);
    events.push(...rival.events);
  }
}
const node = served(chain);
const snapshots = memoryIndex(events.map(received));

test('index and node agree in all data, and every kind of data is compared', async () => {
  const comparison = await runComparison(snapshots, rpcOf(node));
  expect(differences(comparison)).toEqual([]);
  expect(comparison.height).toBe(chain.tip.height);
  for (const { kind, compared: count } of comparison.reports.values()) expect([kind, count > 0]).toEqual([kind, true]);
});

test('each subject is listed once up to a height, at the last block that changed it', async () => {
  const staked = new SimulatedChain({ seed: 4, accounts: 12, staking: 100 });
  const posted = mineTo(staked, 40);
  let touchedAgain = 0;
  for (const index of [snapshots, memoryIndex(posted.map(received))]) {
    const subjects = (height: number, upTo: number): Promise<string[]> =>
      index.readLong(async (reader) => factsOf(reader, height, upTo).map(({ kind, subject }) => `${kind} ${subject}`));
    for (const upTo of [1, 25]) {
      const last = new Map<string, number>();
      const heights = new Map<string, number>();
      for (let height = 0; height <= upTo; height++) {
        for (const subject of await subjects(height, height)) {
          if (last.has(subject)) touchedAgain += 1;
          last.set(subject, height);
        }
        for (const subject of await subjects(height, upTo)) {
          expect([subject, heights.get(subject)]).toEqual([subject, undefined]);
          heights.set(subject, height);
        }
      }
      expect(heights).toEqual(last);
    }
  }
  expect(touchedAgain).toBeGreaterThan(0);
});

test('a sample contains the newest subjects of each kind', async () => {
  const { reports } = await runComparison(snapshots, rpcOf(node), 3);
  for (const { compared: count } of reports.values()) expect(count).toBeLessThanOrEqual(3);
  expect(reports.get('blocks')?.compared).toBe(3);
});

test('index and node agree after any forks', async () => {
  const seen = new Seen({ 'losing blocks': 2, accounts: 10 });
  await assertProperty(
    fc.asyncProperty(forks(), async (drawn) => {
      const { chain: forked, events: posted } = grown(drawn);
      if (forked.tip.height === 0) return;
      const index = memoryIndex(posted.map(received));
      const comparison = await runComparison(index, rpcOf(served(forked)));
      expect(differences(comparison)).toEqual([]);
      seen.add('accounts', comparison.reports.get('accounts')?.compared ?? 0);
      seen.add('losing blocks', posted.filter(({ path }) => path === '/new_block').length - forked.tip.height);
    }),
    { cases: 1, seen },
  );
});

test('a lock that ended with a Bitcoin block of an extended tenure is not a difference', async () => {
  const long = new SimulatedChain({ seed: 4, accounts: 12, staking: 100 });
  const posted: NodeEvent[] = [];
  const hasEnded = () => {
    const { world, burn, burnView, transactions } = long.tip;
    return transactions.some(
      ({ origin: { account } }) =>
        world.locked(account.address, burn.height) !== world.locked(account.address, burnView.height),
    );
  };
  do {
    posted.push(
      ...mineTo(long, long.tip.height + 1, (height) => ({ newTenure: height % 6 === 0, newBurnBlock: true })),
    );
  } while (!hasEnded());
  const index = memoryIndex(posted.map(received));
  expect(differences(await runComparison(index, rpcOf(served(long))))).toEqual([]);
});

/** Response fields that tests falsify. */
interface NodeAnswer {
  source: string;
  functions: object[];
  result: string;
  index_block_hash: string;
  balance: string;
  locked: string;
  nonce: number;
  stacker_set: { signers: [{ weight: number }] };
}

/** Returns the height of the block that the request's `tip` names, or -1 if there is no such block. */
const heightOf = (url: URL): number => chain.block(`0x${url.searchParams.get('tip')}`)?.height ?? -1;

/** Changes the fields of successful JSON responses from a height on. */
const replaced = (path: RegExp, fields: (body: NodeAnswer) => Partial<NodeAnswer>, from = 0): Lie =>
  on(path, (url, answer) =>
    from > 0 && heightOf(url) < from
      ? answer
      : edit(answer, (body: NodeAnswer) => void Object.assign(body, fields(body))),
  );

/** Flips a bit of a byte in binary responses. @param index from the end if negative */
const flipped = (path: RegExp, index: number): Lie =>
  on(path, async (_, answer) => {
    const bytes = await answer.bytes();
    const position = index < 0 ? bytes.length + index : index;
    return new Response(bytes.with(position, bytes[position]! ^ 1));
  });

describe('a wrong answer is reported with its subject and first block', () => {
  const [{ address: somebody }] = chain.tip.transactions.map(({ origin }) => origin.account) as [{ address: string }];
  const account = new RegExp(`^/v2/accounts/${somebody}$`);
  const next = (hex: string) => `0x${(BigInt(hex) + 1n).toString(16)}`;
  const locksMore = ({ locked }: NodeAnswer) => ({ locked: next(locked) });
  const greater = ({ balance }: NodeAnswer) => ({ balance: next(balance) });
  const sortition: Lie = async (_, answer) => {
    const [first] = (await answer.json()) as [Record<string, number>];
    return Response.json([{ ...first, burn_header_timestamp: 1 }]);
  };
  const signers: Lie = (_, answer) => edit(answer, (body: NodeAnswer) => void body.stacker_set.signers[0].weight++);
  const overloaded = on(account, (url, answer) =>
    heightOf(url) < 35 ? new Response('overloaded', { status: 500 }) : replaced(account, greater, 40)(url, answer),
  );
  const oldBalance = { result: `0x07${'01'}${'00'.repeat(15)}ff` };
  const notFound = () => new Response('No contract source data found', { status: 404 });
  /** The height is that of the first wrong block. */
  const lies: [title: string, kind: FactKind, name: string, lie: Lie, first?: number][] = [
    ['a balance that is one too great', 'accounts', 'balance', replaced(account, greater, 40), 40],
    ['a balance without a past value from the node', 'accounts', 'balance', overloaded, 40],
    ['a nonce of the block before', 'accounts', 'nonce', replaced(account, ({ nonce }) => ({ nonce: nonce - 1 }), 60)],
    ['STX that are locked for nobody', 'accounts', 'locked', replaced(account, locksMore), 1],
    ['another source', 'contracts', 'source', replaced(/contracts\/source/, () => ({ source: '(ok)' }))],
    ['an interface without its functions', 'contracts', 'interface', replaced(/interface/, () => ({ functions: [] }))],
    ['a signer that weighs more', 'reward sets', 'signers', on(/stacker_set/, signers)],
    ['a signature with another byte', 'blocks', 'signer signatures', flipped(/v3\/blocks/, 210)],
    ['a transaction with another byte', 'blocks', 'body', flipped(/v3\/blocks/, -1)],
    ['another time of a sortition', 'sortitions', 'time', on(/sortitions/, sortition)],
    ['another result', 'transactions', 'result', replaced(/v3\/transaction/, () => ({ result: '(err u1)' }))],
    ['a token balance of the past', 'SIP-010 balances', 'balance', replaced(/get-balance/, () => oldBalance)],
    ['an owner that sold it', 'SIP-009 owners', 'owner', replaced(/get-owner/, () => ({ result: '0x0709' }))],
    ['a contract that is not there', 'contracts', 'it', on(/contracts\/source/, notFound)],
  ];
  test.each(lies)('%s', async (_, kind, name, lie, ...[first]) => {
    const list = differences(await runComparison(snapshots, rpcOf(node, lie)));
    const lied = list.filter((item) => item.kind === kind && item.values.some((value) => value.name === name));
    expect(lied.length).toBeGreaterThan(0);
    // A block's bytes also determine its id, and so the sortition's consensus hash.
    expect(list.filter((item) => item.kind !== kind)).toEqual([]);
    if (first !== undefined) expect(lied[0]).toMatchObject({ subject: somebody, first: { height: first } });
  });
});

describe('missing answers are not differences', () => {
  const unansweredOf = ({ reports }: Compared, kind: FactKind) => [...(reports.get(kind)?.unanswered ?? [])];

  test('if the node fails after four tries', async () => {
    let requests = 0;
    const failing = on(/stacker_set/, () => {
      requests += 1;
      return new Response('overloaded', { status: 500 });
    });
    const comparison = await runComparison(snapshots, rpcOf(node, failing));
    expect(differences(comparison)).toEqual([]);
    const cycles = unansweredOf(comparison, 'reward sets');
    expect(cycles).toEqual([['status 500', cycles[0]?.[1] ?? 0]]);
    expect(requests).toBe(4 * (cycles[0]?.[1] ?? 0));
  });

  test('if the node fails once and then answers', async () => {
    const failed = new Set<string>();
    const once: Lie = (url, answer) => {
      if (failed.has(url.href)) return answer;
      failed.add(url.href);
      return new Response('busy', { status: 503 });
    };
    const comparison = await runComparison(snapshots, rpcOf(node, once), 5);
    expect(differences(comparison)).toEqual([]);
    expect(comparison.reports.get('accounts')?.compared).toBe(5);
  });

  test('if the node lacks txindex, or names another block', async () => {
    const withoutIndex = on(/v3\/transaction/, () => new Response('not here', { status: 404 }));
    expect(unansweredOf(await runComparison(snapshots, rpcOf(node, withoutIndex), 2), 'transactions')).toEqual([
      ['no entry in its transaction index', 2],
    ]);
    const first = replaced(/v3\/transaction/, () => ({ index_block_hash: '00'.repeat(32), result: 'none' }));
    expect(unansweredOf(await runComparison(snapshots, rpcOf(node, first), 2), 'transactions')).toEqual([
      ['an entry of another block', 2],
    ]);
  });

  test('if the node lacks a block, and other blocks are still compared', async () => {
    let isFirst = true;
    const lacking = on(/v3\/blocks/, (_, answer) => {
      if (!isFirst) return answer;
      isFirst = false;
      return new Response('No such block', { status: 404 });
    });
    const comparison = await runComparison(snapshots, rpcOf(node, lacking), 3);
    expect(differences(comparison)).toEqual([]);
    expect(unansweredOf(comparison, 'blocks')).toEqual([["the node doesn't have this block", 1]]);
  });

  test('accounts are skipped if the node sends JSON in another form', async () => {
    const otherFormat = on(/v2\/accounts/, () => Response.json({ balance: 5 }));
    const comparison = await runComparison(snapshots, rpcOf(node, otherFormat), 4);
    expect(unansweredOf(comparison, 'accounts')).toEqual([['an unexpected response', 4]]);
  });
});

test('an unreachable node stops the comparison', async () => {
  const away: NodeRpc = { ...rpcOf(node), request: () => Promise.reject(new NodeUnreachableError('away')) };
  await expect(runComparison(snapshots, away)).rejects.toThrow(NodeUnreachableError);
});

test('a node of another chain is rejected by its chain ID, or if it lacks all the blocks', async () => {
  const otherChain = new SimulatedChain({ seed: 6, accounts: 5 });
  mineTo(otherChain, 60);
  await expect(runComparison(snapshots, rpcOf(served(otherChain)))).rejects.toThrow(OperatorError);
  await expect(runComparison(snapshots, rpcOf(node, honest, { chainId: 1 }))).rejects.toThrow('chain ID is 0x00000001');
});

test('a node that fails every block lookup is unreachable, not on another chain', async () => {
  for (const status of [500, 503, 400, 302]) {
    const failing = on(/v2\/accounts/, () => new Response('overloaded', { status }));
    await expect(runComparison(snapshots, rpcOf(node, failing))).rejects.toThrow(NodeUnreachableError);
  }
});

test('a node without any block of the index is behind', async () => {
  const unknownTip: Lie = () => new Response('No such chain tip', { status: 404 });
  await expect(runComparison(snapshots, rpcOf(node, unknownTip, { height: 0, burnBlockHeight: 1 }))).rejects.toThrow(
    TemporaryError,
  );
});

test('an index above its node is compared at the highest block that the node has', async () => {
  const blocksUpTo =
    (height: number): Lie =>
    (url, answer) =>
      heightOf(url) > height ? new Response('No such chain tip', { status: 404 }) : answer;
  const forked = await runComparison(snapshots, rpcOf(node, blocksUpTo(57)));
  expect(forked).toMatchObject({ height: 57, blocksAbove: 3, isBehind: false });
  expect(differences(forked)).toEqual([]);
  expect(await runComparison(snapshots, rpcOf(node, blocksUpTo(31), { burnBlockHeight: 1 }), 1)).toMatchObject({
    height: 31,
    isBehind: true,
  });
});

test('a fork between two requests stops the comparison instead of reporting a difference', async () => {
  const growing = new SimulatedChain({ seed: 8, accounts: 8 });
  const posted = mineTo(growing, 8);
  const before = memoryIndex(posted.map(received));
  let parent = growing.block(growing.tip.parent!)!.parent!;
  for (let height = 0; height < 4; height++) {
    const mined = growing.mine(parent, { newTenure: true, burnFork: height === 0 });
    posted.push(...mined.events);
    parent = mined.indexBlockHash;
  }
  const after = memoryIndex(posted.map(received));
  let reads = 0;
  /** The fork comes after the first comparison data. */
  const forking: Snapshots = { ...before, read: (request) => (++reads > 12 ? after : before).read(request) };
  await expect(runComparison(forking, rpcOf(served(growing)))).rejects.toThrow(ChainReplacedError);
  const comparison = await runComparison(after, rpcOf(served(growing)));
  expect(differences(comparison)).toEqual([]);
});
