/** A devnet without `--block-time 0` has this machine's time. The engine is a stand-in with the real one's times. */
import { expect, test } from 'bun:test';
import { broadcastTransaction, getAddressFromPrivateKey, makeSTXTokenTransfer } from '@stacks/transactions';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { standInEngine } from '../support/stand-in-engine.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo, type Steered } from './demo.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const HOUR = 3_600;
const DAY = 86_400;
const recipient = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';

/** Length of the interval between blocks, in milliseconds, of tests with one. */
const INTERVAL_MS = 7_000;

interface RealTime extends AsyncDisposable {
  server: Demo;
  clock: ReturnType<typeof heldClock>;
  /** Lets seconds pass on this machine. */
  wait(seconds: number): void;
  /** This machine's time, in Unix seconds. */
  present(): number;
  state(): Promise<Steered>;
  /** Sends a transaction. @returns the tip after its block */
  send(): Promise<Steered['tip']>;
}

/** Starts a devnet. @param settings texts by name @param isReal whether it runs a project */
async function devnet(settings: Record<string, string>, isReal = true): Promise<RealTime> {
  let present = START;
  const clock = heldClock([INTERVAL_MS], () => present * 1_000);
  const project = isReal ? await standInEngine() : null;
  const chosen = project === null ? { automine: 'true' } : { clarity: project.path };
  const server = await demo({ interval: undefined, ...chosen, ...settings }, { ...realEnvironment, clock });
  const { state } = server;
  return {
    server,
    clock,
    wait(seconds) {
      present += seconds;
    },
    present: () => present,
    state,
    async send() {
      await server.steer('transfer', { recipient, amount: '1' });
      return (await state()).tip;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      project?.[Symbol.dispose]();
    },
  };
}

test('a project mines nothing while time passes, and the next transaction has the present time', async () => {
  await using chain = await devnet({});
  const before = await chain.state();
  expect(Math.abs(before.tip.time - START)).toBeLessThan(10);
  chain.wait(HOUR);
  expect((await chain.state()).tip).toEqual(before.tip);
  const tip = await chain.send();
  expect(Math.abs(tip.time - chain.present())).toBeLessThan(10);
  const { bitcoin } = await chain.state();
  // A Bitcoin block comes every ten minutes, so the hour has five or six.
  expect(Math.round((bitcoin.height - before.bitcoin.height) / 6)).toBe(1);
  chain.wait(15);
  expect(Math.abs((await chain.send()).time - chain.present())).toBeLessThan(10);
});

test('advance adds to the time of a project, and a snapshot that is reverted to takes it back', async () => {
  await using chain = await devnet({});
  await chain.server.steer('snapshot');
  const before = await chain.state();
  await chain.server.steer('time', { seconds: DAY });
  chain.wait(HOUR);
  const later = await chain.send();
  expect(Math.abs(later.time - (chain.present() + DAY))).toBeLessThan(10);
  for (const expectedOrphans of [later.height - before.tip.height, null]) {
    if (expectedOrphans === null) await chain.send();
    const { orphaned } = await chain.server.steer('revert', { snapshot: 'default' });
    if (expectedOrphans !== null) expect(orphaned).toHaveLength(expectedOrphans);
    const { tip, bitcoin } = await chain.state();
    expect(bitcoin.height).toBe(before.bitcoin.height);
    // The empty branch has ten seconds for each block.
    expect(tip.time).toBe(before.tip.time + 10 * (tip.height - before.tip.height));
  }
  // The next Bitcoin block replaces the one that the revert removed.
  const { bitcoin_blocks: bitcoinBlocks } = await chain.server.steer('bitcoin');
  expect(bitcoinBlocks.map(({ height }) => height)).toEqual([before.bitcoin.height + 1]);
  const indexed = await chain.server.json<{ results: { burn_block_height: number; burn_block_hash: string }[] }>(
    '/extended/v2/burn-blocks?limit=1',
  );
  expect(indexed.results).toMatchObject([
    { burn_block_height: before.bitcoin.height + 1, burn_block_hash: bitcoinBlocks[0]!.hash },
  ]);
  chain.wait(2 * DAY);
  expect(Math.abs((await chain.send()).time - chain.present())).toBeLessThan(10);
});

test('blocks without a project have exactly the time of this machine', async () => {
  await using chain = await devnet({}, false);
  chain.wait(HOUR);
  expect((await chain.send()).time).toBe(START + HOUR);
  await chain.server.steer('snapshot');
  await chain.server.steer('time', { seconds: DAY });
  chain.wait(HOUR);
  expect((await chain.send()).time).toBe(START + 2 * HOUR + DAY);
  await chain.server.steer('revert', { snapshot: 'default' });
  chain.wait(HOUR);
  expect((await chain.send()).time).toBe(START + 3 * HOUR);
});

test('a project with a block time mines at the interval, also if commands come more often', async () => {
  await using chain = await devnet({ interval: '7' });
  const { clock, server } = chain;
  const { tip } = await chain.state();
  await until(() => clock.waiting(INTERVAL_MS) === 1, 'the wait for the next block');
  // A command interrupts the wait, but the block is still due at the same time.
  await server.steer('snapshot');
  await until(() => clock.waiting(INTERVAL_MS) === 1, 'the same wait');
  chain.wait(30);
  clock.pass(INTERVAL_MS);
  await until(async () => (await chain.state()).tip.height > tip.height, 'a block at the interval');
  await until(() => clock.waiting(INTERVAL_MS) === 1, 'the next wait');
  expect(Math.abs((await chain.state()).tip.time - chain.present())).toBeLessThan(20);
});

test.each([
  ['0', undefined, 'pending'],
  ['0', 'true', 'success'],
  [undefined, undefined, 'success'],
])(
  'with --block-time %s and --automine %s, a broadcast transaction of a project is %s',
  async (interval, automine, status) => {
    using project = await standInEngine();
    await using server = await demo({ clarity: project.path, interval, automine });
    const senderKey = `${'33'.repeat(32)}01`;
    const address = getAddressFromPrivateKey(senderKey, 'testnet');
    await server.steer('fund', { address, amount: '1000000' });
    const common = { network: 'testnet', client: { baseUrl: server.api } } as const;
    const transaction = await makeSTXTokenTransfer({ recipient, amount: 5, fee: 400, senderKey, ...common });
    await broadcastTransaction({ transaction, ...common });
    const { tx_status } = await server.json<{ tx_status: string }>(`/extended/v1/tx/0x${transaction.txid()}`);
    expect(tx_status).toBe(status);
  },
);
