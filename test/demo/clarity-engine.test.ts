/** Faults of the Clarity engine: the chain continues, and each fault is reported. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import {
  ClarityEngine,
  type EngineAction,
  type EngineBlock,
  EngineEndedError,
} from '../../src/devnet/clarity/engine.ts';
import { EngineChain } from '../../src/devnet/clarity/engine-chain.ts';
import type { LogEvent } from '../../src/log.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { standInEngine } from '../support/stand-in-engine.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo, type Steered } from './demo.ts';

/** Time limit for a response of the engine, in milliseconds. */
const ANSWER_MS = 60_000;

interface Outcome extends Steered {
  error: string | null;
}

const clock = heldClock([ANSWER_MS]);
let project: Awaited<ReturnType<typeof standInEngine>>;
let server: Demo;
let contract = '';
beforeAll(async () => {
  project = await standInEngine();
  server = await demo({ clarity: project.path }, { ...realEnvironment, clock });
  const { sender } = await server.steer<{ sender: string }>('deploy', { name: 'any', source: '(print 1)' });
  contract = `${sender}.any`;
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  project?.[Symbol.dispose]();
});

const call = (name: string) => server.steer<Outcome>('call', { contract, function: name });

test('a read-only function accepts a contract as its sender', async () => {
  const [address = '', name = ''] = contract.split('.');
  const response = await server.get(`/v2/contracts/call-read/${address}/${name}/look`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: contract, arguments: [] }),
  });
  expect(await response.json()).toEqual({ okay: true, result: `0x${'01'.padEnd(34, '0')}` });
});

for (const [name, error] of [
  ['die', 'The Clarity engine ended with code 3.'],
  ['hang', 'The Clarity engine ended with code 137.'],
  ['odd', 'the event new_event is unknown'],
] as const)
  test(`a call of ${name} fails, and the next one succeeds one block later`, async () => {
    const before = clock.waiting(ANSWER_MS);
    const calling = call(name);
    if (name === 'hang') {
      await until(() => clock.waiting(ANSWER_MS) > before, 'the call in the engine');
      clock.pass(ANSWER_MS);
    }
    const failed = await calling;
    expect([failed.status, failed.error]).toEqual(['abort_by_response', error]);
    const good = await call('good');
    expect([good.status, good.block.height]).toEqual(['success', failed.block.height + 1]);
    const { chain_tip: tip } = await server.json<{ chain_tip: { block_height: number } }>('/extended');
    expect(tip.block_height).toBe(good.block.height);
  });

test('a contract that prints a megabyte is indexed', async () => {
  const { tx_id: id, status } = await call('print');
  expect(status).toBe('success');
  const { events } = await server.json<{ events: { contract_log: { value: { hex: string } } }[] }>(
    `/extended/v1/tx/${id}`,
  );
  expect(events[0]?.contract_log.value.hex.length).toBe(2 * (1_048_576 + 5) + 2);
});

test('a directory without an engine is refused with the command that installs one', async () => {
  using empty = dataDirectory();
  const error = await demo({ clarity: empty.path }).catch((error: unknown) => error);
  expect(error).toMatchObject({
    message: expect.stringContaining(`No Clarity engine can be loaded from ${empty.path}`),
    remedy: 'Install it in that directory: npm install --save-dev @stacks/clarinet-sdk@3',
  });
});

/** Starts a demo that watches a project with one contract; returns it with the contract's file and the demo's log. */
async function watchedDemo(directory: string) {
  const [file, logged] = [join(directory, 'one.clar'), [] as LogEvent[]];
  await Bun.write(file, '(ok true)');
  await Bun.write(join(directory, 'Clarinet.toml'), '[project]\n[contracts.one]\npath = "one.clar"\n');
  const createLog = () => (event: LogEvent) => void logged.push(event);
  const server = await demo({ clarity: directory, watch: 'true' }, { ...realEnvironment, createLog });
  return { server, file, logged, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test('an engine that ends while it tries a changed contract is reported, and the chain continues', async () => {
  using project = await standInEngine();
  await using watched = await watchedDemo(project.path);
  const { server, file, logged } = watched;
  const { tip } = await server.state();
  await Bun.write(file, '(die)');
  await until(() => logged.some(({ event }) => event === 'contracts_refused'), 'the word of the engine');
  expect(logged.find(({ event }) => event === 'contracts_refused')).toMatchObject({
    problem: expect.stringContaining('The Clarity engine ended with code 3.'),
  });
  expect((await server.state()).tip).toEqual(tip);
  expect((await server.steer('mine')).blocks[0]?.height).toBe(tip.height + 1);
});

test('a changed contract is deployed again, and the transactions after it are mined again and counted', async () => {
  using project = await standInEngine();
  await using watched = await watchedDemo(project.path);
  const { server, file, logged } = watched;
  for (const name of ['first', 'second']) await server.steer('deploy', { name, source: '(print 1)' });
  await Bun.write(file, '(ok false)');
  const deployments = () => logged.filter(({ event }) => event === 'contracts_deployed');
  await until(() => deployments().length === 2, 'the new deployment');
  expect(deployments().at(-1)).toMatchObject({ contracts: ['one'], mined: 2, dropped: 0 });
});

const engineModule = new URL('../../src/devnet/clarity/engine-process.ts', import.meta.url);

test('a stopped engine ends its process and rejects messages', async () => {
  using engines = await standInEngine();
  const engine = new ClarityEngine({ directory: engines.path, module: engineModule, clock: systemClock });
  await engine.start();
  expect(engine.isRunning).toBe(true);
  await engine.stop();
  expect(engine.isRunning).toBe(false);
  await expect(engine.ask({} as never)).rejects.toThrow('The Clarity engine was stopped.');
});

/** A chain in a stand-in, at its first block. */
async function startedChain() {
  const engines = await standInEngine();
  const engine = new ClarityEngine({ directory: engines.path, module: engineModule, clock: systemClock });
  const chain = new EngineChain(engine, { epoch: '3.4', time: 0, funds: [] });
  const { height } = await chain.begin();
  chain.keep('0', null, null);
  const stop = async () => {
    await engine.stop();
    engines[Symbol.dispose]();
  };
  return { engine, chain, height, [Symbol.asyncDispose]: stop };
}
const empty: EngineBlock & { kind: 'block' } = { kind: 'block', credits: [], fee: null, action: null };

test('a chain is built again after its engine ended and a check started another process', async () => {
  await using started = await startedChain();
  const { chain, height } = started;
  const die: EngineAction = { kind: 'call', sender: 'ST', contract: 'ST.any', functionName: 'die', args: [] };
  await expect(chain.firstFailing('0', [{ ...empty, action: die }])).rejects.toThrow(EngineEndedError);
  expect(await chain.check({}, '/Clarinet.toml')).toBe(null);
  expect((await chain.attempt('0', empty)).height).toBe(height + 1);
});

test('a long chain is rebuilt with messages of at most 500 blocks', async () => {
  await using started = await startedChain();
  const { engine, chain, height } = started;
  for (let id = 1; id <= 1_200; id++) chain.keep(String(id), String(id - 1), empty);
  await chain.attempt('0', empty);
  const ask = spyOn(engine, 'ask');
  expect((await chain.attempt('1200', empty)).height).toBe(height + 1_201);
  const sizes = ask.mock.calls.map(([message]) => (message.kind === 'blocks' ? message.blocks.length : message.kind));
  expect(sizes).toEqual(['begin', 500, 500, 200, 1]);
});

test('an engine of another version is refused', async () => {
  using project = await standInEngine('4.0.0');
  await expect(demo({ clarity: project.path })).rejects.toThrow('has version 4.0.0; this program supports version 3.');
});

test('the error about a missing directory names it', async () => {
  await expect(demo({ clarity: '/no/such/project' })).rejects.toThrow("The directory /no/such/project doesn't exist.");
});
