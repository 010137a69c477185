/**
 * Real processes start in each situation that an operator may meet, and every interface must show the same state. A
 * demo simulates the node, and the tests forward its events.
 */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readiness } from '../../src/api/operations.ts';
import type { ServerStatus } from '../../src/api/stackside/server.ts';
import { EXIT } from '../../src/base/errors.ts';
import { reportStatus } from '../../src/commands/data/check.ts';
import { stateText } from '../../src/commands/terminal/pretty-log.ts';
import { MAX_STEP } from '../../src/devnet/limits.ts';
import { type NodeEvent, postEvent } from '../../src/devnet/node-event.ts';
import { RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { freePort } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';
import { type Server, stackside, startServer } from './stackside.ts';

/** Blocks of the node before any test: more than the 100 that a server fills below the tip. */
const PAST_BLOCKS = 105;

let folder: DataDirectory;
let node: Server;
let relay: ReturnType<typeof Bun.serve>;
/** All events of the node, in order. */
const sent: NodeEvent[] = [];
const file = (name: string): string => join(folder.path, name);

beforeAll(async () => {
  folder = dataDirectory();
  writeFileSync(file('token'), RPC_TOKEN, { mode: 0o600 });
  relay = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      sent.push({ path: new URL(request.url).pathname, body: await request.text(), time: 0 });
      return new Response('ok');
    },
  });
  const chain = ['--block-time', '0', '--past-blocks', String(PAST_BLOCKS), '--traffic', '2'];
  node = await startServer('demo', ...chain, '--observer', relay.url.origin, '--log-level', 'error');
  await until(() => heights().at(-1) === PAST_BLOCKS, 'the blocks of the node');
  await moveToFuture(node);
  await steer('mine');
});
afterAll(async () => {
  await node.stop();
  await relay.stop(true);
  folder[Symbol.dispose]();
});

const isBlock = ({ path }: NodeEvent): boolean => path === '/new_block';
const heightOf = ({ body }: NodeEvent): number => (JSON.parse(body) as { block_height: number }).block_height;
const heights = (): number[] => sent.filter(isBlock).map(heightOf);

/** Moves the time of a demo's next block by fifty years, so that the newest block isn't old. */
async function moveToFuture({ api }: Server): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ seconds: MAX_STEP }) };
  for (let year = 0; year < 50; year++) {
    expect((await fetch(`${api}/stackside/v1/devnet/time`, init)).status).toBe(200);
  }
}

/** Makes the node perform an action. @returns its events, once the node has sent all of them */
async function steer(command: 'mine' | 'fork' | 'bitcoin', body: object = {}): Promise<NodeEvent[]> {
  const before = sent.length;
  const answer = await fetch(`${node.api}/stackside/v1/devnet/${command}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  const { blocks } = (await answer.json()) as { blocks: { index_block_hash: string }[] };
  const last = blocks.at(-1)!.index_block_hash;
  await until(() => sent.slice(before).some((event) => isBlock(event) && event.body.includes(last)), 'the last block');
  return sent.slice(before);
}

/** Posts events as a node does, each until it is accepted. */
function posting(events: readonly NodeEvent[], { events: url }: Server) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const done = (async () => {
    for (const event of events) await postEvent(event, url, { signal });
  })();
  done.catch(() => {});
  return {
    done,
    async stop() {
      stopping.abort();
      await done.catch(() => {});
    },
  };
}
const post = (events: readonly NodeEvent[], server: Server) => posting(events, server).done;

/** Starts a server next to the node, unless --node-rpc names another. */
const start = (data: string, ...args: string[]): Promise<Server> =>
  startServer('serve', '--data', file(data), ...(args.includes('--node-rpc') ? [] : ['--node-rpc', node.api]), ...args);

/** Stops a server. @returns the states that it logged, in order, each with the next step */
async function stop(server: Server, signal?: NodeJS.Signals): Promise<string[]> {
  expect(await server.stop(signal)).toBe(0);
  return statesIn(await server.log());
}

const statesIn = (log: string): string[] =>
  log.split('\n').flatMap((line) => {
    const { msg, state, next } = line.startsWith('{') ? JSON.parse(line) : {};
    return msg === 'state_changed' || msg === 'state_degraded' ? [`${state}: ${next}`] : [];
  });

/** Runs a command that fails. @returns its exit code and the lines of stderr */
async function refusal(...args: string[]) {
  const ports = args[0] === 'serve' ? ['--api-port', '0', '--event-port', '0'] : [];
  const { code, stdout, stderr } = await stackside(...args, ...ports);
  expect(stdout).toBe('');
  const lines = stderr.trimEnd().split('\n');
  return { code, lines: lines.filter((line) => !line.startsWith('{')) };
}

const problems = (problem: string, remedy: string) => ({ code: EXIT.operator, lines: [problem, remedy] });

/** Flags of the server whose archive other servers restore. */
const archived = (): string[] => ['--archive', file('archive')];

/** Returns balances of the newest senders as a wallet would read them, once the server has these accounts. */
async function balances({ api }: Server): Promise<Record<string, string>> {
  const list = await (await fetch(`${node.api}/extended/v1/tx?limit=20`)).json();
  const balances: Record<string, string> = {};
  for (const { sender_address: principal } of (list as { results: { sender_address: string }[] }).results) {
    await until(async () => {
      const answer = await fetch(`${api}/v2/accounts/${principal}?proof=0`);
      if (answer.status === 200) balances[principal] = ((await answer.json()) as { balance: string }).balance;
      return answer.status === 200;
    }, `the balance of ${principal}`);
  }
  return balances;
}

type ExpectedState = Pick<Readiness, 'state' | 'reason' | 'next'> & { status: number; from?: number };

async function readiness({ api }: Server): Promise<Readiness & { status: number }> {
  const response = await fetch(`${api}/ready`);
  return { status: response.status, ...((await response.json()) as Readiness) };
}

/**
 * The first and the last state of a server. The server may have checked its state in between, while it received events.
 */
const ends = (states: readonly string[]) => [states[0], states.at(-1)];

/** Heights change between two requests. */
const withoutNumbers = (text: string | null): string | null => text?.replaceAll(/\d[\d,]*/g, 'N') ?? null;

/** Returns the output of `stackside status`. */
async function statusOf({ api }: Server, data: string, json: boolean): Promise<string> {
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await reportStatus({ url: api, data: file(data) }, json);
  return written.mock.calls.join('');
}

/** Waits for a state, then compares all interfaces with the expected states. */
async function expectSays(server: Server, data: string, expected: ExpectedState): Promise<Readiness> {
  const { status, from, ...standing } = expected;
  await until(async () => (await readiness(server)).state === standing.state, `the state ${standing.state}`);
  const ready = await readiness(server);
  // A copy, because the comparison puts the matchers into its subject.
  expect({ ...ready }).toMatchObject({ status, ready: status === 200, ...standing });
  const { state, next, observer } = ready;
  const common = { ready: ready.ready, state, reason: withoutNumbers(ready.reason), next, observer };
  const systemStatus = (await (await fetch(`${server.api}/stackside/v1/status`)).json()) as ServerStatus;
  expect({ ...systemStatus, reason: withoutNumbers(systemStatus.reason) }).toMatchObject(common);
  expect(systemStatus.index.history_from).toBe(from);
  const json = await statusOf(server, data, true);
  const { server: printed } = JSON.parse(json) as { server: Readiness };
  expect({ ...printed, reason: withoutNumbers(printed.reason) }).toMatchObject(common);
  const text = await statusOf(server, data, false);
  expect(text.split('\n').slice(0, 2).map(withoutNumbers)).toEqual([
    `server         ${stateText(state, common.reason)}`,
    `next           ${next}`,
  ]);
  if (observer !== null) expect(text).toContain(observer.trimEnd());
  return ready;
}

const LIVE = { status: 200, state: 'live', reason: null, next: 'Nothing to do.' } as const;
const ADD_SECTION = "Add this section to the node's configuration, and restart the node.";
const FILL_BY_HAND =
  "Set --node-config to the node's configuration, which has its auth token: the server then fetches the blocks from the node. Or name an archive of the chain with --from; if the data was restored to an earlier point, use a new --data directory. Or import a recording with these blocks into a new --data directory.";
const tip = (): number => heights().at(-1)!;

/** A server next to the node before its first event. */
const waitingForEvents = () =>
  ({
    status: 503,
    state: 'waiting_for_the_first_event',
    next: ADD_SECTION,
    reason: `The node is at block ${tip()}, and no event has arrived yet.`,
  }) as const;

/** Posts a block once. @returns the status and the body of the answer */
async function answerTo(block: NodeEvent, { events }: Server): Promise<[number, unknown]> {
  const answer = await fetch(`${events}/new_block`, { method: 'POST', body: block.body });
  return [answer.status, await answer.json()];
}

test('a complete history: waits for the first event, also after a restart, then is live with it, and at once after the next', async () => {
  const waiting = waitingForEvents();
  const first = await start('genesis');
  const { observer } = await expectSays(first, 'genesis', waiting);
  expect(observer).toContain(`endpoint = "${new URL(first.events).host}"`);
  // An operator may forget the flag --data that the server has.
  expect(await statusOf(first, 'elsewhere', false)).toEndWith(
    `data           no index in ${file('elsewhere')}: give the server's directory with --data\n`,
  );
  expect(await stop(first)).toEqual([`waiting_for_the_first_event: ${ADD_SECTION}`]);

  const second = await start('genesis', ...archived());
  await expectSays(second, 'genesis', waiting);
  await post(sent, second);
  await expectSays(second, 'genesis', LIVE);
  expect(ends(await stop(second, 'SIGHUP'))).toEqual([
    `waiting_for_the_first_event: ${ADD_SECTION}`,
    'live: Nothing to do.',
  ]);

  const third = await start('genesis', ...archived());
  await expectSays(third, 'genesis', LIVE);
  const { stdout } = await stackside('status', '--data', file('genesis'), '--url', third.api);
  expect(stdout).toMatch(/^journal +[\d,]+ entries, /m);
  expect(stdout).toStartWith(`server         ${stateText('live', null)}\nnext           Nothing to do.\n`);
  expect(await stop(third)).toEqual(['live: Nothing to do.']);
});

test('a synced node and no token: the history starts at the first block, and again if the chain forks at or below it', async () => {
  const server = await start('synced');
  await until(async () => (await readiness(server)).state === 'waiting_for_the_first_event', 'the first state');
  await post(await steer('mine'), server);
  const first = tip();
  await expectSays(server, 'synced', { ...LIVE, from: first });
  await post(await steer('fork', { depth: 1 }), server);
  await expectSays(server, 'synced', { ...LIVE, from: first });
  expect(await balances(server)).toEqual(await balances(node));
  await post(await steer('mine', { count: 2 }), server);
  await post(await steer('fork', { depth: 6 }), server);
  await expectSays(server, 'synced', { ...LIVE, from: tip() - 6 });
  expect(await balances(server)).toEqual(await balances(node));
  expect(ends(await stop(server))).toEqual([`waiting_for_the_first_event: ${ADD_SECTION}`, 'live: Nothing to do.']);
});

test('a gap: stuck without a token, also after a restart; filled with the token of the node’s configuration', async () => {
  const height = tip();
  const missed = await steer('mine', { count: 3 });
  expect(missed.filter(isBlock)).toHaveLength(3);
  const next = await steer('mine');
  const stuck = {
    ...({ status: 503, state: 'stuck', next: FILL_BY_HAND } as const),
    reason: `Blocks ${height + 1}–${height + 3} are missing.`,
    from: height - 6,
  };
  for (let times = 0; times < 2; times++) {
    const server = await start('synced');
    expect(await answerTo(next.find(isBlock)!, server)).toEqual([
      500,
      {
        error: expect.stringContaining(`does not contain a parent block at height ${height + 3} `),
        problem: `blocks ${height + 1}–${height + 3} are missing`,
        remedy: FILL_BY_HAND.slice(0, -1),
      },
    ]);
    await expectSays(server, 'synced', stuck);
    expect((await stop(server)).at(-1)).toBe(`stuck: ${FILL_BY_HAND}`);
  }

  const port = freePort();
  writeFileSync(
    file('node.toml'),
    `[connection_options]\nauth_token = "${RPC_TOKEN}"\n\n[[events_observer]]\nendpoint = "127.0.0.1:${port}"\nevents_keys = ["*"]\ntimeout_ms = 60000\n`,
    { mode: 0o600 },
  );
  const server = await start('synced', '--node-config', file('node.toml'), '--event-port', String(port));
  await post(next, server);
  await expectSays(server, 'synced', { ...LIVE, from: stuck.from });
  const states = await stop(server);
  expect(states.at(-1)).toBe('live: Nothing to do.');
  expect(states).not.toContain(`stuck: ${FILL_BY_HAND}`);
});

test('next to a synced node, the history starts 100 blocks below the tip, and a killed server continues the fill', async () => {
  const from = tip() - 100;
  const token = ['--node-auth-file', file('token')];
  const starting = {
    ...({ status: 200, state: 'starting', next: 'Wait.', from } as const),
    reason: expect.stringContaining(`Starting at block ${from}. The index is at block `),
  };
  const first = await start('filled', ...token);
  await expectSays(first, 'filled', starting);
  expect(await first.stop('SIGKILL')).toBe(137);
  const server = await start('filled', ...token);
  await expectSays(server, 'filled', starting);
  await post(await steer('mine'), server);
  await expectSays(server, 'filled', { ...LIVE, from });
  expect(await balances(server)).toEqual(await balances(node));
  expect(ends(await stop(server))).toEqual(['starting: Wait.', 'live: Nothing to do.']);
});

test('a token that the node refuses: the history starts at the first block, and a gap is stuck with the reason', async () => {
  writeFileSync(file('wrong'), 'wrong', { mode: 0o600 });
  const server = await start('refused', '--node-auth-file', file('wrong'));
  await post(await steer('mine'), server);
  const from = tip();
  await expectSays(server, 'refused', { ...LIVE, from });
  await steer('mine', { count: 2 });
  const next = posting(await steer('mine'), server);
  const step =
    "Check --node-rpc and the node's auth token, or the archive of --from. If the node can't return a block, give an archive that has it with --from; if the data was restored to an earlier point, use a new --data directory. Stackside retries automatically.";
  await until(async () => (await readiness(server)).reason?.includes("can't be filled") === true, 'the failed fill');
  await expectSays(server, 'refused', {
    status: 503,
    state: 'stuck',
    next: step,
    from,
    reason: `Blocks ${from + 1}–${from + 2} are missing. The gap can't be filled: The node refuses the token for replays of blocks.`,
  });
  await next.stop();
  const states = await stop(server);
  // The server may check its state while it asks the node for the blocks.
  expect(states).toContain('live: Nothing to do.');
  expect(states.at(-1)).toBe(`stuck: ${step}`);
});

test('a node that is away: waits for it with the section; the history starts with the first block that comes', async () => {
  const next =
    "Start the node, with this section in its configuration. If the node's RPC has another address, name it with --node-rpc.";
  const server = await start('away', '--node-rpc', NO_NODE);
  await expectSays(server, 'away', {
    status: 503,
    state: 'waiting_for_the_node',
    next,
    reason: `No event has arrived, and no node answers at ${NO_NODE}.`,
  });
  await post(await steer('mine'), server);
  await expectSays(server, 'away', { ...LIVE, from: tip() });
  expect(ends(await stop(server))).toEqual([`waiting_for_the_node: ${next}`, 'live: Nothing to do.']);
});

test('another chain is rejected by --network before files exist, by the data at the start, and later with each event', async () => {
  const chains = { node: '0x80000000', own: '0x00000001' };
  expect(await refusal('serve', '--data', file('mainnet'), '--network', 'mainnet', '--node-rpc', node.api)).toEqual(
    problems(
      `The node belongs to chain ${chains.node}, but --network is ${chains.own}.`,
      'Check --node-rpc, or omit --network.',
    ),
  );
  expect(existsSync(file('mainnet'))).toBe(false);

  const server = await start('mainnet', '--network', 'mainnet', '--node-rpc', NO_NODE);
  const block = (await steer('bitcoin')).find(isBlock)!;
  const remedy = 'Let only nodes of one chain post to this port, and use a separate --data directory for each chain';
  const [status, body] = await answerTo(block, server);
  const { error, ...rest } = body as { error: string };
  expect([status, rest]).toEqual([400, { remedy }]);
  expect(error).toContain(`belongs to chain ${chains.node}, but --network is ${chains.own};`);
  await expectSays(server, 'mainnet', { status: 503, state: 'wrong_chain', next: `${remedy}.`, reason: `${error}.` });
  expect((await stop(server)).at(-1)).toBe(`wrong_chain: ${remedy}.`);

  expect(await refusal('serve', '--data', file('mainnet'), '--node-rpc', node.api)).toEqual(
    problems(
      `The node belongs to chain ${chains.node}, but the data in ${file('mainnet')} to chain ${chains.own}.`,
      `Check --node-rpc, or use another --data directory for chain ${chains.node}.`,
    ),
  );
  expect(await refusal('serve', '--data', file('mainnet'), '--network', 'testnet', '--node-rpc', NO_NODE)).toEqual(
    problems(
      `The data in ${file('mainnet')} belongs to chain ${chains.own}, but --network is ${chains.node}.`,
      'Use a separate --data directory for each chain, and check the node that posts to this port.',
    ),
  );
});

test('--history full: refuses a partial history at the start, and the first block of a synced node before it is stored', async () => {
  const full = ['--history', 'full', '--node-rpc', node.api];
  expect(await refusal('serve', '--data', file('away'), ...full)).toEqual(
    problems(
      expect.stringMatching(
        /^The history in .*away starts at block \d+, and --history full and --cluster need the whole/,
      ),
      expect.stringContaining('Give a new directory with --data'),
    ),
  );
  const server = await start('full', '--history', 'full');
  await expectSays(server, 'full', waitingForEvents());
  const block = (await steer('mine')).find(isBlock)!;
  const problem = `The first block of the node is block ${tip()}, and --history full and --cluster need the whole chain.`;
  expect(await answerTo(block, server)).toEqual([
    503,
    { error: problem, remedy: expect.stringContaining('import a recording into the data directory') },
  ]);
  expect(await server.ended).toBe(EXIT.operator);
  const lines = (await server.log()).trimEnd().split('\n');
  expect(lines.slice(-2)).toEqual([problem, expect.stringContaining('Restore an archive')]);
  const { tip: stored } = JSON.parse(
    (await stackside('status', '--data', file('full'), '--url', NO_NODE, '--json')).stdout,
  );
  expect(stored).toBeNull();
});

test('an archive: refused as a data directory, served without a node, and the source of missing blocks', async () => {
  expect(await refusal('serve', '--data', file('archive'), '--node-rpc', node.api)).toEqual(
    problems(
      `${file('archive')} is an archive, and not a data directory.`,
      expect.stringContaining('Name another directory with --data.'),
    ),
  );
  expect(existsSync(join(file('archive'), 'admin.key'))).toBe(false);

  const source = await start('genesis', ...archived());
  const archivedAll = async () => {
    const { archive, index } = (await (await fetch(`${source.api}/stackside/v1/status`)).json()) as ServerStatus;
    return index.height === tip() && archive?.behind_entries === 0;
  };
  await post(sent, source);
  await until(archivedAll, 'the archive of all events');
  const alone = await start('mirror', '--from', file('archive'), '--node-rpc', NO_NODE);
  await expectSays(alone, 'mirror', LIVE);
  expect(await stop(alone)).toEqual(['live: Nothing to do.']);

  const mirror = await start('mirror', '--from', file('archive'));
  await post(await steer('mine', { count: 4 }), source);
  const next = await steer('mine');
  await Promise.all([post(next, source), post(next, mirror)]);
  const ready = await expectSays(mirror, 'mirror', LIVE);
  expect(ready.height).toBe(tip());
  expect((await stop(mirror)).at(-1)).toBe('live: Nothing to do.');
  await stop(source);
});
