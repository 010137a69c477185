/** Directories of contracts, tokens and names: over generated chains with forks, they list the same things as a plain model. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { dayIn, dayOf, dayText } from '../../src/base/utc-time.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { networks } from '../../src/devnet/network.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openApi } from '../support/api/api.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { type OpenIngest, openAt, openNew } from '../support/data/ingest.ts';
import { type Cost, canCountReads, countedApi, withSmallPages } from '../support/data/page-reads.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import {
  alice,
  block,
  bob,
  call,
  deployment,
  type MadeBlock,
  receipt,
  START,
  transfer,
} from '../support/events/handmade.ts';
import { launched, mintTo, moveTo, nameBlock, operated } from '../support/events/names.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { testApp } from './test-app.ts';

const DAY = 86_400;
const MAX_UINT = 2n ** 128n - 1n;
const users = accounts('directories', 'user', 4, networks.testnet).map(({ address }) => address);
const contractOf = (name: string): string => `${alice.address}.${name}`;

/** Functions of the standards, with the types of their arguments. */
const standards = {
  'sip-009': 'get-last-token-id() get-token-uri(uint128) get-owner(uint128) transfer(uint128,principal,principal)',
  'sip-010':
    'transfer(uint128,principal,principal,optional) get-name() get-symbol() get-decimals() get-balance(principal) get-total-supply() get-token-uri()',
  'sip-013':
    'get-balance(uint128,principal) get-overall-balance(principal) get-total-supply(uint128) get-overall-supply() get-decimals(uint128) get-token-uri(uint128) transfer(uint128,uint128,principal,principal) transfer-memo(uint128,uint128,principal,principal,buffer)',
} as const;
type Trait = keyof typeof standards;

function interfaceOf(trait: Trait | null): object {
  const functions = (trait === null ? '' : standards[trait]).matchAll(/([a-z-]+)\(([^)]*)\)/g);
  return {
    functions: [...functions].map(([, name, types]) => ({
      name,
      access: 'public',
      args: (types ?? '').split(',').flatMap((type) => (type === '' ? [] : [{ name: 'a', type }])),
      outputs: { type: 'bool' },
    })),
    fungible_tokens: [{ name: 'coin' }],
    non_fungible_tokens: [{ name: 'card', type: 'uint128' }],
  };
}

/** An action of a transaction. */
type Action =
  | { does: 'call'; contract: number }
  | { does: 'deploy'; succeeds: boolean; trait: Trait | null }
  | { does: 'ft'; token: number; from: number | null; to: number | null; amount: bigint }
  | { does: 'nft'; token: number; id: number; from: number | null; to: number | null };

interface Step {
  /** Blocks that leave the chain. */
  below: number;
  /** Seconds after the block before. */
  later: number;
  actions: readonly Action[];
}

const end = fc.option(fc.nat({ max: users.length - 1 }), { freq: 4 });
const token = fc.nat({ max: 4 });
const ends = { from: end, to: end };
const amount = fc.oneof(fc.constant(MAX_UINT), fc.bigInt({ min: 0n, max: 9n }));
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ does: fc.constant('call' as const), contract: fc.nat({ max: 5 }) }),
  fc.record({
    does: fc.constant('deploy' as const),
    succeeds: fc.boolean(),
    trait: fc.constantFrom<Trait | null>(null, 'sip-009', 'sip-010', 'sip-013'),
  }),
  fc.record({ does: fc.constant('ft' as const), token, ...ends, amount }),
  fc.record({ does: fc.constant('nft' as const), token, id: fc.nat({ max: 3 }), ...ends }),
);
const steps = fc.array(
  fc.record({
    below: fc.constantFrom(0, 0, 0, 1, 2),
    // Times of blocks may go backwards.
    later: fc.constantFrom(60, 60, DAY / 2, 2 * DAY, -DAY),
    actions: fc.array(action, { maxLength: 5 }),
  }),
  { minLength: 6, maxLength: 12 },
);

const userAt = (index: number | null): string | null => (index === null ? null : users[index]!);

/** The node's event of a token movement; null if it has no parties. */
function eventOf(action: Action): readonly [type: string, body: object] | null {
  if (action.does !== 'ft' && action.does !== 'nft') return null;
  const [sender, recipient] = [userAt(action.from), userAt(action.to)];
  if (sender === null && recipient === null) return null;
  const verb = sender === null ? 'mint' : recipient === null ? 'burn' : 'transfer';
  const ends = { ...(sender === null ? {} : { sender }), ...(recipient === null ? {} : { recipient }) };
  const asset_identifier = `${contractOf('tokens')}::${action.does}-${action.token}`;
  const body =
    action.does === 'ft' ? { amount: String(action.amount) } : { raw_value: toHex(clarity.uint(BigInt(action.id))) };
  return [`${action.does}_${verb}_event`, { asset_identifier, ...ends, ...body }];
}

let nonce = 0;
function transactionOf(action: Action) {
  const number = nonce++;
  if (action.does === 'deploy') return deployment(alice, number, 1, `made-${number}`);
  if (action.does !== 'call') return transfer(alice, number, 1);
  return call(alice, number, 1, contractOf(`called-${action.contract}`), 'do');
}

interface MinedBlock {
  block: MadeBlock;
  time: number;
  /** With the names of deployed contracts. */
  actions: readonly (Action & { name: string })[];
}

/** One more block with a step's actions. */
function mine(parent: MinedBlock | undefined, { later, actions }: Step): MinedBlock {
  const time = (parent?.time ?? START) + later;
  const items = actions.map((action) => ({ action, name: `made-${nonce}`, transaction: transactionOf(action) }));
  const receipts = items.map(({ action, transaction }, index) =>
    receipt(
      transaction,
      index,
      action.does !== 'deploy'
        ? {}
        : action.succeeds
          ? { contract_interface: interfaceOf(action.trait) }
          : { status: 'abort_by_response' },
    ),
  );
  const events = items.flatMap(({ action, transaction: { id } }) => {
    const event = eventOf(action);
    return event === null ? [] : [{ txid: id, committed: true, type: event[0], [event[0]]: event[1] }];
  });
  const label = `directories ${nonce++}`;
  const fields = { block_time: time, events: events.map((event, event_index) => ({ ...event, event_index })) };
  return {
    block: block(parent?.block ?? null, label, receipts, fields),
    time,
    actions: items.map(({ action, name }) => ({ ...action, name })),
  };
}

/** Feeds the steps. @returns the chain that won */
function grow(open: OpenIngest, steps: readonly Step[]): MinedBlock[] {
  const chain: MinedBlock[] = [];
  for (const step of steps) {
    const length = chain.length;
    chain.length = Math.max(Math.min(1, length), length - step.below);
    do {
      chain.push(mine(chain.at(-1), step));
      open.ingest.apply(chain.at(-1)!.block.event);
    } while (chain.length <= length);
  }
  open.ingest.commit();
  return chain;
}

interface Item {
  contract_id?: string;
  asset_identifier?: string;
  deployment?: { block_height: number } | null;
  calls?: number;
  calls_of_day?: number;
  trait?: Trait | null;
  holders?: number;
  transfers?: number;
  transfers_of_day?: number;
  supply?: string | number;
  minted?: number;
}
interface Body {
  day: string;
  results: Item[];
  cursor: { next: string | null; previous: string | null };
}
type Get = (path: string) => Promise<Response>;

/** A whole list, by pages of a few there, and the same pages back. */
async function walkList(get: Get, path: string): Promise<{ day: string; items: Item[] }> {
  const pageAt = async (cursor: string | null): Promise<Body> => {
    const response = await get(`${path}limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    return (await response.json()) as Body;
  };
  const pages = [await pageAt(null)];
  while (pages.at(-1)!.cursor.next !== null) pages.push(await pageAt(pages.at(-1)!.cursor.next));
  const back = [pages.at(-1)!];
  while (back[0]!.cursor.previous !== null) back.unshift(await pageAt(back[0]!.cursor.previous));
  expect(back.flatMap(({ results }) => results)).toEqual(pages.flatMap(({ results }) => results));
  return { day: pages[0]!.day, items: pages.flatMap(({ results }) => results) };
}

/** Checks a ranked list. Items of equal rank may be in any order, so items are compared by name, and the order by rank. */
function expectRanked(ranked: readonly Item[], expected: readonly Item[], by: (item: Item) => number): void {
  const nameOf = (item: Item) => item.contract_id ?? item.asset_identifier ?? '';
  const byName = (items: readonly Item[]) => [...items].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  expect(byName(ranked)).toEqual(byName(expected));
  expect(ranked.map(by)).toEqual(ranked.map(by).sort((a, b) => b - a));
}

const increase = <K>(counts: Map<K, number>, key: K): Map<K, number> => counts.set(key, (counts.get(key) ?? 0) + 1);

/** The model of a chain, counted block by block. */
function modelOf(chain: readonly MinedBlock[], day: number) {
  const calls = new Map<string, number>();
  const callsOfDay = new Map<string, number>();
  const deployed: Item[] = [];
  const moves = { ft: [] as [Action & { does: 'ft' }, boolean][], nft: [] as [Action & { does: 'nft' }, boolean][] };
  for (const { block: mined, time, actions } of chain) {
    const isOfDay = dayOf(time) === day;
    for (const action of actions) {
      if (action.does === 'call') {
        increase(calls, contractOf(`called-${action.contract}`));
        if (isOfDay) increase(callsOfDay, contractOf(`called-${action.contract}`));
      } else if (action.does === 'deploy') {
        const item = { contract_id: contractOf(action.name), deployment: { block_height: mined.height } };
        if (action.succeeds) deployed.unshift({ ...item, calls: 0, calls_of_day: 0, trait: action.trait });
      } else if (eventOf(action) !== null) {
        if (action.does === 'ft') moves.ft.push([action, isOfDay]);
        else moves.nft.push([action, isOfDay]);
      }
    }
  }
  const called = [...callsOfDay].map(
    ([contract_id, count]): Item => ({
      contract_id,
      deployment: null,
      calls: calls.get(contract_id)!,
      calls_of_day: count,
      trait: null,
    }),
  );
  const fts = [...Map.groupBy(moves.ft, ([{ token }]) => token)].map(([token, its]): Item => {
    const balances = users.map((_, user) =>
      its.reduce(
        (sum, [{ from, to, amount }]) => sum + (to === user ? amount : 0n) - (from === user ? amount : 0n),
        0n,
      ),
    );
    return {
      asset_identifier: `${contractOf('tokens')}::ft-${token}`,
      holders: balances.filter((balance) => balance > 0n).length,
      transfers: its.length,
      transfers_of_day: its.filter(([, isOfDay]) => isOfDay).length,
      supply: String(balances.reduce((sum, balance) => sum + balance, 0n)),
    };
  });
  const nfts = [...Map.groupBy(moves.nft, ([{ token }]) => token)].map(([token, its]): Item => {
    const owners = new Map(its.map(([{ id, to }]) => [id, to]));
    const owned = [...owners.values()].filter((owner) => owner !== null);
    return {
      asset_identifier: `${contractOf('tokens')}::nft-${token}`,
      holders: new Set(owned).size,
      transfers: its.length,
      transfers_of_day: its.filter(([, isOfDay]) => isOfDay).length,
      minted: its.filter(([{ from }]) => from === null).length,
      supply: owned.length,
    };
  });
  return { deployed, called, fts, nfts };
}

/** An item without the fields that the model lacks. */
const comparable = ({ contract_id, asset_identifier, deployment, ...rest }: Item): Item => {
  const { name, symbol, decimals, image, ...counts } = rest as Item & Record<string, unknown>;
  expect([name, symbol, decimals, image].filter(Boolean)).toEqual([]);
  return {
    ...(contract_id === undefined
      ? { asset_identifier: asset_identifier! }
      : { contract_id, deployment: deployment ? { block_height: deployment.block_height } : null }),
    ...counts,
  };
};

test('directories equal a plain model of the canonical chain, for every day', async () => {
  const tokens = { 'fungible tokens': 5, collections: 5 };
  const seen = new Seen({ 'orphaned blocks': 2, days: 4, contracts: 5, calls: 5, ...tokens });
  await assertProperty(
    fc.asyncProperty(steps, async (chosenSteps) => {
      using open = openNew();
      const chain = grow(open, chosenSteps);
      expect(problemsIn(open.directory)).toEqual([]);
      using api = openApi(open.directory);
      const days = [...new Set(chain.map(({ time }) => dayOf(time)))];
      const newest = dayOf(chain.at(-1)!.time);
      seen.add(
        'orphaned blocks',
        chosenSteps.reduce((sum, { below }) => sum + below, 0),
      );
      seen.add('days', days.length);
      for (const day of [null, ...days]) {
        const model = modelOf(chain, day ?? newest);
        const ofDay = day === null ? '' : `day=${dayText(day)}&`;
        const list = async (path: string): Promise<Item[]> => {
          const { day: listedDay, items } = await walkList(api.get, `/stackside/v1/${path}${ofDay}`);
          expect(listedDay).toBe(dayText(day ?? newest));
          return items.map(comparable);
        };
        const ofTrait = (items: readonly Item[], trait: Trait) => items.filter((item) => item.trait === trait);
        const contracts = await list('contracts?');
        expect(contracts.map(({ deployment }) => deployment?.block_height)).toEqual(
          model.deployed.map(({ deployment }) => deployment?.block_height),
        );
        expectRanked(contracts, model.deployed, ({ deployment }) => deployment?.block_height ?? 0);
        for (const trait of Object.keys(standards) as Trait[]) {
          expectRanked(await list(`contracts?trait=${trait}&`), ofTrait(model.deployed, trait), () => 0);
          expectRanked(await list(`contracts?order=calls&trait=${trait}&`), ofTrait(model.called, trait), () => 0);
        }
        expectRanked(await list('contracts?order=calls&'), model.called, ({ calls_of_day: count = 0 }) => count);
        for (const [path, tokens] of [
          ['ft', model.fts],
          ['nft', model.nfts],
        ] as const) {
          expectRanked(await list(`tokens/${path}?`), tokens, ({ holders = 0 }) => holders);
          const moved = tokens.filter(({ transfers_of_day: count = 0 }) => count > 0);
          const ranked = await list(`tokens/${path}?order=transfers&`);
          expectRanked(ranked, moved, ({ transfers_of_day: count = 0 }) => count);
        }
        seen.add('contracts', contracts.length);
        seen.add('calls', model.called.length);
        seen.add('fungible tokens', model.fts.length);
        seen.add('collections', model.nfts.length);
      }
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 1, seed: firstSeed + 5 },
  );
});

test("a walk along a day's calls stays in that day when the next day begins", async () => {
  using open = openNew();
  const calls = [0, 1, 2, 3].map((contract): Action => ({ does: 'call', contract }));
  const first = mine(undefined, { below: 0, later: 60, actions: calls });
  open.ingest.receive(first.block.event);
  using api = openApi(open.directory);
  const page = async (query: string) =>
    (await (await api.get(`/stackside/v1/contracts?order=calls&limit=2${query}`)).json()) as Body;
  const head = await page('');
  open.ingest.receive(mine(first, { below: 0, later: DAY, actions: calls.slice(0, 1) }).block.event);
  const rest = await page(`&cursor=${head.cursor.next}`);
  expect([head.day, rest.day]).toEqual([head.day, head.day]);
  expect(new Set([...head.results, ...rest.results].map(({ contract_id }) => contract_id)).size).toBe(4);
  expect((await page('')).results).toHaveLength(1);
});

test('a page of contracts reads a bounded number of failed deployments', async () => {
  using open = openNew();
  const failing: Action = { does: 'deploy', succeeds: false, trait: null };
  const first = mine(undefined, { below: 0, later: 60, actions: [{ ...failing, succeeds: true }] });
  open.ingest.receive(first.block.event);
  open.ingest.receive(mine(first, { below: 0, later: 60, actions: Array(12).fill(failing) }).block.event);
  using snapshots = snapshotsOf(open.directory, { limits: { walkRows: 5 } });
  const { json } = testApp(snapshots);
  const page = async (query: string) => (await json(`/stackside/v1/contracts?${query}`)).body as unknown as Body;
  let list = await page('');
  const lengths = [list.results.length];
  while (list.cursor.next !== null) {
    list = await page(`cursor=${list.cursor.next}`);
    lengths.push(list.results.length);
  }
  expect(lengths).toEqual([0, 0, 1]);
});

test.skipIf(!canCountReads)(
  "listing a contract with a thousand failed deployments costs no extra reads (skipped if the system doesn't count reads)",
  async () => {
    using directory = dataDirectory();
    const calls: Action[] = Array(1_000).fill({ does: 'call', contract: 1 });
    {
      using open = openAt(directory.path);
      grow(open, [{ below: 0, later: 60, actions: calls }]);
    }
    withSmallPages(directory.path);
    const costOf = async (): Promise<Cost> => {
      using api = countedApi(directory.path, {});
      return await api.costOf('/stackside/v1/contracts?order=calls');
    };
    const before = await costOf();
    {
      using db = new Database(indexPath(directory.path));
      db.run('UPDATE transactions SET status = -1, type = iif(type = 2, 1, type)');
    }
    const after = await costOf();
    expect([before.status, after.status]).toEqual([200, 200]);
    expect(after.pages).toBeLessThan(before.pages + 20);
  },
);

test('an impossible day is rejected with the name of the parameter', async () => {
  const { json } = testApp();
  for (const day of ['2026-02-30', '0000-00-00', '26-01-01']) {
    const { status, body } = await json(`/stackside/v1/contracts?day=${day}`);
    expect({ status, named: (body as { message: string }).message.includes('querystring/day') }).toEqual({
      status: 400,
      named: true,
    });
  }
  expect([dayIn('2024-02-29'), dayIn('1970-01-01'), dayIn('2023-02-29')]).toEqual([19_782, 0, null]);
});

test('names have owners and leases, except for leases in a namespace without a lifetime', async () => {
  using open = openNew();
  const TENURE = 500;
  const opened = nameBlock(
    null,
    'opened',
    launched(1000),
    operated({ op: 'name-register', token: mintTo(bob.address) }),
  );
  open.ingest.receive(opened.event);
  const second = block(opened, 'second', [], { tenure_height: TENURE });
  open.ingest.receive(second.event);
  const { event } = nameBlock(
    second,
    'more',
    operated({ op: 'name-register', name: 'bert', token: mintTo(bob.address) }),
  );
  open.ingest.receive({ ...event, text: event.text.replace('{', `{"tenure_height":${TENURE + 1},`) });
  using api = openApi(open.directory);
  const get = async (path: string): Promise<unknown> => (await api.get(`/stackside/v1/${path}`)).json();
  const tip = { time: START + 3 * 60, tenure: TENURE + 1 };
  const lease = (tenure: number) => ({
    tenure_height: tenure,
    has_ended: false,
    expected_time: tip.time + (tenure - tip.tenure) * 600,
  });
  const [alices, berts] = [
    // The block that registered it contains no tenure, so it counts as a tenure.
    {
      name: 'alice.btc',
      owner: bob.address,
      status: 'name-register',
      tx_id: expect.any(String),
      lease: lease(1 + 1000),
    },
    {
      name: 'bert.btc',
      owner: bob.address,
      status: 'name-register',
      tx_id: expect.any(String),
      lease: lease(TENURE + 1 + 1000),
    },
  ];
  expect(await get('names')).toMatchObject({ total: null, results: [alices, berts] });
  expect(await get('names?namespace=btc')).toMatchObject({ results: [alices, berts] });
  expect(await get('names?namespace=id')).toMatchObject({ results: [] });
  expect(await get('names/bert.btc')).toEqual(berts);
  expect((await api.get('/stackside/v1/names/nobody.btc')).status).toBe(404);

  const third: MadeBlock = {
    hash: (JSON.parse(event.text) as { index_block_hash: string }).index_block_hash,
    height: 3,
    event,
  };
  const fourth = nameBlock(third, 'forever', launched(0), operated({ op: 'name-transfer', token: moveTo(users[0]!) }));
  open.ingest.receive(fourth.event);
  expect(await get('names/alice.btc')).toMatchObject({ owner: users[0], status: 'name-transfer', lease: null });
});

test('an expired lease is shown as expired', async () => {
  using open = openNew();
  const opened = nameBlock(null, 'opened', launched(2), operated({ op: 'name-register' }));
  let tip = opened;
  const endings: boolean[] = [];
  using api = openApi(open.directory);
  for (let height = 1; height <= 4; height++) {
    open.ingest.receive(tip.event);
    const { lease } = (await (await api.get('/stackside/v1/names/alice.btc')).json()) as {
      lease: { has_ended: boolean };
    };
    endings.push(lease.has_ended);
    tip = block(tip, `later ${height}`);
  }
  // Of two tenures from block 1 on, block 3 is the last.
  expect(endings).toEqual([false, false, false, true]);
});

test('a token of a collection shows its current owner, or none after a burn', async () => {
  using open = openNew();
  const asset = `${contractOf('tokens')}::nft-0`;
  const pathOf = (id: number) => `/stackside/v1/tokens/nft/${encodeURIComponent(asset)}/${id}`;
  const move = (from: number | null, to: number | null, id = 1): Action => ({ does: 'nft', token: 0, id, from, to });
  let parent: MinedBlock | undefined;
  const step = (...actions: Action[]) => {
    parent = mine(parent, { below: 0, later: 60, actions });
    open.ingest.receive(parent.block.event);
  };
  using api = openApi(open.directory);
  const get = async (path: string) => (await (await api.get(path)).json()) as { owner: string | null; results: never };
  const owners = async () => {
    const { results } = await get(`${pathOf(1).replace(/1$/, 'mints')}`);
    return [(await get(pathOf(1))).owner, (results as { owner: string | null }[]).map(({ owner }) => owner)];
  };
  step(move(null, 0), move(null, 3, 2));
  expect(await owners()).toEqual([users[0]!, [users[3]!, users[0]!]]);
  step(move(0, 1));
  expect(await owners()).toEqual([users[1]!, [users[3]!, users[1]!]]);
  step(move(1, null));
  expect(await owners()).toEqual([null, [users[3]!, null]]);
  expect((await api.get(pathOf(7))).status).toBe(404);
});
