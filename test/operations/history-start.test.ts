/** Servers next to a node that already has its chain: their history starts at a block. */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { initCluster } from '../../src/commands/cluster/cluster.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { answerRpc, RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { PartialHistoryError } from '../../src/store/ingest/history-start.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { NO_NODE, serving } from '../support/servers/serving.ts';
import { served } from '../support/servers/simulated-rpc.ts';
import { until } from '../support/time/until.ts';

const chain = new SimulatedChain({ seed: 5, accounts: 10, transactionsPerBlock: 6, operations: false, mempool: false });
const allEvents: NodeEvent[] = [];
function mine(blocks: number): NodeEvent[] {
  const events = mineTo(chain, chain.tip.height + blocks, (height) => ({ newTenure: height % 3 === 0 }));
  allEvents.push(...events);
  return events;
}
mine(12);

/** Paths that the node doesn't answer, and false answers that replace the real ones. */
let isAway = (_path: string): boolean => false;
let lie = (_path: string): unknown => undefined;
const node = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (isAway(pathname)) return new Response('', { status: 503 });
    const lied = lie(pathname);
    return lied === undefined ? answerRpc(served(chain), request) : Response.json(lied);
  },
});
afterAll(() => node.stop(true));

/** Periods of at least a minute don't affect the start of a history. */
const UPKEEP_MS = 60_000;

/** Time that the clock is ahead. */
const wait = { skipped: 0 };
/** Pause after a failed fill, between two attempts to start, and before a request is repeated. */
const [PAUSE_MS, RETRY_MS, REQUEST_RETRY_MS] = [10_000, 5_000, 500];
/** Shortest wait that isn't shortened. */
let longMs = UPKEEP_MS;
/** Waits during the start of the history are short. */
const clock = {
  ...realEnvironment.clock,
  monotonic: () => realEnvironment.clock.monotonic() + wait.skipped,
  after: (milliseconds: number, call: () => void) =>
    realEnvironment.clock.after(milliseconds < longMs ? Math.min(milliseconds, 5) : milliseconds, call),
};

async function start(directory: string, flags: Record<string, string> = {}) {
  const logged: LogEvent[] = [];
  const settings = { nodeRpc: node.url.origin, logLevel: 'info', threads: '0', ...flags };
  const createLog = () => (event: LogEvent) => void logged.push(event);
  const server = await serving(settings, directory, {}, { clock, createLog });
  return { ...server, logged, metric: (name: string) => metricOf(server.api, name) };
}

/** Writes the node's token into a file. */
function tokenIn(directory: string): string {
  const path = join(directory, 'token');
  writeFileSync(path, RPC_TOKEN, { mode: 0o600 });
  return path;
}

const problemOf = (directory: string, flags = {}): Promise<unknown> =>
  start(directory, flags).then(
    (server) => server[Symbol.asyncDispose]().then(() => 'it started'),
    (error: unknown) => error,
  );

const isFailing = (log: LogEvent): boolean => log.event === 'service_failing' && log.service === 'starting_accounts';

/** The start of a history, and the state of each account that its blocks touched. */
async function stateOf(directory: string) {
  using snapshots = snapshotsOf(directory);
  return await snapshots.readLong(async (reader) => {
    const from = reader.chain.historyFrom();
    const touched = new Set<string>();
    for (let height = from ?? 1; height <= reader.height(); height++) {
      for (const principal of reader.facts.touched(height, height).principals) touched.add(principal);
    }
    const accounts = await Promise.all(
      [...touched].map(async (principal) => {
        const { balance, locked } = reader.principals.stxBalance(principal);
        const known = reader.principals.knowledge(principal);
        return { principal, known, balance, locked: locked?.amount ?? 0n };
      }),
    );
    return { from, height: reader.height(), accounts };
  });
}

const starts = (logged: readonly LogEvent[]) => logged.filter(({ event }) => event === 'history_starting');

test('without a token, a history starts at the first posted block, and accounts are requested even after the node was down', async () => {
  using directory = dataDirectory();
  const first = chain.tip.height + 1;
  {
    await using server = await start(directory.path);
    // Starting with the first block, the server looks up the accounts that blocks touch.
    await server.post([chain.restart(), ...mine(3)]);
    expect(starts(server.logged)).toEqual([
      {
        event: 'history_starting',
        from_height: first,
        reason: "Stackside doesn't have the node's auth token",
        remedy: expect.stringContaining('--node-config or --node-auth-file'),
      },
    ]);
    await until(async () => (await server.metric('stackside_account_lookups_total')) > 5);
    await until(async () => (await server.metric('stackside_account_lookups_pending')) === 0);
    isAway = (path) => path.startsWith('/v2/accounts');
    const before = server.logged.length;
    // An account that no block has touched yet.
    await server.post(mine(6));
    await until(async () => (await server.metric('stackside_account_lookups_pending')) > 0);
    await until(() => server.logged.slice(before).some(isFailing));
    const { accounts } = await stateOf(directory.path);
    expect(new Set(accounts.map(({ known }) => known))).toEqual(new Set(['known', 'asking']));
    expect(server.logged.filter(isFailing)).toHaveLength(1);
  }
  isAway = () => false;
  for (let times = 0; times < 2; times++) {
    await using server = await start(directory.path);
    await server.post(mine(1));
    await until(async () => (await server.metric('stackside_account_lookups_pending')) === 0);
  }
  using whole = ingestOf(allEvents.map(received));
  const [partial, full] = [await stateOf(directory.path), await stateOf(whole.path)];
  expect([partial.from, partial.height]).toEqual([first, chain.tip.height]);
  expect(directoryStatus(directory.path).history_from).toBe(first);
  expect(directoryStatus(whole.path).history_from).toBeNull();
  const expected = new Map(full.accounts.map((account) => [account.principal, account]));
  for (const account of partial.accounts) expect(account).toEqual(expected.get(account.principal)!);
  expect(problemsIn(directory.path, { deep: silentMachine })).toEqual([]);

  for (const needed of [{ cluster: 'postgres://127.0.0.1:1/nothing' }, { history: 'full' }]) {
    const problem = await problemOf(directory.path, needed);
    expect(problem).toBeInstanceOf(PartialHistoryError);
    expect(String(problem)).toContain(`starts at block ${first}`);
  }
  const shared = readSettings({ data: directory.path, cluster: 'postgres://127.0.0.1:1/nothing' }, {});
  await expect(initCluster(shared as never)).rejects.toBeInstanceOf(PartialHistoryError);
});

/** A node with its own chain, which refuses some requests. */
function smallNode(blocks: number, refuses: (path: string) => Response | undefined = () => undefined) {
  const small = new SimulatedChain({ seed: 12, accounts: 6, operations: false, mempool: false });
  const grow = (count = 1) => mineTo(small, small.tip.height + count, () => ({ newTenure: true, transactions: 2 }));
  grow(blocks);
  const fetch = (request: Request) => refuses(new URL(request.url).pathname) ?? answerRpc(served(small), request);
  const its = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
  return { grow, url: its.url.origin, [Symbol.dispose]: () => void its.stop(true) };
}

/** Starts a server with a token next to a node with its own chain. */
async function startBeside(...options: Parameters<typeof smallNode>) {
  const directory = dataDirectory();
  const files = dataDirectory();
  const small = smallNode(...options);
  const server = await start(directory.path, { nodeAuthFile: tokenIn(files.path), nodeRpc: small.url });
  return {
    ...server,
    grow: small.grow,
    state: () => stateOf(directory.path),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      for (const resource of [small, files, directory]) resource[Symbol.dispose]();
    },
  };
}

const isFilled = ({ event }: LogEvent): boolean => event === 'gap_filled';
/** Height of the first block of a short chain: the second Nakamoto block. */
const LOWEST = 2;
const refused = () => new Response('', { status: 401 });
const away = () => new Response('', { status: 503 });

test('a history starts below the tip of a node that starts after Stackside', async () => {
  let isUp = false;
  await using server = await startBeside(14, () => (isUp ? undefined : away()));
  await until(() => starts(server.logged).length > 0);
  isUp = true;
  await until(() => server.logged.some(isFilled));
  expect((await server.state()).from).toBe(LOWEST);
  expect(starts(server.logged)).toMatchObject([
    { from_height: null, reason: 'the answer to /v2/info has status 503' },
    { from_height: LOWEST, to_height: 14 },
  ]);
});

test('the first block of a node that starts after Stackside waits until the history starts below it', async () => {
  let isUp = false;
  longMs = RETRY_MS;
  await using server = await startBeside(14, (path) => (isUp || path === '/v2/info' ? undefined : away()));
  await until(() => starts(server.logged).length > 0);
  isUp = true;
  await server.post(server.grow());
  longMs = UPKEEP_MS;
  await until(async () => (await server.state()).height === 15);
  expect((await server.state()).from).toBe(LOWEST);
});

test('requests Nakamoto blocks once from a node without any, and again when it posts its first block', async () => {
  let requests = 0;
  await using server = await startBeside(14, (path) => {
    if (!path.startsWith('/v3/blocks/height/')) return undefined;
    requests += 1;
    return new Response('', { status: 404 });
  });
  await until(() => requests === 1);
  // Another attempt would come within a few of these requests.
  for (let request = 0; request < 50; request++) await server.get('/ready');
  expect(requests).toBe(1);
  await server.post(server.grow());
  await until(async () => (await server.state()).from === 15);
  expect(requests).toBe(2);
  expect(starts(server.logged)).toMatchObject([
    { from_height: 15, reason: 'the node does not return its Nakamoto blocks' },
  ]);
});

test('a server stops while it waits to repeat a request about the start', async () => {
  const { promise: requested, resolve } = Promise.withResolvers<void>();
  longMs = REQUEST_RETRY_MS;
  const server = await startBeside(14, (path) => {
    if (!path.startsWith('/v3/')) return undefined;
    resolve();
    return away();
  });
  await requested;
  await server[Symbol.asyncDispose]();
  longMs = UPKEEP_MS;
});

test('logs the remedy if the node refuses the token, and starts at the first posted block', async () => {
  await using server = await startBeside(14, (path) => (path.includes('/replay/') ? refused() : undefined));
  await until(() => server.logged.some(({ event }) => event === 'service_failing'));
  expect(server.logged).toContainEqual({
    event: 'service_failing',
    service: 'gap_filling',
    reason: 'The node refuses the token for replays of blocks.',
    remedy: expect.stringContaining('--node-config'),
  });
  const ready = (await (await server.get('/ready')).json()) as { reason: string; next: string };
  expect(ready.reason).toContain('The node refuses the token');
  expect(ready.next).toContain('auth token');
  await server.post(server.grow());
  await until(async () => (await server.state()).from === 15);
  expect(starts(server.logged).at(-1)).toMatchObject({
    from_height: 15,
    reason: 'The node refuses the token for replays of blocks.',
    remedy: expect.stringContaining('auth token'),
  });
});

test('repeats a start below the tip that failed after some blocks, before the node posts the next block', async () => {
  let replays = 0;
  let isWhole = false;
  await using server = await startBeside(14, (path) => {
    if (path.includes('/replay/')) replays += 1;
    return path.includes('/replay/') && replays > 5 && !isWhole ? refused() : undefined;
  });
  await until(() => server.logged.some(({ event }) => event === 'service_failing'));
  expect((await server.state()).height).toBeLessThan(14);
  isWhole = true;
  wait.skipped += PAUSE_MS;
  await until(() => server.logged.some(isFilled));
  expect(await server.state()).toMatchObject({ from: LOWEST, height: 14 });
});

test('with a token but without a running node, a history starts at the first posted block', async () => {
  using directory = dataDirectory();
  using files = dataDirectory();
  const token = tokenIn(files.path);
  await using server = await start(directory.path, { nodeAuthFile: token, nodeRpc: NO_NODE });
  await until(() => starts(server.logged).length > 0);
  expect(starts(server.logged)).toMatchObject([
    { from_height: null, remedy: expect.stringContaining('Start the node') },
  ]);
  const first = chain.tip.height + 1;
  await server.post(mine(1));
  await until(async () => (await stateOf(directory.path)).from === first);
});

test('rejects impossible account values from the node, and requests the accounts again', async () => {
  using directory = dataDirectory();
  await using server = await start(directory.path);
  const huge = `0x${'f'.repeat(64)}`;
  const wrong: unknown[] = [
    { balance: huge, locked: '0x0', unlock_height: 0, nonce: 0 },
    { balance: '0x0', locked: '0x0', unlock_height: -1, nonce: 0 },
    { balance: '0x0', locked: '0x0', unlock_height: 0, nonce: 1e300 },
    { balance: 12 },
    [],
    null,
  ];
  let lies = 0;
  lie = (path) => (path.startsWith('/v2/accounts/') ? wrong[lies++ % wrong.length] : undefined);
  await server.post(mine(2));
  await until(() => lies > 2 * wrong.length);
  expect(await server.metric('stackside_account_lookups_total')).toBe(0);
  const reason = /^the node answered \/v2\/accounts\/\S+ with an unexpected response$/;
  await until(() => server.logged.some((entry) => entry.event === 'service_failing' && reason.test(entry.reason)));
  lie = () => undefined;
  await until(async () => (await server.metric('stackside_account_lookups_pending')) === 0);
  expect(await server.metric('stackside_account_lookups_total')).toBeGreaterThan(3);
});

test('a server with --history full starts with the genesis block, and restarts with its data', async () => {
  using directory = dataDirectory();
  for (const events of [allEvents.slice(0, 20), allEvents.slice(20)]) {
    await using server = await start(directory.path, { history: 'full' });
    await server.post(events);
  }
  expect((await stateOf(directory.path)).from).toBeNull();
});

test('a fork below the start does not stop the server, and the longer branch becomes canonical', async () => {
  using directory = dataDirectory();
  await using server = await start(directory.path);
  const below = chain.tip;
  await server.post(mine(2));
  const first = chain.mine([...chain.ancestors(below)][2]!.indexBlockHash, { newTenure: true });
  await server.post(first.events);
  const old = chain.tip.indexBlockHash;
  let parent = first.indexBlockHash;
  while (chain.tip.indexBlockHash === old) {
    const block = chain.mine(parent, {});
    await server.post(block.events);
    parent = block.indexBlockHash;
  }
  await until(async () => (await stateOf(directory.path)).height === chain.tip.height);
  expect((await stateOf(directory.path)).from).toBe(first.height);
  await until(async () => (await server.metric('stackside_account_lookups_pending')) === 0);
});
