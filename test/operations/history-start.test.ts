/** `--from-block`: a server that begins at a block of a chain that its node has. */
import { afterAll, expect, test } from 'bun:test';
import { OperatorError, PassingError } from '../../src/base/errors.ts';
import { initCluster } from '../../src/commands/cluster/cluster.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { startServing } from '../../src/commands/serve/serve.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { type NodeEvent, postEvents } from '../../src/devnet/node-event.ts';
import { answerRpc } from '../../src/devnet/rpc.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { ForkBelowHistoryError, SharedBeginningError } from '../../src/store/ingest/history-start.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { served } from '../support/servers/simulated-rpc.ts';
import { until } from '../support/time/until.ts';

const chain = new SimulatedChain({ seed: 5, accounts: 10, transactionsPerBlock: 6 });
const all: NodeEvent[] = [chain.genesis()];
function mine(blocks: number): NodeEvent[] {
  const events: NodeEvent[] = [];
  for (let number = 0; number < blocks; number++) {
    const parent = chain.tip.height === 0 ? null : chain.tip.indexBlockHash;
    events.push(...chain.mine(parent, { newTenure: chain.tip.height % 3 === 0 }).events);
  }
  all.push(...events);
  return events;
}
mine(12);

/** Answers of the node that are away, and what it says in place of others. */
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

/** All waits are short. */
const clock = {
  ...realEnvironment.clock,
  after: (milliseconds: number, call: () => void) => realEnvironment.clock.after(Math.min(milliseconds, 5), call),
};

async function start(directory: string, fromBlock: string | null, given: Record<string, string> = {}) {
  const said: LogEvent[] = [];
  const settings = readSettings(
    {
      data: directory,
      apiPort: '0',
      eventPort: '0',
      nodeRpc: node.url.origin,
      logLevel: 'info',
      threads: '0',
      ...(fromBlock === null ? {} : { fromBlock }),
      ...given,
    },
    {},
  );
  const running = await startServing(settings, {
    ...realEnvironment,
    clock,
    createLog: () => (event) => said.push(event),
  });
  return {
    said,
    running,
    post: (events: readonly NodeEvent[]) => postEvents(events, running.events ?? ''),
    metric: async (name: string): Promise<number> => {
      const text = await (await fetch(`${running.api}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
}

const problemOf = (directory: string, fromBlock: string | null, given = {}): Promise<unknown> =>
  start(directory, fromBlock, given).then(
    (server) => server.running.stop().then(() => 'it started'),
    (error: unknown) => error,
  );

/** Where an index begins, and the accounts that blocks touched, with what is known of each. */
async function stateOf(directory: string) {
  const snapshots = openSnapshots(directory);
  try {
    return await snapshots.read(async (reader) => {
      const from = reader.chain.historyFrom();
      const touched = new Set<string>();
      for (let height = from ?? 1; height <= reader.height(); height++) {
        for (const principal of (await reader.facts.touched(height, height)).principals) touched.add(principal);
      }
      const accounts = await Promise.all(
        [...touched].map(async (principal) => {
          const { balance, locked } = await reader.principals.stxBalance(principal);
          const known = await reader.principals.knowledge(principal);
          return { principal, known, balance, locked: locked?.amount ?? 0n };
        }),
      );
      return { from, height: reader.height(), accounts };
    });
  } finally {
    snapshots.close();
  }
}

test('it begins at the tip, asks what accounts had, and goes on after a start and while the node is away', async () => {
  using directory = dataDirectory();
  const first = chain.tip.height + 1;
  {
    await using server = await start(directory.path, 'tip');
    // The node posts what it had to say before.
    await server.post(all.filter(({ path }) => path === '/new_block').slice(-2));
    await server.post(mine(3));
    await until(async () => (await server.metric('stackside_accounts_asked_total')) > 5);
    await until(async () => (await server.metric('stackside_accounts_unasked')) === 0);
    isAway = (path) => path.startsWith('/v2/accounts');
    const before = server.said.length;
    // An account that no block touched yet.
    await server.post(mine(6));
    await until(async () => (await server.metric('stackside_accounts_unasked')) > 0);
    await until(() => server.said.slice(before).some(({ event }) => event === 'accounts_not_asked'));
    const { accounts } = await stateOf(directory.path);
    expect(new Set(accounts.map(({ known }) => known))).toEqual(new Set(['known', 'asking']));
    expect(server.said.filter(({ event }) => event === 'accounts_not_asked')).toHaveLength(1);
  }
  isAway = () => false;
  for (const again of ['tip', String(first), null]) {
    await using server = await start(directory.path, again);
    await server.post(mine(1));
    await until(async () => (await server.metric('stackside_accounts_unasked')) === 0);
  }
  using whole = ingestOf(all.map(received));
  const [begun, of] = [await stateOf(directory.path), await stateOf(whole.path)];
  expect([begun.from, begun.height]).toEqual([first, chain.tip.height]);
  const expected = new Map(of.accounts.map((account) => [account.principal, account]));
  for (const account of begun.accounts) expect(account).toEqual(expected.get(account.principal)!);
  const deep = checkAndRecount(directory.path, { deep: silentMachine });
  expect(deep.flatMap(({ problems }) => problems)).toEqual([]);

  const shared = { cluster: 'postgres://127.0.0.1:1/nothing' };
  expect(await problemOf(directory.path, null, shared)).toBeInstanceOf(SharedBeginningError);
  await expect(
    initCluster({ ...readSettings({ data: directory.path, ...shared }, {}) } as never),
  ).rejects.toBeInstanceOf(SharedBeginningError);
  for (const other of [first + 1, first - 1, 1]) {
    const problem = await problemOf(directory.path, String(other));
    expect(problem).toBeInstanceOf(OperatorError);
    expect(String(problem)).toContain(`begins at block ${first}, and --from-block names ${other}`);
  }
});

test('hosts that share a log do not begin at a block', async () => {
  using directory = dataDirectory();
  const problem = await problemOf(directory.path, 'tip', { cluster: 'postgres://127.0.0.1:1/nothing' });
  expect(String(problem)).toContain('--from-block begins the index of one host');
});

test('it needs a node that has the block below', async () => {
  using directory = dataDirectory();
  const away = await problemOf(directory.path, 'tip', { nodeRpc: NO_NODE });
  expect(away).toBeInstanceOf(PassingError);
  const above = await problemOf(directory.path, String(chain.tip.height + 2));
  expect(above).toBeInstanceOf(OperatorError);
  expect(String(above)).toContain(`the node has no Nakamoto block ${chain.tip.height + 1}`);
  isAway = (path) => path.startsWith('/v3/sortitions');
  expect(String(await problemOf(directory.path, '9'))).toContain('sortition');
  isAway = () => false;
  expect(String(await problemOf(directory.path, '9', { network: '1' }))).toContain('The node is of chain');
});

test('what a node says that cannot be is no answer, and ends nothing', async () => {
  using directory = dataDirectory();
  lie = (path) =>
    path.startsWith('/v3/sortitions')
      ? [{ burn_block_hash: '0x', burn_block_height: 1, burn_header_timestamp: 1, was_sortition: true }]
      : undefined;
  const begun = await problemOf(directory.path, '9');
  expect(begun).toBeInstanceOf(OperatorError);
  expect(String(begun)).toContain('Field parent_burn_block_hash');
  lie = () => undefined;
  await using server = await start(directory.path, 'tip');
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
  expect(await server.metric('stackside_accounts_asked_total')).toBe(0);
  expect(server.said.filter(({ event }) => event === 'accounts_not_asked')).toHaveLength(1);
  lie = () => undefined;
  await until(async () => (await server.metric('stackside_accounts_unasked')) === 0);
  expect(await server.metric('stackside_accounts_asked_total')).toBeGreaterThan(3);
});

test('an index of the whole chain is not begun anew, and block 1 begins it', async () => {
  using whole = ingestOf(all.map(received));
  expect(String(await problemOf(whole.path, 'tip'))).toContain('begins at block 1, and --from-block names tip');
  for (const ordinary of ['0', '1', null]) expect(await problemOf(whole.path, ordinary)).toBe('it started');
});

test('a fork below the first block ends it', async () => {
  using directory = dataDirectory();
  const first = chain.tip.height;
  await using server = await start(directory.path, String(first));
  const [tip] = all.filter(({ path }) => path === '/new_block').slice(-1);
  await server.post([tip!]);
  const { parent_index_block_hash: parent, index_block_hash: hash } = JSON.parse(tip!.body);
  const body = tip!.body.replaceAll(parent, `0x${'ab'.repeat(32)}`).replaceAll(hash, `0x${'cd'.repeat(32)}`);
  const answer = await fetch(`${server.running.events}/new_block`, { method: 'POST', body });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(await server.running.failed).toBeInstanceOf(ForkBelowHistoryError);
});
