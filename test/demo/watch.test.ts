/** A project's files change while its contracts run. */
import { afterAll, expect, test } from 'bun:test';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import type { LogEvent } from '../../src/log.ts';
import { clarityProject, DEPLOYER, hasClarity, stopEngines, WALLET } from '../support/clarity.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo } from './demo.ts';

const counter = (step: number): string =>
  `(define-data-var n uint u0)
   (define-public (go) (begin (var-set n (+ (var-get n) u${step})) (print (var-get n)) (ok (var-get n))))`;

const logged: LogEvent[] = [];
const origins: string[] = [];
const environment = {
  ...realEnvironment,
  createLog: () => (event: LogEvent) => void logged.push(event),
  listen: (...parameters: Parameters<typeof realEnvironment.listen>) => {
    const listener = realEnvironment.listen(...parameters);
    origins.push(listener.url.origin);
    return listener;
  },
};

afterAll(stopEngines);

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let server: Demo;
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    project?.[Symbol.dispose]();
  });

  const file = (name: string) => join(project.path, 'contracts', `${name}.clar`);
  const call = (name: string) =>
    server.steer('call', {
      sender: 'wallet_1',
      contract: `${DEPLOYER.address}.${name}`,
      function: name === 'counter' ? 'go' : 'f',
    });
  const count = async () => {
    const { data } = await server.json<{ data: string }>(`/v2/data_var/${DEPLOYER.address}/counter/n?proof=0`);
    return Number.parseInt(data.slice(-8), 16);
  };
  const heights = async () => {
    const { tip, bitcoin } = await server.state();
    const { chain_tip } = await server.json<{ chain_tip: { block_height: number } }>('/extended');
    return { tip: tip.height, bitcoin: bitcoin.height, indexed: chain_tip.block_height };
  };
  /** Returns the first event of the watch after a change. */
  async function outcome(change: () => Promise<unknown> | unknown): Promise<LogEvent> {
    const before = logged.filter(({ event }) => event.startsWith('contracts_')).length;
    await change();
    const events = () => logged.filter(({ event }) => event.startsWith('contracts_')).slice(before);
    await until(() => events().length > 0, 'the watch');
    return events()[0]!;
  }

  test('a devnet with --watch waits for the correction of contracts at its start, and is ready only then', async () => {
    const eventsNamed = (name: string) => logged.filter(({ event }) => event === name);
    const mistake = '(define-constant one u1)\n\n (define-constant x (/ one u0))';
    project = await clarityProject({ counter: counter(1), other: mistake });
    const starting = demo({ clarity: project.path, watch: 'true' }, environment);
    await until(() => eventsNamed('contracts_refused').length === 1, 'the mistake in the contract');
    const problem = `${file('other')}:3:2: DivisionByZero`;
    const remedy = "Correct the contract other, which can't be deployed.";
    expect(eventsNamed('contracts_refused')[0]).toMatchObject({ problem, remedy });
    const answers = await Promise.all(origins.map((origin) => fetch(`${origin}/ready`)));
    const bodies = await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()] as const));
    const [, body = ''] = bodies.find(([status, text]) => status === 503 && text.includes('"ready"')) ?? [];
    expect(JSON.parse(body)).toMatchObject({ ready: false, state: 'starting', reason: `${problem}.`, next: remedy });
    await Bun.write(file('other'), '(define-public (f) (contract-call? .counter go))');
    server = await starting;
    expect(eventsNamed('contracts_deployed')).toEqual([
      { event: 'contracts_deployed', contracts: ['counter', 'other'], mined: 0, dropped: 0 },
    ]);
    expect((await server.get('/ready')).status).toBe(200);
    expect((await server.get(`/v2/contracts/interface/${DEPLOYER.address}/counter`)).status).toBe(200);
  });

  test('a changed contract is deployed again, and later transactions are mined again at their heights', async () => {
    await call('counter');
    await server.steer('bitcoin', { count: 2 });
    await server.steer('mine', { count: 110 });
    const { tx_id: id, block } = await call('other');
    const before = await heights();
    expect(await count()).toBe(2);
    expect(await outcome(() => Bun.write(file('counter'), counter(10)))).toEqual({
      event: 'contracts_deployed',
      contracts: ['counter', 'other'],
      mined: 2,
      dropped: 0,
    });
    expect(logged).toContainEqual({ event: 'deployment_started', changed: ['counter'] });
    expect(await count()).toBe(20);
    expect(await heights()).toEqual({ tip: before.tip + 1, bitcoin: before.bitcoin, indexed: before.indexed + 1 });
    expect(await server.json(`/extended/v1/tx/${id}`)).toMatchObject({
      tx_status: 'success',
      canonical: true,
      block_height: block.height,
      tx_result: { repr: '(ok u20)' },
    });
  });

  test('an invalid contract is reported, and the chain stays unchanged until it is corrected', async () => {
    const before = await heights();
    const write = (called: string) =>
      Bun.write(file('other'), `(define-public (f) (contract-call? .counter ${called})) ;; changed`);
    const event = await outcome(() => write('nothing'));
    expect(event).toEqual({
      event: 'contracts_refused',
      problem: expect.stringMatching(/other\.clar:1:\d+: .*nothing/),
      remedy: "Correct the contract other, which can't be deployed.",
    });
    expect(await heights()).toEqual(before);
    expect((await call('other')).status).toBe('success');
    const mended = await outcome(() => write('go'));
    expect(mended).toMatchObject({ event: 'contracts_deployed', mined: 3 });
    expect(await count()).toBe(30);
  });

  test('an editor writes by renaming, and several files change at once', async () => {
    await Bun.write(`${file('counter')}.tmp`, counter(5));
    await Bun.write(`${file('other')}.tmp`, '(define-public (f) (contract-call? .counter go)) ;; renamed');
    const event = await outcome(() => {
      for (const name of ['counter', 'other']) renameSync(`${file(name)}.tmp`, file(name));
    });
    expect(event).toMatchObject({ event: 'contracts_deployed' });
    expect(await count()).toBe(15);
  });

  test('a snapshot moves to the branch of a changed contract', async () => {
    await server.steer('snapshot', { name: 'kept' });
    const { tip } = await server.state();
    await call('counter');
    expect(await count()).toBe(20);
    expect(await outcome(() => Bun.write(file('counter'), counter(7)))).toMatchObject({ mined: 4 });
    expect(await count()).toBe(28);
    const { snapshots } = await server.state();
    expect(snapshots).toEqual([expect.objectContaining({ name: 'kept', height: tip.height })]);
    await server.steer('revert', { snapshot: 'kept' });
    expect(await count()).toBe(21);
  });

  test('a deleted file is reported by name, and a contract that the manifest no longer names is removed', async () => {
    expect(await outcome(() => rmSync(file('other')))).toMatchObject({
      event: 'contracts_refused',
      problem: `${file('other')} doesn't exist.`,
    });
    const manifest = join(project.path, 'Clarinet.toml');
    const text = await Bun.file(manifest).text();
    expect(await outcome(() => Bun.write(manifest, text.slice(0, text.indexOf('[contracts.other]'))))).toMatchObject({
      event: 'contracts_deployed',
      contracts: ['counter'],
    });
    expect((await server.get(`/v2/contracts/interface/${DEPLOYER.address}/other`)).status).toBe(404);
    // Transactions that called it are mined, and fail.
    const { results } = await server.json<{
      results: { tx_status: string; contract_call?: { contract_id: string } }[];
    }>(`/extended/v1/address/${WALLET.address}/transactions`);
    const calls = results.filter((result) => result.contract_call?.contract_id === `${DEPLOYER.address}.other`);
    expect(calls.map(({ tx_status }) => tx_status)).toEqual(['abort_by_response', 'abort_by_response']);
    expect((await call('counter')).status).toBe('success');
  });

  test('changed accounts are reported, with a restart as the remedy', async () => {
    const accounts = join(project.path, 'settings/Devnet.toml');
    const text = await Bun.file(accounts).text();
    expect(await outcome(() => Bun.write(accounts, text.replace('100_000_000_000_000', '5_000_000')))).toMatchObject({
      event: 'contracts_refused',
      remedy: 'Restart the devnet to use them.',
    });
  });
});

describeWith('Clarity', hasClarity, () => {
  test('a contract that is corrected while the devnet starts is deployed', async () => {
    using project = await clarityProject({ counter: '(define-constant x (/ u1 u0))' });
    const events: LogEvent[] = [];
    await using server = await demo(
      { clarity: project.path, watch: 'true' },
      {
        createLog: () => (event) => void events.push(event),
        // The project was read before, and its contracts are deployed later.
        listen: (...given) => {
          writeFileSync(join(project.path, 'contracts/counter.clar'), counter(1));
          return realEnvironment.listen(...given);
        },
      },
    );
    expect((await server.get('/ready')).status).toBe(200);
    expect(events.map(({ event }) => event).filter((event) => event.startsWith('contracts_'))).toEqual([
      'contracts_refused',
      'contracts_deployed',
    ]);
  });
});

test('a demo without a project has nothing to watch', async () => {
  await expect(demo({ watch: 'true' })).rejects.toThrow('--watch needs a project.');
});
