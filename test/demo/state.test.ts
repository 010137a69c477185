/** A devnet writes its chain to the file of --state, and another devnet continues it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { devnetSettings, startDevnet } from '../../src/commands/serve/devnet.ts';
import { type Environment, realEnvironment } from '../../src/commands/serve/environment.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { clarityProject, DEPLOYER, hasClarity, lentEngine, stopEngines, WALLET } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { type Demo, demo, type Steered } from './demo.ts';

const GOLD = `${DEPLOYER.address}.counter::gold`;
const counter = (step: number): string =>
  `(define-fungible-token gold u100)
   (define-data-var n uint u0)
   (define-read-only (now) (var-get n))
   (define-public (fail) (err u1))
   (define-public (go) (ok (var-set n (+ (var-get n) u${step}))))`;

afterAll(stopEngines);

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let file: string;
  /** The manifest with all contracts. Until a test writes it, the project has one contract. */
  let manifest: string;
  beforeAll(async () => {
    // More contracts than a node lets an account have pending transactions.
    const spares = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`other-${i}`, '(define-constant x u1)']));
    project = await clarityProject({ counter: counter(1), ...spares });
    file = join(project.path, 'state.json');
    manifest = await Bun.file(join(project.path, 'Clarinet.toml')).text();
    await Bun.write(join(project.path, 'Clarinet.toml'), manifest.slice(0, manifest.indexOf('[contracts.other-0]')));
  });
  afterAll(() => project?.[Symbol.dispose]());

  const start = (settings: Record<string, string> = {}) => demo({ clarity: project.path, state: file, ...settings });
  const call = (server: Demo, name: string, sender: string) =>
    server.steer('call', { contract: 'counter', function: name, sender });
  const count = async (server: Demo) => (await server.steer('read', { contract: 'counter', function: 'now' })).repr;
  /** Everything that must be equal after the chain was continued. */
  async function stateOf(server: Demo) {
    const { tip, bitcoin, pending, snapshots, faucet } = await server.state();
    const list = `/extended/v1/address/${WALLET.address}/transactions`;
    const { results } = await server.json<{ results: { tx_id: string; tx_status: string; block_height: number }[] }>(
      list,
    );
    const transactions = results.map(({ tx_id, tx_status, block_height }) => [tx_id, tx_status, block_height]);
    const holders = await server.json(`/extended/v3/tokens/ft/${GOLD}/holders`);
    return { tip, bitcoin, pending, snapshots, faucet, transactions, holders, count: await count(server) };
  }

  test('a devnet continues the chain of the one before: blocks, snapshots, accounts and pending transactions', async () => {
    let before: Awaited<ReturnType<typeof stateOf>>;
    {
      await using server = await start({ automine: 'false' });
      await call(server, 'go', 'wallet_1');
      await server.steer('snapshot', { name: 'one' });
      await call(server, 'fail', 'wallet_1');
      await call(server, 'go', 'wallet_1');
      await server.steer('fork', { depth: 1 });
      await server.steer('time', { seconds: 3_600 });
      const { address } = await server.steer<{ address: string }>('account', { name: 'alice' });
      await server.steer('fund', { address, amount: '5000000' });
      await server.steer('balance', { address, amount: '70', asset: GOLD });
      before = await stateOf(server);
    }
    await using server = await start({ automine: 'false' });
    const { tip, ...after } = await stateOf(server);
    const { tip: tipBefore, ...rest } = before;
    expect(after).toEqual(rest);
    // A fork that lost isn't mined again, so the blocks above it have other hashes.
    expect([tip.height, tip.time, tip.tenure_height]).toEqual([
      tipBefore.height,
      tipBefore.time,
      tipBefore.tenure_height,
    ]);
    expect([after.count, after.transactions.map(([, status]) => status)]).toEqual([
      'u2',
      ['success', 'abort_by_response', 'success', 'success'],
    ]);
    await server.steer('transfer', { recipient: DEPLOYER.address, amount: '1', sender: 'alice' });
    const change = { address: DEPLOYER.address, amount: '31', asset: GOLD };
    expect((await server.refuses('balance', change)).message).toContain('SupplyOverflow');
    await server.steer('revert', { snapshot: 'one' });
    expect(await count(server)).toBe('u1');
  });

  test('contracts that changed in the meantime are deployed again, and later transactions are mined again', async () => {
    await Bun.write(join(project.path, 'contracts/counter.clar'), counter(10));
    await Bun.write(join(project.path, 'Clarinet.toml'), manifest);
    await using server = await start();
    expect(await count(server)).toBe('u10');
    await call(server, 'go', 'wallet_1');
    expect(await count(server)).toBe('u20');
  });

  test('a devnet that is stopped while it mines the chain of its file again keeps the file', async () => {
    const text = readFileSync(file, 'utf8');
    using data = dataDirectory();
    const ports = { apiPort: '0', eventPort: '0', interval: '0' };
    const given = { ...ports, data: data.path, clarity: project.path, state: file };
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const environment: Environment = {
      ...realEnvironment,
      clarityEngine: lentEngine,
      createLog: () => (event) => {
        if (event.event === 'block_applied') end();
      },
    };
    const starting = startDevnet(
      devnetSettings(readSettingsOf('devnet', given, {}).settings, null),
      environment,
      ended,
    );
    await expect(starting.then(({ stop }) => stop())).rejects.toMatchObject({ name: 'AbortError' });
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('a second devnet with the same file is refused, until the first one has stopped', async () => {
    const state = join(project.path, 'shared.json');
    {
      await using first = await start({ state });
      await expect(start({ state })).rejects.toThrow(`Another devnet uses the state in ${state}.`);
      await call(first, 'go', 'wallet_1');
    }
    const text = readFileSync(state, 'utf8');
    await expect(start({ state, seed: '2' })).rejects.toThrow('this devnet has the seed 2');
    await using second = await start({ state });
    expect([await count(second), readFileSync(state, 'utf8')]).toEqual(['u10', text]);
  });

  test('rejects a state of another seed, of other accounts, or that is incomplete, and keeps the file', async () => {
    const text = readFileSync(file, 'utf8');
    await expect(start({ seed: '2' })).rejects.toThrow('it has the seed 1, and this devnet has the seed 2');
    for (const length of [0, 1, text.length >> 1, text.length - 3]) {
      writeFileSync(file, text.slice(0, length));
      await expect(start()).rejects.toThrow(`The state in ${file} can't be used: no devnet of this version wrote it.`);
      expect(readFileSync(file, 'utf8')).toHaveLength(length);
    }
    const changed = JSON.parse(text);
    // All blocks below the last transaction are mined again.
    const last = changed.chain.blocks.findLast((block: { transaction: unknown }) => block.transaction !== null);
    expect(last.transaction.status).toBe('success');
    last.transaction.status = 'other';
    writeFileSync(file, JSON.stringify(changed));
    await expect(start()).rejects.toThrow(/block \d+ had a transaction with the status other, but is different now/);
    writeFileSync(file, text);
    const accounts = join(project.path, 'settings/Devnet.toml');
    const settings = await Bun.file(accounts).text();
    await Bun.write(accounts, settings.replace('100_000_000_000_000', '5_000_000'));
    await expect(start()).rejects.toThrow('the account deployer was added or changed since');
    await Bun.write(accounts, settings);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('a devnet continues with a pending call of a pending contract, and more pending deployments than an account can send', async () => {
    const contracts = Object.fromEntries(
      Array.from({ length: 28 }, (_, i) => [`c-${i}`, '(define-public (go) (ok u1))']),
    );
    using large = await clarityProject(contracts);
    const settings = { clarity: large.path, state: join(large.path, 'state.json'), automine: 'false' };
    let before: Steered;
    {
      await using server = await demo(settings);
      await server.steer('call', { contract: 'c-0', function: 'go', sender: 'wallet_1' });
      const { tip } = await server.state();
      await server.steer('fork', { depth: tip.height - 1 });
      before = await server.state();
    }
    expect(before.pending).toHaveLength(29);
    await using server = await demo(settings);
    expect((await server.state()).pending).toEqual(before.pending);
    await server.steer('mine', {});
    expect((await server.state()).pending).toEqual([]);
  });

  test('a devnet that fails at its start reports the place of the mistake and writes no file', async () => {
    using broken = await clarityProject({ bad: '(define-public (x) (ok' });
    const state = join(broken.path, 'state.json');
    await expect(demo({ clarity: broken.path, state })).rejects.toThrow(
      "contracts/bad.clar:1:23: expected closing ')'",
    );
    expect(existsSync(state)).toBe(false);
    await expect(demo({ clarity: broken.path, state: join(broken.path, 'none/state.json') })).rejects.toThrow(
      `The directory ${join(broken.path, 'none')} of --state doesn't exist.`,
    );
  });
});

test.each([
  ['--state', { state: 'state.json' }],
  ['--fork', { fork: 'http://127.0.0.1:9' }],
])('%s needs a project', async (flag, settings) => {
  await expect(demo(settings)).rejects.toThrow(`${flag} needs a project.`);
});
