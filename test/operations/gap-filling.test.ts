/** A server with the node's token fills the gap below a block that it rejects. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LogUnavailableError } from '../../src/cluster/shared-log.ts';
import { gapFilling, isChainFailure, noLease } from '../../src/commands/serve/gap-filling.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { answerRpc, RPC_TOKEN } from '../../src/devnet/rpc.ts';
import type { LogEvent } from '../../src/log.ts';
import { eventIntake, type IntakeEvent } from '../../src/node/event-intake.ts';
import type { FillEvent } from '../../src/node/fill.ts';
import { DeepForkError } from '../../src/store/ingest/history-start.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { ingestOf, openNew, received } from '../support/data/ingest.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { serving } from '../support/servers/serving.ts';
import { atOnce, honest, type Lie, rpcOf, served } from '../support/servers/simulated-rpc.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { until } from '../support/time/until.ts';

const chain = new SimulatedChain({ seed: 12, accounts: 6, operations: false, mempool: false });
const mined = mineTo(chain, 30, () => ({ newTenure: true, transactions: 2 }));
const blocks = mined.filter(({ path }) => path === '/new_block');

/** Starts a server with the first blocks, whose intake fills gaps, and records its log events. */
async function server({
  lie = honest,
  claim = async () => noLease as typeof noLease | null,
  ...options
}: Parameters<typeof openNew>[0] & { lie?: Lie; claim?: () => Promise<typeof noLease | null> } = {}) {
  const open = openNew(options);
  const logged: (FillEvent | IntakeEvent)[] = [];
  const log = (event: FillEvent | IntakeEvent) => void logged.push(event);
  let now = 0;
  const clock = { ...atOnce.clock, now: () => 1_700_000_000_000, monotonic: () => now };
  const snapshots = openSnapshots(open.directory, { beforeSnapshot: open.ingest.publish });
  const { receive } = open.ingest;
  const filling = gapFilling({
    authorization: RPC_TOKEN,
    node: rpcOf(served(chain), lie),
    snapshots,
    ingest: open.ingest,
    receive,
    claim,
    clock,
    log,
  });
  const intake = eventIntake({ receive, log, fill: filling.fill });
  const post = async (block: NodeEvent) => (await intake(received(block))).outcome;
  const wait = (milliseconds: number) => {
    now += milliseconds;
  };
  for (const block of blocks.slice(0, 11)) await intake(received(block));
  return {
    open,
    post,
    wait,
    /** Posts a block every minute, as a node does, until the server accepts it. */
    untilApplied: (block: NodeEvent) =>
      until(async () => {
        wait(60_000);
        return (await post(block)) === 'applied';
      }),
    named: (name: string) => logged.filter(({ event }) => event === name),
    async [Symbol.asyncDispose]() {
      await filling.stop();
      snapshots.close();
      open[Symbol.dispose]();
    },
  };
}

test('a fork that is too deep makes gap filling wait, and does not stop the server', () => {
  expect(isChainFailure(new DeepForkError(5, 2_000))).toBe(true);
});

test('the block after a gap is rejected until the server has filled the gap, then accepted', async () => {
  await using it = await server();
  expect(await it.post(blocks[25]!)).toBe('failed');
  await until(() => it.named('gap_filled').length === 1);
  expect(it.named('blocks_missing')).toMatchObject([
    { from_height: 11, to_height: 24, remedy: expect.stringContaining('Wait: the server fetches the missing blocks') },
  ]);
  expect(it.named('gap_filled')).toMatchObject([{ blocks: 14, height: 24 }]);
  for (const block of blocks.slice(25)) expect(await it.post(block)).toBe('applied');
  expect(it.open.ingest.tipHeight()).toBe(30);
});

test('a server that commits in groups fills each block of the gap once', async () => {
  await using it = await server({ clock: manualClock() });
  await it.post(blocks[25]!);
  await until(() => [...it.named('gap_filled'), ...it.named('service_failing')].length === 1);
  expect(it.named('gap_filled')).toMatchObject([{ blocks: 14, height: 24 }]);
});

test("requests a block again if the node can't return it, and logs the reason once", async () => {
  let isRefusing = true;
  let replays = 0;
  const lie: Lie = (url, answer) => {
    if (!isRefusing || !url.pathname.includes('/replay/')) return answer;
    replays += 1;
    return new Response('no', { status: 404 });
  };
  await using it = await server({ lie });
  await until(async () => {
    it.wait(60_000);
    await it.post(blocks[20]!);
    return replays === 3;
  });
  expect(it.named('gap_filling')).toHaveLength(1);
  expect(it.named('service_failing')).toMatchObject([{ reason: expect.stringContaining('block 11 ') }]);
  isRefusing = false;
  await it.untilApplied(blocks[20]!);
  expect(it.named('service_failing')).toHaveLength(1);
});

test('waits while the shared log or the index is unavailable', async () => {
  let tries = 0;
  const claim = async () => {
    tries += 1;
    if (tries === 1) throw new LogUnavailableError('the log is away');
    if (tries === 2) throw new NoSnapshotError('the index is away');
    return noLease;
  };
  await using it = await server({ claim });
  await it.untilApplied(blocks[14]!);
  expect(it.named('service_failing')).toMatchObject([{ reason: 'the log is away' }, { reason: 'the index is away' }]);
});

test('a host fills gaps only with the lease', async () => {
  let requests = 0;
  const claim = async () => {
    requests += 1;
    return requests === 1 ? null : noLease;
  };
  await using it = await server({ claim });
  await it.post(blocks[14]!);
  await until(() => requests === 1);
  expect(it.named('gap_filling')).toEqual([]);
  await until(() => it.post(blocks[14]!).then((outcome) => outcome === 'applied'));
  expect(requests).toBe(2);
});

test("logs a lease that can't be released, and then accepts the next block", async () => {
  let failing = true;
  const release = async () => {
    if (failing) throw new LogUnavailableError('the log is away');
  };
  await using it = await server({ claim: async () => release });
  await it.post(blocks[14]!);
  await until(() => it.named('service_failing').length === 1);
  expect(it.named('service_failing')).toMatchObject([{ reason: 'the log is away' }]);
  failing = false;
  expect(await it.post(blocks[14]!)).toBe('applied');
});

test('the state stops naming missing blocks once they are filled, before the node sends the refused block again', async () => {
  using directory = ingestOf(blocks.slice(0, 11).map(received));
  const nodeAuthFile = join(directory.path, 'token');
  writeFileSync(nodeAuthFile, RPC_TOKEN, { mode: 0o600 });
  await using node = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => answerRpc(served(chain), request),
  });
  const logged: LogEvent[] = [];
  const createLog = () => (event: LogEvent) => void logged.push(event);
  const settings = { nodeRpc: node.url.origin, nodeAuthFile, threads: '0' };
  await using it = await serving(settings, directory.path, {}, { createLog });
  const { path, body } = blocks[30]!;
  expect((await fetch(it.events + path, { method: 'POST', body })).status).toBe(500);
  await until(() => logged.some(({ event }) => event === 'gap_filled'));
  const { height, reason } = (await (await it.get('/ready')).json()) as { height: number; reason: string | null };
  expect({ height, reason: reason ?? '' }).toEqual({ height: 29, reason: expect.not.stringContaining('missing') });
});
