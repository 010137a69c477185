/**
 * A machine is lost and restored from its archive on another. The simulated node then resends the events that weren't
 * archived yet. A second restore stops at an earlier entry and continues in the same archive.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findEnd } from '../../src/archive/archive.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { type NodeEvent, postEvents } from '../../src/devnet/node-event.ts';
import { RPC_TOKEN, startRpc } from '../../src/devnet/rpc.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { listenHttp } from '../../src/http/listener.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { dataStateOf } from '../../src/store/files/status.ts';
import {
  appliedHeights,
  definition,
  filtersOf,
  type Received,
  type Receiver,
  receiver,
  started,
} from '../hooks/server.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { journalRows, tables } from '../support/data/tables.ts';

import { problemsIn } from '../support/recounts/recounts.ts';
import { served } from '../support/servers/simulated-rpc.ts';
import { until } from '../support/time/until.ts';
import { type Server, stackside, startServer } from './stackside.ts';

const BLOCKS = 30;
/** Blocks of the lost machine, and the archived ones. */
const [HAD, ARCHIVED] = [24, 12];
const chain = new SimulatedChain({ seed: 12, accounts: 6, operations: false, mempool: false });
// No RPC route has the miner's Bitcoin transaction.
const withoutMiner = ({ path, body, time }: NodeEvent): NodeEvent => ({
  path,
  time,
  body: JSON.stringify({ ...JSON.parse(body), miner_txid: `0x${'00'.repeat(32)}` }),
});
const blocks = [withoutMiner(chain.genesis())];
while (chain.tip.height < BLOCKS) {
  const { height, indexBlockHash } = chain.tip;
  const mined = chain.mine(height === 0 ? null : indexBlockHash, { newTenure: true, transactions: 2 });
  blocks.push(...mined.events.filter(({ path }) => path === '/new_block').map(withoutMiner));
}

let folder: DataDirectory;
let rpc: ReturnType<typeof startRpc>;
let target: Receiver;
const pathOf = (name: string): string => join(folder.path, name);
const archive = (): string => pathOf('archive');

const serve = (data: string): Promise<Server> =>
  startServer(
    // The node already has the whole chain, and posts it from the first block.
    ...(['serve', '--data', data, '--archive', archive(), '--node-rpc', rpc.url, '--history', 'full'] as const),
    ...['--node-auth-file', pathOf('token'), '--hook-targets', '127.0.0.0/8'],
    ...['--token-metadata', 'off', '--log-level', 'silent'],
  );
const hooks = (server: Server, data: string, ...args: string[]) =>
  stackside('hooks', ...args, '--url', server.api, '--data', data);

/** The tables of the chain without data of Bitcoin blocks that no RPC route has. */
const burnTables = ['burn_blocks', 'burn_rewards', 'burn_slot_holders', 'pox_transactions'];
const chainTables = (directory: string) =>
  Object.fromEntries(Object.entries(tables(directory)).filter(([name]) => !burnTables.includes(name)));

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, place) => from + place);

/** One webhook id names one body. */
function expectOneBodyEach(deliveries: readonly Received[]): void {
  const bodies = new Map<string, string>();
  for (const { headers, text } of deliveries) {
    const id = headers['webhook-id'] ?? '';
    expect(bodies.get(id) ?? text).toBe(text);
    bodies.set(id, text);
  }
}

beforeAll(async () => {
  folder = dataDirectory();
  rpc = startRpc(served(chain), { clock: systemClock, listen: listenHttp, log: () => {} });
  target = receiver();
  writeFileSync(pathOf('token'), RPC_TOKEN, { mode: 0o600 });
  const filters = filtersOf('tenure_change', 'stx_event', 'coinbase');
  writeFileSync(pathOf('hook.json'), JSON.stringify(definition(target.url, filters, started)));
  // The machine that will be lost.
  const server = await serve(pathOf('lost'));
  await postEvents(blocks.slice(0, 1), server.events);
  expect((await hooks(server, pathOf('lost'), 'add', pathOf('hook.json'))).code).toBe(0);
  await postEvents(blocks.slice(1, ARCHIVED + 1), server.events);
  await until(async () => {
    if ((await directoryFiles(archive()).list(IDENTITY)).length === 0) return false;
    const { part } = await findEnd(directoryFiles(archive()));
    return part?.entries.some(({ text }) => text.includes(`"block_height":${ARCHIVED},`)) === true;
  }, 'the archive has the first blocks');
  await postEvents(blocks.slice(ARCHIVED + 1, HAD + 1), server.events);
  await server.stop('SIGKILL');
});
afterAll(async () => {
  await rpc.stop();
  target[Symbol.dispose]();
  folder[Symbol.dispose]();
});

test("the chain and all deliveries are complete: the node fills in the blocks that weren't archived", async () => {
  const data = pathOf('restored');
  expect((await stackside('restore', archive(), '--data', data)).code).toBe(0);
  const before = target.received.length;
  const server = await serve(data);
  // The node continues with its next block, and posts it until the server has the blocks below.
  await postEvents(blocks.slice(HAD + 1), server.events);
  await until(() => appliedHeights(target.received.slice(before)).includes(BLOCKS), 'the last block is delivered');
  const status = (await (await fetch(`${server.api}/extended/v1/status`)).json()) as { chain_tip: object };
  expect(status.chain_tip).toMatchObject({ block_height: BLOCKS });
  await server.stop();
  using whole = ingestOf(blocks.map(received));
  expect(chainTables(data)).toEqual(chainTables(whole.path));
  expect(problemsIn(data, { deep: silentMachine })).toEqual([]);
  expect([...new Set(appliedHeights(target.received))].toSorted((a, b) => a - b)).toEqual(range(1, BLOCKS));
  expectOneBodyEach(target.received);
});

test('a server that was restored to an earlier entry delivers only after its operator allows it, and writes nothing to its former archive', async () => {
  const data = pathOf('earlier');
  const restored = await stackside('restore', archive(), '--data', data, '--until-height', '6');
  expect(restored.stdout).toContain('Chainhooks are paused until stackside hooks enable --paused.');
  const before = target.received.length;
  const server = await serve(data);
  await postEvents(blocks.slice(HAD + 1), server.events);
  const fresh = JSON.parse((await hooks(server, data, 'add', pathOf('hook.json'))).stdout) as { uuid: string };
  const listed = (await hooks(server, data, 'list')).stdout;
  expect(listed).toContain('streaming, disabled, paused');
  expect(listed).toContain('log_restored: the log was restored to an earlier point');
  // The deliveries of another chainhook follow the withheld ones of the paused chainhook.
  expect((await hooks(server, data, 'test', fresh.uuid)).code).toBe(0);
  expect(target.received.slice(before).every(({ headers }) => headers['x-chainhook-uuid'] === fresh.uuid)).toBe(true);
  expect((await hooks(server, data, 'remove', fresh.uuid)).code).toBe(0);

  const count = target.received.length;
  const enabled = await hooks(server, data, 'enable', '--paused');
  expect([enabled.code, enabled.stdout.trim()]).toEqual([0, expect.stringMatching(/^Enabled [0-9a-f-]{36}\.$/)]);
  await until(() => appliedHeights(target.received.slice(count)).includes(BLOCKS), 'the last block is delivered');
  expect(
    appliedHeights(target.received.slice(count))
      .toSorted((a, b) => a - b)
      .slice(-BLOCKS + 6),
  ).toEqual(range(7, BLOCKS));
  expectOneBodyEach(target.received);
  expect((await hooks(server, data, 'enable')).stderr).toContain('Choose the chainhook to enable.');
  await server.stop();
  expect(problemsIn(data, { deep: silentMachine })).toEqual([]);

  // The server with the whole archive delivers the same. The lost machine then returns. Its last seconds contradict
  // that server's archive, so it writes nothing.
  const whole = await serve(pathOf('restored'));
  await whole.stop();
  const back = await serve(pathOf('lost'));
  await postEvents(blocks.slice(HAD + 1), back.events);
  await back.stop();
  const verified = await stackside('archive', 'verify', archive());
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining(' sound\n')]);
  const status = JSON.parse((await stackside('archive', 'status', archive(), '--json')).stdout);
  expect(status).toMatchObject({
    log_identity: dataStateOf(pathOf('restored')).identity,
    fault: null,
    last_entry: journalRows(pathOf('restored')).length,
  });
  expect(dataStateOf(data).identity).not.toBe(status.log_identity);
});
