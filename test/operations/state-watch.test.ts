/** The state of a server over time, and the log of its changes. */
import { expect, test } from 'bun:test';
import { servePage } from '../../src/commands/terminal/presenter.ts';
import { prettyLine } from '../../src/commands/terminal/pretty-log.ts';
import { refusalOf } from '../../src/node/event-intake.ts';
import { DeepForkError, PartialHistoryError } from '../../src/store/ingest/history-start.ts';
import { watching } from '../support/servers/watching.ts';

test('logs each change of the state once, with the next step and the observer section, however often it is read', async () => {
  const { world, logged, after } = watching();
  await after(1);
  await after(5);
  world.nodeHeight = 100;
  await after(5);
  world.height = 100;
  world.lastEvent = 11;
  await after(5);
  await after(5);
  expect(logged.map(({ event, state }) => [event, state])).toEqual([
    ['state_degraded', 'waiting_for_the_node'],
    ['state_degraded', 'waiting_for_the_first_event'],
    ['state_changed', 'live'],
  ]);
  expect(logged[1]).toMatchObject({ next: expect.stringContaining('Add this section'), observer: expect.any(String) });
  expect(logged[2]).not.toHaveProperty('observer');
});

test('suggests to check the observer section after three blocks of a node that sends nothing', async () => {
  const { world, after } = watching();
  world.nodeHeight = 100;
  expect((await after(1)).reason).toBe('The node is at block 100, and no event has arrived yet.');
  world.nodeHeight = 103;
  expect((await after(1)).reason).toBe('The node is at block 103 but sends nothing.');
});

test('suggests to check the observer section after two minutes without an event', async () => {
  const { world, after } = watching();
  world.nodeHeight = 100;
  expect((await after(119)).reason).toContain('no event has arrived yet');
  expect((await after(1)).reason).toBe('The node is at block 100 but sends nothing.');
});

test('reports how far the newest block of a devnet is ahead of the clock', async () => {
  const { world, after } = watching({ isSimulated: true });
  Object.assign(world, { height: 100, nodeHeight: 100, lastEvent: 0, tipTime: 3_700 });
  expect(await after(100)).toMatchObject({ state: 'live', tip_age_seconds: -3_600 });
});

test("names the failure of the followed archive a minute after the last event of a server whose node doesn't answer", async () => {
  const failure = 'No archive found at /archive.';
  const { world, after } = watching({ filling: () => ({ failure: null, archiveFailure: failure }) });
  Object.assign(world, { height: 100, lastEvent: 0 });
  expect(await after(59)).toMatchObject({ state: 'live', ready: true });
  const reason = expect.stringContaining(`The archive can't be followed: ${failure}`);
  expect(await after(1)).toMatchObject({ state: 'stale', ready: true, reason });
});

test('measures the rate of new blocks for the time left', async () => {
  const { world, after } = watching();
  world.nodeHeight = 1_000;
  for (let height = 0; height <= 100; height += 10) {
    world.height = height;
    await after(1);
  }
  expect(await after(0)).toMatchObject({ state: 'catching_up', seconds_left: 90 });
});

test('measures the rate of new blocks after an outage of the shared log without the time of the outage', async () => {
  let logFailure: string | null = 'no answer';
  const { world, after } = watching({ logFailure: () => logFailure });
  Object.assign(world, { height: 0, nodeHeight: 1_000 });
  await after(1);
  expect(await after(59)).toMatchObject({ state: 'catching_up', seconds_left: null });
  logFailure = null;
  for (let height = 0; height <= 100; height += 10) {
    world.height = height;
    await after(1);
  }
  expect(await after(0)).toMatchObject({ state: 'catching_up', seconds_left: 90 });
});

test('is stale ten minutes after the node got a block that did not arrive, however long both stood still before', async () => {
  const { world, after } = watching();
  Object.assign(world, { height: 100, nodeHeight: 100, lastEvent: 0 });
  expect((await after(10_000)).state).toBe('live');
  world.nodeHeight = 101;
  expect((await after(1)).state).toBe('live');
  expect((await after(599)).state).toBe('live');
  expect((await after(1)).state).toBe('stale');
  world.height = 101;
  expect((await after(1)).state).toBe('live');
});

test('without RPC, is stale half an hour after the last event, and live again with the next one', async () => {
  const { world, after } = watching({ lastEventBefore: -1_700 });
  world.height = 100;
  expect((await after(99)).state).toBe('live');
  expect((await after(1)).state).toBe('stale');
  world.lastEvent = 101;
  expect((await after(1)).state).toBe('live');
});

test('a rejected block makes the server stuck, and filling the gap makes it catch up', async () => {
  const gap = {
    ...({ why: 'gap', problem: 'blocks 101–104 are missing', remedy: 'Fill them.' } as const),
    missing: { from: 101, to: 104, hash: null },
  };
  let filling: { failure: string | null } | null = null;
  const { world, after } = watching({ refusal: () => gap, filling: () => filling });
  Object.assign(world, { height: 100, nodeHeight: 105, lastEvent: 0 });
  expect(await after(200)).toMatchObject({ state: 'stuck', reason: 'Blocks 101–104 are missing.', next: 'Fill them.' });
  filling = { failure: null };
  world.height = 101;
  expect((await after(1)).state).toBe('catching_up');
  expect((await after(61)).state).toBe('stuck');
});

test("a server without a block shows why its first blocks can't be filled, before and after its first event", async () => {
  const { world, after } = watching({ filling: () => ({ failure: 'the node refuses the token', goal: 130 }) });
  world.nodeHeight = 130;
  const failed = {
    reason: "The first blocks can't be filled: the node refuses the token.",
    next: expect.stringContaining("Check --node-rpc and the node's auth token"),
  };
  expect(await after(1)).toMatchObject({ state: 'waiting_for_the_first_event', ...failed });
  world.lastEvent = 1;
  expect(await after(1)).toMatchObject({ state: 'starting', ...failed });
});

test("a server that can't fill the blocks below the tip is stuck before the node posts the next one", async () => {
  let filling = { failure: null as string | null, goal: 130 };
  const { world, after } = watching({ filling: () => filling });
  Object.assign(world, { height: 31, nodeHeight: 130, historyStart: 30 });
  expect(await after(1)).toMatchObject({ state: 'starting', ready: true });
  filling = { failure: 'the node refuses the token', goal: 130 };
  expect(await after(1)).toMatchObject({
    state: 'stuck',
    ready: false,
    reason: "Blocks 32–130 are missing. The gap can't be filled: the node refuses the token.",
  });
  Object.assign(world, { height: 130, nodeHeight: 150 });
  expect(await after(1)).toMatchObject({ state: 'catching_up' });
});

test.each([
  [
    'a fork that is too deep',
    new DeepForkError(160, 1_200),
    'The chain forked below block 160, and 1200 blocks would be rolled back, more than 1000.',
    'Start with a new --data directory; or restore an archive of this chain into it (stackside serve --from).',
  ],
  [
    'a partial history if the whole chain is needed',
    PartialHistoryError.ofBlock(160),
    'The first block of the node is block 160, and --history full and --cluster need the whole chain.',
    'Restore an archive or import a recording into the data directory; for a cluster, on one host, which runs stackside cluster init then.',
  ],
])('%s is stuck with its remedy on each surface, also if gaps are filled', async (_, error, reason, next) => {
  const { world, after, logged } = watching({
    refusal: () => refusalOf(error, true),
    filling: () => ({ failure: null }),
  });
  Object.assign(world, { height: 1_359, nodeHeight: 1_400, historyStart: 160, lastEvent: 0 });
  const readiness = await after(1);
  expect(readiness).toMatchObject({ state: 'stuck', ready: false, reason, next, observer: null });
  expect(logged).toEqual([{ event: 'state_degraded', state: 'stuck', reason, next }]);
  const page = servePage({
    version: 'stackside',
    api: null,
    events: null,
    signInPath: null,
    chainId: 1,
    node: 'http://127.0.0.1:1',
    data: '/srv/stacks',
    readiness,
  });
  expect(page).toEndWith(`\nStuck: ${reason}\n${next}\n`);
  const [first, second] = prettyLine(logged[0]!, 0, false).split('\n');
  expect([first, second?.trim()]).toEqual([expect.stringContaining(`Stuck: ${reason}`), next]);
});

test('a node of another chain sets the state to wrong chain, whenever it appears', async () => {
  const { world, after } = watching();
  Object.assign(world, { height: 100, nodeHeight: 100, lastEvent: 0 });
  expect((await after(1)).state).toBe('live');
  world.nodeChainId = 1;
  expect(await after(1)).toMatchObject({
    state: 'wrong_chain',
    reason: 'The node at http://127.0.0.1:20443 belongs to chain 0x00000001, and the data to chain 0x80000000.',
  });
});
