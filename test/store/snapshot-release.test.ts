/**
 * The end of a read ends its snapshot: after each function of a reader, whether it ended in the middle or at its end, the
 * write-ahead log can be emptied, which a single reader of an old snapshot would prevent.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { BNS_CONTRACTS } from '../../src/chain/bns-v2.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { errorOf } from '../faults/fault-store.ts';
import { appOf } from '../support/api/app.ts';
import { getRoutes, isOfOperator, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { type OpenIngest, openNew, received } from '../support/data/ingest.ts';
import { NO_CONDITIONS } from '../support/data/transaction-conditions.ts';
import { casesOf, firstSeed } from '../support/property.ts';

const events = [...devnetEvents({ seed: 7, blocks: 44, accounts: 8, transactionsPerBlock: 6, staking: 30 })];

/** Limits that cut every list before its end, and every search before its target. */
const limits = {
  historyBatch: 3,
  activity: { transfers: 3, points: 3 },
  search: { sorted: 20, rows: 60, entries: 200 },
  values: { unindexed: 5, few: 5, quick: 5, sorted: 10, rows: 10, bytes: 10_000 },
};

/** Number of SQLite calls and of rows that are read one by one. */
let steps = 0;
/** The step that fails; none if it is 0. */
let failing = 0;
const spies: Disposable[] = [];

function step(): void {
  steps += 1;
  if (steps === failing) throw errorOf('io');
}

beforeAll(() => {
  const { prepare } = Database.prototype;
  function prepared(this: Database, sql: string, ...rest: never[]) {
    const statement = prepare.call(this, sql, ...rest);
    const { get, all, iterate } = statement;
    const countSteps = <F extends (...values: never[]) => unknown>(method: F) =>
      ((...values: never[]) => {
        if (!sql.startsWith('PRAGMA')) step();
        return method.apply(statement, values);
      }) as F;
    statement.get = countSteps(get);
    statement.all = countSteps(all);
    statement.iterate = ((...values: never[]) => {
      const rows = iterate.apply(statement, values);
      const next = rows.next.bind(rows);
      rows.next = () => {
        step();
        return next();
      };
      return rows;
    }) as typeof iterate;
    return statement;
  }
  spies.push(spyOn(Database.prototype, 'prepare').mockImplementation(prepared as typeof prepare));
});
afterAll(() => {
  for (const spy of spies) spy[Symbol.dispose]();
});

type Group = Readonly<Record<string, unknown>>;

/** Returns the names of a reader's functions, with their groups. */
const functionsOf = (group: Group, path = ''): string[] =>
  Object.entries(group).flatMap(([name, member]) => {
    if (typeof member === 'function') return [path + name];
    return typeof member === 'object' && member !== null ? functionsOf(member as Group, `${path}${name}.`) : [];
  });

/** A reader that notes which of its functions are called. */
const note = <T extends object>(group: T, called: Set<string>, path = ''): T =>
  new Proxy(group, {
    get(target, name) {
      const member = (target as Group)[name as string];
      if (typeof member === 'object' && member !== null) return note(member, called, `${path}${String(name)}.`);
      if (typeof member === 'function') called.add(`${path}${String(name)}`);
      return member;
    },
  });

/** Opens an index for reads and writes, with a check that nobody still reads an old snapshot. */
function readIndex(open: OpenIngest) {
  const snapshots = openSnapshots(open.directory, { limits });
  const called = new Set<string>();
  const db = new Database(indexPath(open.directory));
  db.run('PRAGMA synchronous = OFF');
  const write = db.prepare('UPDATE progress SET mempool_version = mempool_version + 1');
  const empty = db.prepare<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)');
  const read: Snapshots['read'] = (request) => snapshots.read((reader) => request(note(reader, called)));
  const readLong: Snapshots['readLong'] = (request) => snapshots.readLong((reader) => request(note(reader, called)));
  return {
    readLong,
    called,
    functions: () => snapshots.read((reader) => functionsOf(reader)),
    app: appOf({ snapshots: { ...snapshots, read, readLong }, version: 'stackside v0 (test:test)', log: () => {} }),
    /** Reads while the WAL holds pages that the snapshot needs. @returns whether the WAL can be truncated afterwards */
    async endsAfter(request: () => Promise<unknown>): Promise<boolean> {
      write.run();
      await request();
      return empty.get()?.busy === 0;
    },
    [Symbol.dispose]() {
      snapshots.close();
      db.close();
    },
  };
}

/** A call of a reader. */
type Call = (read: Reader) => unknown;

/** The functions that read chainhooks take ids, counts and heights: any number is valid. */
type HookCalls = Readonly<Record<string, Readonly<Record<string, (...values: number[]) => unknown>>>>;

/** Returns calls of all functions that read chainhooks, because their routes require a key. */
const hookCalls = ({ hooks }: Reader): [string, Call][] =>
  Object.entries(hooks as unknown as HookCalls).flatMap(([group, functions]) =>
    Object.keys(functions).map((name): [string, Call] => [
      `hooks.${group}.${name}`,
      async (read) => {
        const value = await (read.hooks as unknown as HookCalls)[group]?.[name]?.(1, 10, 1);
        return typeof value === 'object' && value !== null && Symbol.iterator in value ? [...(value as [])] : value;
      },
    ]),
  );

/** Returns calls of functions that random URLs rarely reach or that no route calls, with values from the index. */
async function directCalls(read: Reader, principals: Iterable<string>): Promise<Record<string, Call>> {
  const tip = read.chain.tip();
  const { items: pending } = read.mempool.page(1, null, models);
  const { items: newest } = read.transactions.page(1, null, models);
  const cycle = read.rewardCycles.find('current');
  const [txId, mined] = [pending[0]?.txId, newest[0]?.txId];
  if (tip === null || txId === undefined || mined === undefined || cycle === undefined) throw new Error('no chain');
  const key = read.rewardCycles.signers(cycle.cycle, 1, 0).items[0]?.key ?? new Uint8Array(33);
  const [height, [holder = '']] = [tip.height, [...principals]];
  const histories = [...principals].map((principal): [string, Call] => [
    `history of ${principal}`,
    async ({ history }) => {
      const walk = history.begin(principal, { from: null, to: null });
      while (walk !== null && history.next(walk) !== null);
    },
  ]);
  return {
    ...Object.fromEntries([...histories, ...hookCalls(read)]),
    chainId: ({ chain }) => chain.chainId(),
    historyFrom: async ({ chain }) => chain.historyFrom(),
    newest: ({ changes }) => changes.newest(),
    after: ({ changes }) => changes.after(0, 10),
    parties: ({ changes }) => changes.parties(height),
    nftEvents: ({ changes }) => changes.nftEvents(height),
    orphan: ({ changes }) => changes.orphan(tip.indexBlockHash),
    range: async ({ blocks }) => blocks.range(1, height),
    announced: async ({ blocks }) => blocks.announced(tip.indexBlockHash, true),
    loads: ({ tenures }) => tenures.loads(3),
    slice: async ({ events: queries }) => queries.page(mined, 3, 0),
    count: ({ events: queries }) => queries.count(mined, ['stx']),
    eventCount: ({ addresses }) => addresses.eventCount(holder, ['stx', 'ft', 'nft', 'stx_lock']),
    primaryOf: ({ bnsNames }) => bnsNames.primaryOf(BNS_CONTRACTS.testnet, holder),
    lastFirst: ({ events: queries }) => queries.lastFirst(mined, ['stx'], 3, 0),
    findAnnounced: ({ mempool }) => mempool.findAnnounced(txId),
    feeRank: ({ mempool }) => mempool.feeRank(txId),
    projection: ({ mempool }) => mempool.projection(),
    projected: ({ mempool }) => mempool.projected(txId),
    forks: ({ forks }) => forks.page(height, 5, null),
    fork: ({ forks }) => forks.find(tip.indexBlockHash),
    inProjectedBlock: ({ mempool }) => mempool.inProjectedBlock(1, 2),
    events: ({ addresses }) => addresses.events(holder, ['stx', 'ft', 'nft'], 2, 1),
    nftHistory: ({ tokenLists }) => tokenLists.nftHistory(`${holder}.collectible-0::card`, mined, 2, 0, true),
    tokenContract: ({ tokenMetadata }) => tokenMetadata.contract(`${holder}.token-0`),
    token: ({ tokenMetadata }) => tokenMetadata.token(`${holder}.token-0`, 1n),
    fts: ({ tokenMetadata }) => {
      const filter = { name: 'demo', symbol: null, address: null };
      return tokenMetadata.fts(filter, { by: 'symbol', direction: 'desc' }, 2, 1);
    },
    tokenCounts: ({ tokenMetadata }) => tokenMetadata.counts(),
    tokenQueue: ({ tokenMetadata }) => tokenMetadata.queue(0, 1),
    toSpread: ({ tokenMetadata }) => tokenMetadata.toSpread(),
    tokensVersion: async ({ tokenMetadata }) => tokenMetadata.version(),
    ofAsset: ({ tokenMetadata }) => tokenMetadata.ofAsset(`${holder}.token-0::coin`),
    listedContracts: ({ directories }) => directories.contracts({ order: 'calls', family: null }, null, 2, null),
    listedFts: ({ directories }) => directories.fts('transfers', null, 2, null),
    listedNfts: ({ directories }) => directories.nfts('holders', null, 2, null),
    listedNames: ({ names }) => names.list('btc', 2, null),
    listedName: ({ names }) => names.listed('a.btc'),
    presentOwner: ({ tokenLists }) => tokenLists.nftOwner(`${holder}.collectible-0::card`, mined),
    contract: ({ contracts }) => contracts.find(`${holder}.collectible-0`),
    searchCalls: ({ contracts }) => {
      const heights = { from: null, to: null };
      const filter = { functionName: null, statuses: null, order: 'desc', heights, fields: [] } as const;
      return contracts.searchCalls(`${holder}.collectible-0`, filter, 2, null);
    },
    walkLogs: ({ contracts }) => {
      const heights = { from: null, to: null };
      const filter = {
        contracts: { deployer: holder },
        topic: null,
        sender: null,
        functionName: null,
        order: 'desc',
        heights,
        fields: [],
      } as const;
      return contracts.walkLogs(filter, 2, null);
    },
    search: ({ search }) => search('o', 20),
    knowledge: ({ principals: queries }) => queries.knowledge(holder),
    unasked: ({ principals: queries }) => queries.listPending(0, 10),
    start: ({ chain }) => chain.start(),
    isKnown: ({ principals: queries }) => queries.isKnown(holder),
    factsOfBlock: ({ facts }) => facts.block(height),
    touched: ({ facts }) => facts.touched(height, height),
    account: ({ facts }) => facts.account(holder, height),
    ftBalance: ({ facts }) => facts.ftBalance(`${holder}.token-0::coin`, holder, height),
    nftOwner: ({ facts }) => facts.nftOwner(`${holder}.collectible-0::card`, mined, height),
    deployed: ({ facts }) => facts.contract(`${holder}.collectible-0`),
    signersOfCycle: ({ facts }) => facts.signers(cycle.cycle),
    rewarded: ({ tenureRewards }) => tenureRewards.rewarded(1, height),
    tenureFees: ({ tenureRewards }) => tenureRewards.fees(1, height),
    meeting: ({ transactions }) => transactions.meeting(NO_CONDITIONS, 'desc', 5, null, models),
    pendingMeeting: ({ mempool }) => mempool.meeting(NO_CONDITIONS, 'fee', 5, null),
    newestReward: ({ tenureRewards }) => tenureRewards.newest(height),
    burnHash: ({ burnRewards }) => burnRewards.hashAt(1),
    unlinked: ({ burnRewards }) => burnRewards.unlinkedBelow(1, 0),
    withoutPayouts: ({ burnRewards }) => burnRewards.withoutPayouts(),
    lastPlace: async ({ steps }) => steps.heightAt(steps.last()),
    placeOfAnotherLog: async ({ steps }) => steps.here({ ...steps.before(height), log: 'ab'.repeat(16) }),
    passed: async ({ steps }) => steps.pass(steps.before(height), height),
    stxSupplyAt: ({ tokens }) => tokens.stxSupplyAt(height),
    signers: ({ rewardCycles }) => rewardCycles.signers(cycle.cycle, 2, 0),
    signer: ({ rewardCycles }) => rewardCycles.signer(cycle.cycle, key),
    stackers: ({ rewardCycles }) => rewardCycles.stackers(cycle.cycle, key, 2, 0),
    findSubdomain: ({ names }) => names.findSubdomain('a.b.btc'),
    resolver: ({ names }) => names.resolver('a.b.btc'),
  };
}

test('a read that ends early or late leaves no snapshot behind', async () => {
  using open = openNew();
  const subjects = new Subjects();
  for (const event of events) {
    open.ingest.apply(received(event));
    subjects.add(event);
  }
  open.ingest.commit();
  using index = readIndex(open);
  const prng = new Prng(`ended reads ${firstSeed}`);
  const failures: object[] = [];

  /** @param step the step that fails; none if it is 0. @returns the steps that it took */
  async function tryOnce(name: string, request: () => Promise<unknown>, step: number): Promise<number> {
    [steps, failing] = [0, step];
    if (!(await index.endsAfter(request))) failures.push({ name, step });
    failing = 0;
    return steps;
  }
  async function tryEnds(name: string, request: () => Promise<unknown>): Promise<void> {
    const total = await tryOnce(name, request, 0);
    for (const step of new Set([prng.between(1, total + 1), total])) await tryOnce(name, request, step);
  }

  const document: unknown = await (await index.app.handle(new Request('http://localhost/docs/json'))).json();
  for (const route of getRoutes(document).filter((item) => !isOfOperator(item))) {
    // A URL with only the required parameters, which the route accepts.
    const plain = { ...route, parameters: route.parameters.filter(({ required }) => required) };
    for (let attempt = 0; attempt <= casesOf(1); attempt++) {
      const url = randomUrl(attempt === 0 ? plain : route, subjects, prng);
      await tryEnds(url, async () => {
        const response = await index.app.handle(new Request(`http://localhost${url}`));
        // The client abandons every other response.
        if (attempt % 2 === 0) await response.arrayBuffer();
        else await response.body?.cancel();
      });
    }
  }
  const direct = await index.readLong((read) => directCalls(read, subjects.principals));
  for (const [name, call] of Object.entries(direct)) {
    await tryEnds(name, () => index.readLong(async (read) => call(read)).catch(() => {}));
  }
  const uncalled = index.functions().filter((name) => !index.called.has(name));
  expect(uncalled, 'no route calls these: call them in directCalls').toEqual([]);
  expect(failures).toEqual([]);
});
