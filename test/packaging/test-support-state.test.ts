/** `stackside/test`: options, the state that a revert restores, and the errors of waits. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { BOOT_ADDRESS } from '../../src/codec/address.ts';
import { type Devnet, DevnetError, type DevnetOptions, startDevnet } from '../../src/testing/index.ts';
import { command } from '../e2e/stackside.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { failureOf } from '../support/failure.ts';
import { until } from '../support/time/until.ts';
import { script } from './installed-package.ts';

/** Longer than any wait on a busy machine. */
const LONG_MS = 300_000;

let directory: DataDirectory;
let executable: string;
beforeAll(() => {
  directory = dataDirectory();
  const program = command.map((word) => `'${word}'`).join(' ');
  executable = script(join(directory.path, 'stackside'), `exec ${program} "$@"`);
});
afterAll(() => directory[Symbol.dispose]());

const errorOf = (work: Promise<unknown>): Promise<DevnetError> => failureOf(DevnetError, work);

test.each<[options: object, field: string, message: string]>([
  [{ foo: 1 }, 'foo', 'startDevnet has no option foo: its options are executable, port, seed, history, '],
  [{ pox5height: 1 }, 'pox5height', 'startDevnet has no option pox5height: did you mean pox5Height?'],
  [{ state: 'chain.json' }, 'state', 'The option state needs a Clarinet project.'],
  [{ fork: 'http://127.0.0.1:1' }, 'fork', 'The option fork needs a Clarinet project.'],
  [{ clarity: '.', history: 5 }, 'history', 'The option history is for simulated contracts'],
])('refuses the options %j, which would have no effect', async (options, field, message) => {
  const error = await errorOf(startDevnet({ executable: 'none', ...options } as DevnetOptions));
  expect([error.problem, error.field, error.message]).toEqual(['refused', field, expect.stringContaining(message)]);
});

test('names the limit of a test runner if the chain was asked to end', async () => {
  const unready = script(join(directory.path, 'unready'), 'exit 0');
  expect((await errorOf(startDevnet({ executable: unready }))).message).toStartWith(
    'The chain did not start: it ended with exit code 0. Probably a test or a hook exceeded its time limit',
  );
  const ends = script(join(directory.path, 'ends'), `echo '{"ready":true,"api":"http://127.0.0.1:9"}'; exit 0`);
  const chain = await startDevnet({ executable: ends });
  const { problem, message } = await errorOf(chain.mine());
  expect([problem, message]).toEqual([
    'ended',
    'The chain ended with exit code 0. Probably a test or a hook exceeded its time limit: bun test then stops all child processes. Raise the limit with --timeout. Its log is empty.',
  ]);
  await chain.stop();
});

test('waits for a delivery for less than the limit of bun test', async () => {
  await using chain = await startDevnet({ executable });
  const hook = await chain.hooks.add({ filters: { events: [{ type: 'stx_burn' }] } });
  expect((await errorOf(hook.next())).message).toStartWith('Waited 4000 ms for a delivery of ');
});

describe('a chain', () => {
  let chain: Devnet;
  beforeAll(async () => {
    chain = await startDevnet({ executable, limitMs: LONG_MS });
    await chain.snapshot('start');
  });
  afterEach(() => chain.revert('start'));
  afterAll(() => chain?.stop());

  async function deliveriesOf(uuid: string, state: 'delivered' | 'failed' | 'dead') {
    const page = await fetch(`${chain.url}/chainhooks/me/${uuid}/deliveries?state=${state}`);
    return ((await page.json()) as { results: { next_attempt_at: number | null }[] }).results;
  }

  const all = { events: [{ type: 'stx_transfer' as const }] };
  const payment = { events: [{ type: 'stx_transfer' as const, min_amount: '7' }] };

  test('funds an account again if a revert undid its funds, and keeps one that was funded before', async () => {
    const early = await chain.account('early', 70);
    const { contract_id: id } = await chain.deploy('(define-constant one u1)', { name: 'kept' });
    await chain.snapshot('funded');
    const shop = await chain.account('shop', 50);
    await chain.deploy('(define-constant one u1)', { name: 'undone' });
    await chain.revert('funded');
    expect(await chain.balance(shop.address)).toBe(0n);
    expect(await chain.account('shop', 60)).toEqual(shop);
    expect([await chain.balance(shop), await chain.balance('shop')]).toEqual([60n, 60n]);
    expect(await chain.account('early', 80)).toEqual(early);
    expect(await chain.balance(early)).toBe(70n);
    expect([await chain.balance('kept'), await chain.balance(id)]).toEqual([0n, 0n]);
    expect((await errorOf(chain.balance('undone'))).field).toBe('owner');
    // A revert to a block does the same.
    const before = await chain.tip();
    const other = await chain.account('other', 50);
    await chain.revert(before);
    await chain.account('other', 40);
    expect(await chain.balance(other)).toBe(40n);
  });

  test('forgets an account that could not be funded', async () => {
    expect((await errorOf(chain.account('poor', 10n ** 20n))).problem).toBe('refused');
    const { message } = await errorOf(chain.transfer('nobody', 1));
    expect(message).not.toContain('poor');
    const { address } = await chain.account('poor', 5);
    expect(await chain.balance(address)).toBe(5n);
  });

  test('accepts addresses of 28 characters', async () => {
    const before = await chain.balance(BOOT_ADDRESS.testnet);
    await chain.transfer(BOOT_ADDRESS.testnet, 5);
    expect(await chain.balance(BOOT_ADDRESS.testnet)).toBe(before + 5n);
    expect(await chain.balance(`${BOOT_ADDRESS.testnet}.pox-4`)).toBe(0n);
  });

  test('refuses the balance of a token that its contract does not define', async () => {
    const { contract_id: id } = await chain.deploy('(define-constant one u1)', { name: 'vault' });
    for (const [asset, message] of [
      ['vault::nonsense', `${id} defines no fungible token nonsense. Its tokens: none.`],
      ['vault', 'vault is not a token: write a contract, :: and a token.'],
      [`${BOOT_ADDRESS.testnet}.none::gold`, `The contract ${BOOT_ADDRESS.testnet}.none doesn't exist.`],
    ] as const) {
      const error = await errorOf(chain.balance(id, asset));
      expect([error.problem, error.field, error.message]).toEqual(['refused', 'asset', message]);
    }
  });

  test('a revert removes later chainhooks, unread deliveries and the answer of the receiver', async () => {
    const { address } = await chain.account('receiver');
    const early = await chain.hooks.add({ name: 'early', filters: payment });
    const unread = await chain.transfer(address, 7);
    const uuids = async () => {
      const page = (await (await fetch(`${chain.url}/chainhooks/me`)).json()) as { results: { uuid: string }[] };
      return page.results.map(({ uuid }) => uuid);
    };
    const hashOf = (delivery: Awaited<ReturnType<typeof early.next>>) =>
      delivery.payload.event.apply[0]?.transactions[0]?.transaction_identifier.hash;
    await chain.transfer(address, 8);
    // The second delivery has to be here, without being read.
    await until(async () => (await deliveriesOf(early.uuid, 'delivered')).length === 2, 'both deliveries');
    expect(hashOf(await early.next())).toBe(unread.tx_id);

    await chain.snapshot('hooks');
    const late = await chain.hooks.add({ name: 'late', filters: all });
    const waiting = errorOf(late.next());
    chain.hooks.answer({ status: 410, times: 5 });
    await chain.revert('hooks');
    expect(await uuids()).not.toContain(late.uuid);
    expect(await uuids()).toContain(early.uuid);
    for (const error of [await waiting, await errorOf(late.next())]) {
      expect([error.problem, error.message]).toEqual(['refused', expect.stringContaining('after the snapshot')]);
    }
    // The delivery of the second transfer was unread at the snapshot, and the answer is the usual one again.
    const delivered = await early.next();
    expect([delivered.payload.event.apply.length, delivered.answer]).toEqual([1, 204]);
    const next = await chain.transfer(address, 9);
    const delivery = await early.next();
    expect([hashOf(delivery), delivery.answer]).toEqual([next.tx_id, 204]);

    // Deliveries that the test didn't read are gone, and the rollback of their block arrives.
    await chain.revert('hooks');
    expect((await early.next()).payload.event.rollback).toHaveLength(1);
  });

  test('after a revert, a failed delivery is sent again at once', async () => {
    const { address } = await chain.account('receiver');
    const hook = await chain.hooks.add({ filters: payment });
    await chain.snapshot('before');
    const failed = () => deliveriesOf(hook.uuid, 'failed');
    chain.hooks.answer({ status: 503 });
    await chain.transfer(address, 7);
    expect((await hook.next()).answer).toBe(503);
    await until(async () => (await failed()).length === 1, 'the failure');
    await chain.revert('before');
    expect((await failed()).filter(({ next_attempt_at: next }) => next !== null)).toEqual([]);
    const { answer, payload } = await hook.next();
    expect([answer, payload.event.apply.length]).toEqual([204, 1]);
    expect((await hook.next()).payload.event.rollback).toHaveLength(1);
  });

  test('names the state of a chainhook that sends nothing', async () => {
    const { address } = await chain.account('other');
    const hook = await chain.hooks.add({ name: 'broken', filters: payment });
    chain.hooks.answer({ status: 410 });
    await chain.transfer(address, 7);
    expect((await hook.next()).answer).toBe(410);
    await until(async () => (await deliveriesOf(hook.uuid, 'dead')).length === 1, 'the end of the chainhook');
    const expected =
      /^Waited 1000 ms for .*, which did not come\. The chainhook "broken" is interrupted, disabled, with 1 waiting delivery: .* status 410\.$/;
    for (const next of [hook.next, chain.hooks.next]) {
      const { problem, message } = await errorOf(next({ limitMs: 1_000 }));
      expect([problem, message]).toEqual(['time_limit', expect.stringMatching(expected)]);
    }
  });

  test('refuses unknown members of a chainhook and of a wait', async () => {
    const wrong = { filters: payment, url: 'http://127.0.0.1:1' };
    expect((await errorOf(chain.hooks.add(wrong))).field).toBe('url');
    const hook = await chain.hooks.add({ filters: payment });
    for (const next of [hook.next, chain.hooks.next]) {
      expect((await errorOf(next({ limit: 1 } as object))).field).toBe('limit');
    }
  });
});

test('a chain can let a test send as any address', async () => {
  await using chain = await startDevnet({ executable, unsafeImpersonate: true });
  const { address } = await chain.account('rich', 5_000);
  const sent = await chain.transfer(BOOT_ADDRESS.testnet, 5, { sender: address });
  expect([sent.sender, sent.status]).toEqual([address, 'success']);
  const other = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
  await chain.transfer(other, 100_000);
  expect((await chain.transfer(BOOT_ADDRESS.testnet, 5, { sender: other })).sender).toBe(other);
});
