/** An index that starts at a later block: each answer equals that of an index of the whole chain, or reports that it can't. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { transactionContent } from '../../src/chain/normalise.ts';
import { STARTING_ACCOUNT_PATH } from '../../src/chain/payload-reader.ts';
import { fromHex } from '../../src/codec/hex.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { HISTORY_HEADER, isPartial } from '../../src/http/history.ts';
import type { Route } from '../../src/http/route.ts';
import type { StartingAccount } from '../../src/store/queries/accounts/starting-accounts.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { routesOf } from '../support/api/app.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { type Beginning, beginnings } from '../support/events/beginning.ts';
import { alice } from '../support/events/handmade.ts';
import { BlockTree } from '../support/events/winning-chain.ts';
import { type Candidates, candidatesOf } from '../support/generate/example-candidates.ts';
import { targetOf } from '../support/generate/examples.ts';
import { assertProperty, Seen } from '../support/property.ts';

const VERSION = 'stackside v0.0.0 (test:test)';

const routes = routesOf(VERSION).filter(
  ({ method, path, snapshot }) => method === 'GET' && snapshot && !path.includes('*'),
);

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
  body: any;
}

type Init = Omit<RequestInit, 'method'> & { method?: string };

/** The API over the index that events make; its clock is at the last event, or later. */
class Server implements Disposable {
  readonly #directory;
  readonly #snapshots;
  readonly #app;

  /** @param node answers requests about untouched accounts */
  constructor(events: readonly NodeEvent[], { later = 0, node }: { later?: number; node?: Server } = {}) {
    this.#directory = ingestOf(events.map(received));
    this.#snapshots = openSnapshots(this.#directory.path);
    const clock = { ...systemClock, now: () => (events.at(-1)?.time ?? 0) + later };
    this.#app = checkedApp({
      snapshots: this.#snapshots,
      version: VERSION,
      log: () => {},
      clock,
      ...(node === undefined ? {} : { askAccount: (principal, height) => node.accountAt(principal, height) }),
    });
  }

  /** Returns an account after a block, as a node does. */
  accountAt(principal: string, indexBlockHash: Uint8Array): Promise<StartingAccount> {
    return this.#snapshots.readLong(async ({ facts, blocks }) => {
      const { height } = blocks.find({ hash: indexBlockHash })!;
      const account = facts.account(principal, height);
      return { ...account, balance: account.balance + account.locked };
    });
  }

  async ask(target: string, init?: Init): Promise<Answer> {
    const { status, headers, ...response } = await this.#response(target, init);
    const text = await response.text();
    return { status, headers, text, body: /^[[{]/.test(text) ? JSON.parse(text) : text };
  }

  /** Returns the node's answers about each account that blocks from a height on touched: its state after the block below. */
  accountsSince(from: number, parent = ''): Promise<NodeEvent[]> {
    return this.#snapshots.readLong(async ({ facts, height: tip }) => {
      const heights = Array.from({ length: tip() - from + 1 }, (_, index) => from + index);
      const touched = await Promise.all(heights.map(async (height) => facts.touched(height, height).principals));
      const answer = async (principal: string): Promise<NodeEvent> => {
        const { balance, locked, unlockHeight, nonce } = facts.account(principal, from - 1);
        const amounts = { balance: String(balance), locked: String(locked) };
        const names = { parent_index_block_hash: parent, principal };
        const body = { ...names, ...amounts, unlock_height: unlockHeight, nonce: Number(nonce) };
        return { path: STARTING_ACCOUNT_PATH, body: JSON.stringify(body), time: 0 };
      };
      return Promise.all([...new Set(touched.flat())].map(answer));
    });
  }

  /** Heights of the blocks of all transactions, by their ids. */
  async heights(): Promise<Map<string, number>> {
    const heights = new Map<string, number>();
    for (let offset = 0, rows: unknown[] = [0]; rows.length > 0; offset += rows.length) {
      rows = (await this.ask(`/extended/v1/block?limit=30&offset=${offset}`)).body.results;
      for (const { txs, height } of rows as { txs: string[]; height: number }[]) {
        for (const id of txs) heights.set(id, height);
      }
    }
    return heights;
  }

  async #response(target: string, init?: Init) {
    const response = await this.#app.handle(new Request(`http://localhost${target}`, init));
    return { status: response.status, headers: response.headers, text: () => response.text() };
  }

  [Symbol.dispose](): void {
    this.#snapshots.close();
    this.#directory[Symbol.dispose]();
  }
}

/** Height of the block of a row or an answer; undefined if it contains none. */
// biome-ignore lint/suspicious/noExplicitAny: rows of every list are looked into
function heightOf(row: any, { heights }: Pick<ServerPair, 'heights'>): number | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  for (const height of [row.block_height, row.height, row.block?.height]) if (typeof height === 'number') return height;
  const parts = [row.tx, row.transaction, row.result].map((part) => heightOf(part, { heights }));
  return parts.find((height) => height !== undefined) ?? heights.get(row.tx_id);
}

/** The rows of an answer; undefined if it is not a list. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
const rowsOf = (body: any): unknown[] | undefined =>
  Array.isArray(body) ? body : (body.results ?? body.events ?? body.counts ?? body.blocks);

/**
 * Removes the parts of an answer that come from a called contract's interface, and the number of calls. The interface of a
 * contract below the first block isn't known, and neither are the calls there.
 * @param like the answer of the server with the later start, which lacks such calls
 */
function withoutNames(body: unknown, like: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const other = Object(like);
  if (Array.isArray(body)) return body.map((item, index) => withoutNames(item, other[index]));
  const isUnknown = 'function_name' in body && unknownNames(other);
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (isUnknown && name === 'function_signature') return [name, ''];
      if (name === 'calls' && other[name] === null) return [name, null];
      if (isUnknown && name === 'function_args') return [name, value?.map(({ hex }: { hex: string }) => hex)];
      return [name, withoutNames(value, other[name])];
    }),
  );
}

/** Whether a call has none of the names that an interface gives. */
const unknownNames = (call: { function_signature?: string; function_args?: { name: string }[] }): boolean =>
  (call.function_signature ?? '') === '' && (call.function_args ?? []).every(({ name }) => name === '');

/** Routes that refuse some requests though they answer others. */
const REFUSING = new Set(['/extended/v1/search/{id}', '/stackside/v1/smart-contracts/{contract_id}/calls']);

/** Routes that explain an empty list by a wrong contract or function, which only an index of the whole chain can know. */
const EXPLAINING = new Set([
  '/stackside/v1/smart-contracts/{contract_id}/calls',
  '/stackside/v1/smart-contracts/{contract_id}/logs',
]);

/** A list of the best matches: unknown data about a match may change it, and makes room for others. */
const SEARCH = '/stackside/v1/search';

/** Answers that are estimated from earlier blocks, calls and balances, with their exact members. */
const ESTIMATES: Readonly<Record<string, readonly string[]>> = {
  '/extended/v2/blocks/average-times': [],
  '/stackside/v1/mempool/blocks': ['total', 'considered'],
  '/stackside/v1/mempool/blocks/{block}/transactions': [],
  '/stackside/v1/mempool/transactions/{tx_id}': ['tx_id', 'status', 'replaced_by_tx_id', 'position_by_fee'],
};

/** A list of sums, the oldest first. */
const COUNTS = '/stackside/v1/blocks/counts';

type Verdict = 'refused' | 'not found' | 'equal' | 'account' | 'cut';

/** A lock from before the first block lacks a transaction: the node returns its amount and end. */
const withoutMaking = (locked: object | null) =>
  locked && { ...locked, pox_version: null, lock_tx_id: null, stacks_lock_height: null, burn_lock_height: null };

const needsWhole = ({ history }: Route): boolean => history === 'whole' || history === 'all-payouts';

/** Compares the answers of both servers to a request. @returns the outcome on the server with partial history */
function compare(route: Route, both: ServerPair, whole: Answer, since: Answer): Verdict {
  const { history } = route;
  const { from } = both;
  const named = since.headers.get(HISTORY_HEADER);
  if (since.status === 503) {
    expect(since.text).toMatch(/HISTORY_INCOMPLETE|ASKING_NODE/);
    expect([named, since.text.includes(String(from))]).toEqual([String(from), true]);
    expect(needsWhole(route) || history === 'account' || REFUSING.has(route.path)).toBe(true);
    return 'refused';
  }
  if (since.status === 404 && since.text.includes('BEFORE_HISTORY')) {
    expect(since.text).toContain(`block ${from}`);
    if (whole.status === 200) expect(heightOf(whole.body, both) ?? 0).toBeLessThan(from);
    return 'not found';
  }
  if (EXPLAINING.has(route.path) && since.status === 200 && [400, 404].includes(whole.status)) {
    expect([named, since.body.results]).toEqual([String(from), []]);
    return 'cut';
  }
  expect(since.status).toBe(whole.status);
  if (since.status !== 200 || !isPartial(history)) {
    expect([named, needsWhole(route) && since.status === 200]).toEqual([null, false]);
    const { history_from: begins = from, ...body } = since.body;
    if (history === 'account' && body.locked?.lock_tx_id === null) whole.body.locked = withoutMaking(whole.body.locked);
    expect([begins, body]).toEqual([from, { ...whole.body }]);
    return history === 'account' ? 'account' : 'equal';
  }
  expect(named).toBe(String(from));
  return compareRows(route, both, whole.body, since.body);
}

/** Compares the list of the server with the later start to the other server's list of the blocks since then. */
function compareRows({ path }: Route, both: ServerPair, whole: Answer['body'], since: Answer['body']): 'equal' | 'cut' {
  const exact = ESTIMATES[path];
  if (exact !== undefined) {
    expect(exact.map((name) => since[name])).toEqual(exact.map((name) => whole[name]));
    return 'equal';
  }
  const inOrder = (rows: unknown[]) => (path === COUNTS ? rows.toReversed() : rows);
  const [wholeRows, sinceRows] = [rowsOf(whole), rowsOf(since)];
  if (wholeRows === undefined || sinceRows === undefined) {
    const { known, lacking } = partsOf(whole, since);
    for (const part of lacking) expect(heightOf(part, both) ?? 0).toBeLessThan(both.from);
    expect(withoutNames(known, since)).toEqual(withoutNames(since, since) as never);
    return lacking.length > 0 ? 'cut' : 'equal';
  }
  if (path === SEARCH) {
    const ids = new Set((wholeRows as { id: string }[]).map(({ id }) => id));
    const others = (sinceRows as { id: string }[]).filter(({ id }) => !ids.has(id));
    // Only a whole list that is full has left something out.
    expect(others.length === 0 || wholeRows.length >= sinceRows.length).toBe(true);
    return sinceRows.length < wholeRows.length ? 'cut' : 'equal';
  }
  const hasHeights = wholeRows.length > 0 && wholeRows.every((row) => heightOf(row, both) !== undefined);
  const expected = hasHeights
    ? wholeRows.filter((row) => heightOf(row, both)! >= both.from)
    : inOrder(wholeRows).slice(0, sinceRows.length);
  // Another page of the whole list may continue with the rows of the first page since then.
  const isWhole = whole.total === undefined || whole.total === wholeRows.length;
  const compared = hasHeights ? sinceRows.slice(0, isWhole ? sinceRows.length : expected.length) : inOrder(sinceRows);
  expect(withoutNames(compared, compared)).toEqual(withoutNames(expected, compared) as never);
  if (typeof since.total === 'number' && isWhole) expect(since.total).toBe(sinceRows.length);
  return sinceRows.length < wholeRows.length ? 'cut' : 'equal';
}

/** Splits an answer by id into the parts that the server with the later start found, and the rest. Any other answer is one part. */
function partsOf(whole: Answer['body'], since: Answer['body']): { known: object; lacking: unknown[] } {
  const isLacking = (id: string) => since[id]?.found === false && whole[id]?.found === true;
  const parts = Object.entries(whole).map(([id, part]) => [id, isLacking(id) ? since[id] : part]);
  const lacking = Object.keys(whole).flatMap((id) => (isLacking(id) ? [whole[id]] : []));
  return { known: Object.fromEntries(parts), lacking };
}

/** Draws requests of routes for things that a chain has. */
class Requests {
  private constructor(
    readonly from: number,
    readonly prng: Prng,
    readonly candidates: Candidates,
    /** Blocks on both sides of the first one, with their transactions. */
    readonly blocks: {
      height: number;
      hash: string;
      index_block_hash: string;
      burn_block_height: number;
      txs: string[];
    }[],
  ) {}

  static async of(whole: Server, from: number, prng: Prng): Promise<Requests> {
    const get = (target: string) => whole.ask(target);
    const { height: tip } = (await get('/extended/v2/blocks/latest')).body;
    const heights = [from - 1, from, Math.min(from + 1, tip), 1 + prng.below(from)];
    const blocks = await Promise.all(
      heights.map(async (height) => ({
        ...(await get(`/extended/v2/blocks/${height}`)).body,
        txs: (await get(`/extended/v1/block/by_height/${height}`)).body.txs,
      })),
    );
    return new Requests(from, prng, await candidatesOf(get), blocks);
  }

  /** Returns a value of a parameter: from a block, if the parameter names something in a block, or else from the chain. */
  #value(route: Route, name: string, example: unknown): unknown {
    const { prng } = this;
    const block = prng.pick(this.blocks);
    const isBurn = /burn-blocks|burn_block/.test(route.path);
    const ofBlock: Record<string, readonly unknown[]> = {
      tx_id: block.txs,
      id: [...block.txs, block.hash, ...(this.candidates.valuesFor('', 'principal') ?? [])],
      hash: [block.hash],
      block_hash: [block.hash],
      height: [block.height],
      block_height: [block.height],
      burn_block_height: [block.burn_block_height],
      until_block: [block.height],
      height_or_hash: isBurn ? [block.burn_block_height, 'latest'] : [block.height, block.index_block_hash, 'latest'],
    };
    const others = this.candidates.valuesFor(route.detail.operationId, name) ?? [];
    const atBlock = prng.chance(0.2) ? [] : (ofBlock[name] ?? []);
    return prng.pick([atBlock, others, [example]].find(({ length }) => length > 0)!);
  }

  /** Draws a request with the required parameters of the route, and some optional ones. */
  draw(route: Route): string {
    const values: Record<string, unknown> = {};
    for (const { name, required, example, schema } of route.detail.parameters) {
      if (name === 'limit') values[name] = schema.maximum;
      else if (required || (name !== 'cursor' && this.prng.chance(0.2)))
        values[name] = this.#value(route, name, example);
    }
    return targetOf(route, values);
  }
}

/** Two servers of a chain: one with the whole chain, and one that starts at a block. */
class ServerPair implements Disposable {
  private constructor(
    readonly whole: Server,
    readonly since: Server,
    readonly from: number,
    /** Heights of the blocks of all transactions, by their ids. */
    readonly heights: ReadonlyMap<string, number>,
  ) {}

  /** @param isAnswered whether the node has answered for an account below the first block, by the account's number */
  static async of(
    events: readonly NodeEvent[],
    { height, parent, events: ofBegun }: Beginning,
    isAnswered: (account: number) => boolean,
  ): Promise<ServerPair> {
    const above = new Set(ofBegun);
    const tree = new BlockTree();
    for (const event of events) if (event.path === '/new_block') tree.add(event);
    const chain = new Set(tree.chain().map(({ event }) => event));
    const hasLost = (event: NodeEvent): boolean =>
      event.path === '/new_block' && !chain.has(event) && JSON.parse(event.body).block_height > 0;
    // After a later start, earlier pending transactions aren't known, nor are transactions that returned from orphaned
    // blocks to the mempool.
    const isKnown = (event: NodeEvent): boolean =>
      above.has(event) || !(event.path.includes('mempool') || hasLost(event));
    const whole = new Server(events.filter(isKnown));
    const accounts = await whole.accountsSince(height, parent);
    const since = new Server([...ofBegun, ...accounts.filter((_, index) => isAnswered(index))], { node: whole });
    return new ServerPair(whole, since, height, await whole.heights());
  }

  [Symbol.dispose](): void {
    this.whole[Symbol.dispose]();
    this.since[Symbol.dispose]();
  }
}

/**
 * Reports whether later events leave the blocks below the start unchanged: no block arrives there, and no announced transaction has
 * a nonce that a canonical block used there. Such a transaction stays pending, because the index doesn't know about the nonce.
 */
function isApart(all: readonly NodeEvent[], { height, events }: Beginning): boolean {
  const tree = new BlockTree();
  for (const event of all) if (event.path === '/new_block') tree.add(event);
  const below = tree.chain().filter(({ head }) => head.block_height < height);
  const noncesIn = (raw: string): string[] => {
    const read = transactionContent(fromHex(raw));
    const { sender, sponsor } = read.ok ? read.value : { sender: null, sponsor: null };
    return [sender, sponsor].flatMap((party) => (party === null ? [] : [`${party.address} ${party.nonce}`]));
  };
  const used = new Set(below.flatMap(({ head }) => head.transactions.flatMap(({ raw_tx }) => noncesIn(raw_tx))));
  const usesOld = (raw: string) => noncesIn(raw).some((nonce) => used.has(nonce));
  const isOfBelow = ({ path, body }: NodeEvent): boolean =>
    path === '/new_block'
      ? JSON.parse(body).block_height < height
      : path === '/new_mempool_tx' && JSON.parse(body).some(usesOld);
  return height > 1 && !events.some(isOfBelow);
}

const chainOf = (seed: number): NodeEvent[] => [
  ...devnetEvents({ seed, blocks: 30, accounts: 6, transactionsPerBlock: 4, staking: 20, forkEvery: 12 }),
];

test('each answer equals that of the whole chain, has only the rows since the first block, or reports the missing history', async () => {
  const seen = new Seen({ refused: 20, 'not found': 10, equal: 40, cut: 20, account: 1 });
  await assertProperty(
    fc.asyncProperty(fc.nat({ max: 10_000 }), fc.nat({ max: 1_000 }), async (seed, choice) => {
      const events = chainOf(seed);
      const possible = beginnings(events).filter((beginning) => isApart(events, beginning));
      const beginning = possible[choice % possible.length];
      if (beginning === undefined) return;
      using both = await ServerPair.of(events, beginning, (account) => account % 3 > 0);
      const requests = await Requests.of(both.whole, both.from, new Prng(`history ${seed} ${choice}`));
      for (const route of [...routes, ...routes.filter((item) => !needsWhole(item))]) {
        const target = requests.draw(route);
        const [whole, since] = [await both.whole.ask(target), await both.since.ask(target)];
        try {
          seen.add(compare(route, both, whole, since));
        } catch (error) {
          throw new Error(`${target} from block ${both.from}: ${error}`, { cause: error });
        }
      }
    }),
    // Transactions of an orphaned block at the index's start are pending, or compete with others.
    // The second chain has a contract that holds STX and was deployed below the start.
    // In the third, the node announces transactions before the first block.
    {
      seen,
      cases: 1,
      shrink: false,
      examples: [
        [7898, 312],
        [13, 767],
        [9364, 620],
      ],
    },
  );
});

test("a Bitcoin block with a canonical Stacks block before the index doesn't return an orphaned block", async () => {
  const events = chainOf(5);
  const beginning = beginnings(events).find(({ height }) => height === 23)!;
  using both = await ServerPair.of(events, beginning, () => true);
  const route = routes.find(({ path }) => path === '/extended/v1/block/by_burn_block_height/{burn_block_height}')!;
  const { burn_block_height: height, burn_block_hash: hash } = (await both.whole.ask('/extended/v2/blocks/22')).body;
  for (const target of [
    `/extended/v1/block/by_burn_block_height/${height}`,
    `/extended/v1/block/by_burn_block_hash/${hash}`,
    `/extended/v2/burn-blocks/${height}/blocks`,
  ]) {
    const [whole, since] = [await both.whole.ask(target), await both.since.ask(target)];
    expect([target, whole.status, since.status]).toEqual([target, 200, 404]);
    expect(compare(route, both, whole, since)).toBe('not found');
  }
});

describe('an index that starts at block 20', () => {
  const events = [...devnetEvents({ seed: 3, blocks: 30, accounts: 6, transactionsPerBlock: 4, forkEvery: 0 })];
  const chosenBeginning = beginnings(events).find(({ height }) => height === 20)!;
  let both: ServerPair;
  let whole: Server;
  let since: Server;
  beforeAll(async () => {
    both = await ServerPair.of(events, chosenBeginning, (account) => account % 2 === 0);
    ({ whole, since } = both);
  });
  afterAll(() => both[Symbol.dispose]());
  const header = ({ headers }: Answer) => headers.get(HISTORY_HEADER);

  test('returns its first height, and an index of the whole chain returns none', async () => {
    expect((await since.ask('/extended')).body).toMatchObject({ history_from: 20, chain_tip: { block_height: 30 } });
    expect((await whole.ask('/extended')).text).not.toContain('history');
    for (const { path } of routes) expect(header(await whole.ask(path.replaceAll(/[{}]/g, '')))).toBeNull();
  });

  test('returns accounts that the node sent, and requests untouched accounts from the node', async () => {
    using withoutNode = new Server(chosenBeginning.events);
    const touched = new Set((await whole.accountsSince(20)).map(({ body }) => JSON.parse(body).principal));
    const ever = (await whole.accountsSince(1)).map(({ body }) => JSON.parse(body).principal as string);
    const idle = ever.find((account) => !touched.has(account) && !account.includes('.'))!;
    const accounts = (await whole.accountsSince(20)).map(({ body }) => JSON.parse(body).principal as string);
    const [known, waiting] = [0, 1].map((place) =>
      accounts.find((account, index) => index % 2 === place && !account.includes('.')),
    );
    for (const path of [
      'v3/principals/ADDRESS/nonces',
      'v3/principals/ADDRESS/balances/stx',
      'v1/address/ADDRESS/nonces',
    ]) {
      const askSince = (address: string) => since.ask(`/extended/${path.replace('ADDRESS', address)}`);
      const route = routes.find((item) => item.path === `/extended/${path}`.replace('ADDRESS', '{principal}'))!;
      const atAll = await whole.ask(`/extended/${path.replace('ADDRESS', known!)}`);
      expect(compare(route, both, atAll, await askSince(known!))).toBe('account');
      const asking = await askSince(waiting!);
      expect([asking.status, asking.body.code, header(asking)]).toEqual([503, 'ASKING_NODE', '20']);
      expect(asking.body.message).toContain(`the account ${waiting} before block 20`);
      expect(asking.headers.get('retry-after')).toBe('1');
      const untouched = await whole.ask(`/extended/${path.replace('ADDRESS', idle)}`);
      expect(compare(route, both, untouched, await askSince(idle))).toBe('account');
      const alone = await withoutNode.ask(`/extended/${path.replace('ADDRESS', idle)}`);
      expect([alone.status, alone.body.code, header(alone)]).toEqual([503, 'HISTORY_INCOMPLETE', '20']);
      expect(alone.body.message).toContain(`/v2/accounts/${idle}`);
    }
    const post = async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', body: JSON.stringify(body), headers };
      return [whole, since].map((server) => server.ask('/stackside/v1/principals/balances', init));
    };
    const [wholeAnswer, sinceAnswer] = await Promise.all(await post({ principals: [known] }));
    expect(sinceAnswer!.body).toMatchObject({
      results: [{ principal: known, stx: { balance: wholeAnswer!.body.results[0].stx.balance } }],
    });
    const token = `${alice.address}.token::coin`;
    for (const [request, code] of [
      [{ principals: [known, waiting] }, 'ASKING_NODE'],
      [{ principals: [known], fungible_tokens: [token] }, 'HISTORY_INCOMPLETE'],
    ] as const) {
      const [, refused] = await Promise.all(await post(request));
      expect([refused!.status, refused!.body.code]).toEqual([503, code]);
    }
  });

  test('counts only the rows that it lists', async () => {
    const blocks = await since.ask('/extended/v2/blocks?limit=30');
    expect([blocks.body.total, blocks.body.results.length, blocks.body.results.at(-1).height]).toEqual([11, 11, 20]);
    expect((await since.ask('/extended/v1/block?limit=1&offset=11')).body).toMatchObject({ total: 11, results: [] });
    expect((await since.ask('/extended/v2/blocks?limit=1&offset=300')).body).toMatchObject({ results: [] });
    expect((await since.ask('/extended/v1/block?offset=10000000')).body).toMatchObject({ total: 11, results: [] });
  });

  test('lists no calls and logs of a contract that may be older', async () => {
    for (const path of EXPLAINING) {
      const target = path.replace('{contract_id}', 'ST000000000000000000002AMW42H.unknown');
      expect((await whole.ask(target)).status).toBe(404);
      expect(await since.ask(target)).toMatchObject({ status: 200, body: { results: [] } });
    }
  });

  test('returns BEFORE_HISTORY for events and balance changes of a named transaction that may be older', async () => {
    const [older, newer] = await Promise.all(
      [19, 21].map(async (height) => (await whole.ask(`/extended/v3/blocks/${height}/transactions`)).body.results[0]),
    );
    const { address } = newer.sender;
    const unknown = `0x${'77'.repeat(32)}`;
    for (const lacking of [older.tx_id, unknown]) {
      for (const target of [
        `/extended/v3/principals/${address}/transactions/${lacking}/balance-changes`,
        `/extended/v3/principals/${address}/balance-changes?tx_id=${lacking}`,
        `/extended/v3/principals/${address}/balance-changes?tx_id=${newer.tx_id},${lacking}`,
        `/extended/v1/tx/events?tx_id=${lacking}`,
      ]) {
        const answer = await since.ask(target);
        const message = `Transaction ${lacking} not found; the history of this server begins at block 20`;
        expect([target, answer.status, answer.body.code, header(answer)]).toEqual([
          target,
          404,
          'BEFORE_HISTORY',
          '20',
        ]);
        expect(answer.body.message).toBe(message);
        expect((await whole.ask(target)).status).toBe(200);
      }
    }
    for (const path of [`transactions/${newer.tx_id}/balance-changes`, `balance-changes?tx_id=${newer.tx_id}`]) {
      const target = `/extended/v3/principals/${address}/${path}`;
      const answer = await since.ask(target);
      expect([answer.status, header(answer), answer.body]).toEqual([200, null, (await whole.ask(target)).body]);
      expect(answer.body.total).toBeGreaterThan(0);
    }
    expect((await since.ask(`/extended/v1/tx/events?tx_id=${newer.tx_id}`)).status).toBe(200);
  });

  test('returns BEFORE_HISTORY for lists of one tenure or Bitcoin block that may be older', async () => {
    const [older, first] = await Promise.all(
      [1, 20].map(async (height) => (await whole.ask(`/extended/v2/blocks/${height}`)).body),
    );
    const unknown = `0x${'77'.repeat(32)}`;
    for (const [target, name] of [
      [`/extended/v2/block-tenures/${older.tenure_height}/blocks`, 'Tenure'],
      [`/extended/v2/block-tenures/${older.tenure_height}/blocks?offset=1`, 'Tenure'],
      [`/extended/v2/burn-blocks/${older.burn_block_height}/pox-transactions`, 'Burn block'],
      [`/extended/v2/burn-blocks/${older.burn_block_hash}/pox-transactions`, 'Burn block'],
      [`/extended/v2/burn-blocks/${unknown}/pox-transactions`, 'Burn block'],
    ] as const) {
      const answer = await since.ask(target);
      const message = `${name} not found; the history of this server begins at block 20`;
      expect([target, answer.status, answer.body.code, header(answer)]).toEqual([target, 404, 'BEFORE_HISTORY', '20']);
      expect(answer.body.message).toBe(message);
      expect((await whole.ask(target)).status).toBe(200);
    }
    for (const target of [
      `/extended/v2/block-tenures/${first.tenure_height}/blocks`,
      '/extended/v2/burn-blocks/latest/pox-transactions',
    ]) {
      const answer = await since.ask(target);
      expect([target, answer.status, header(answer), answer.body.total > 0]).toEqual([target, 200, '20', true]);
    }
  });

  test('lists reward cycles and stacking events since its start, and refuses the signers of a cycle', async () => {
    const [{ cycle_number, ...cycle }] = (await whole.ask('/extended/v2/pox/cycles')).body.results;
    expect(cycle.block_height).toBeGreaterThan(0);
    const cycles = '/extended/v2/pox/cycles';
    for (const target of [cycles, '/extended/v1/pox4/events', `/extended/v1/pox4/stacker/${alice.address}`]) {
      const answer = await since.ask(target);
      expect([target, answer.status, header(answer)]).toEqual([target, 200, '20']);
    }
    expect((await since.ask(`${cycles}/7`)).body.code).toBe('BEFORE_HISTORY');
    const signers = await since.ask(`${cycles}/${cycle_number}/signers`);
    expect([signers.status, signers.body.code]).toEqual([503, 'HISTORY_INCOMPLETE']);
  });

  test('returns the error in the format of each API version', async () => {
    const { body: older } = await whole.ask('/extended/v2/blocks/19');
    for (const id of ['19', '1', '31', older.hash, older.index_block_hash]) {
      const answer = await since.ask(`/extended/v2/blocks/${id}`);
      expect([id, answer.status, header(answer)]).toEqual([id, 404, '20']);
      const message = 'Block not found; the history of this server begins at block 20';
      expect(answer.body).toEqual({ statusCode: 404, code: 'BEFORE_HISTORY', error: 'Not Found', message });
    }
    const message = 'The answer needs older blocks: the history of this server begins at block 20';
    const refused = await since.ask('/extended/v3/tokens/stx/supply');
    expect([refused.status, header(refused)]).toEqual([503, '20']);
    expect(refused.body).toMatchObject({ code: 'HISTORY_INCOMPLETE', message });
    expect((await since.ask('/v1/names/muneeb.btc')).body).toEqual({ error: `${message} (HISTORY_INCOMPLETE)` });
    const unknown = await since.ask(`/extended/v1/search/0x${'77'.repeat(32)}`);
    expect(unknown.body).toMatchObject({ found: false, error: expect.stringContaining('20 (BEFORE_HISTORY)') });
  });

  test('sends the history header in fresh, cached, 304 and HEAD answers, and for a cursor of another server', async () => {
    const list = '/extended/v3/transactions?limit=40';
    const [fresh, ...cached] = [await since.ask(list), await since.ask(list), await since.ask(list)];
    const tag = fresh.headers.get('etag')!;
    for (const answer of cached) expect([answer.text, header(answer)]).toEqual([fresh.text, '20']);
    const unmodified = await since.ask(list, { headers: { 'if-none-match': tag } });
    expect([unmodified.status, header(unmodified)]).toEqual([304, '20']);
    const head = await since.ask(list, { method: 'HEAD' });
    expect([head.status, head.text, header(head), head.headers.get('etag')]).toEqual([200, '', '20', tag]);
    const refused = await since.ask('/extended/v3/tokens/stx/supply', { method: 'HEAD' });
    expect([refused.status, header(refused)]).toEqual([503, '20']);

    const wholePage = await whole.ask(list);
    // A copy of the whole list doesn't become one of this list, nor the other way round.
    expect((await since.ask(list, { headers: { 'if-none-match': wholePage.headers.get('etag')! } })).status).toBe(200);
    expect((await whole.ask(list, { headers: { 'if-none-match': tag } })).status).toBe(200);
    const refusedTag = { headers: { 'if-none-match': wholePage.headers.get('etag')! } };
    expect((await since.ask('/extended/v3/tokens/stx/holders', refusedTag)).status).toBe(503);

    let seen = 0;
    for (let page = wholePage; page.body.cursor.next !== null; ) {
      const next = `${list}&cursor=${page.body.cursor.next}`;
      page = await whole.ask(next);
      const sincePage = await since.ask(next);
      expect(header(sincePage)).toBe('20');
      const rows = page.body.results.filter((row: object) => heightOf(row, both)! >= 20);
      expect(sincePage.body.results).toEqual(rows);
      seen += rows.length;
    }
    expect(seen).toBeGreaterThan(0);
  });

  test('estimates times from its blocks, and omits incomplete windows', async () => {
    const times = await since.ask('/extended/v2/blocks/average-times');
    expect([times.status, header(times), times.body.last_30d > 0]).toEqual([200, '20', true]);
    using month = new Server(chosenBeginning.events, { later: 31 * 86_400_000 });
    const late = await month.ask('/extended/v2/blocks/average-times');
    expect([late.status, late.body.last_30d]).toEqual([200, 0]);
    expect((await since.ask('/stackside/v1/blocks/counts')).body).toEqual({ counts: [] });
  });
});
