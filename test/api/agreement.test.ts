/** Different routes return equal data for the same object. */
import { describe, expect, test } from 'bun:test';
import { openNew } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import {
  alice,
  announcement,
  block,
  bob,
  carol,
  deployment,
  drop,
  receipt,
  sponsor,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { hash, OTHER, waiting } from './sample-chain.ts';
import { testApp } from './test-app.ts';

test('the answer for several transactions has one entry for each id, however the client wrote the id', async () => {
  const { json } = testApp();
  const [known, unknown, pending] = [hash(0x31), hash(0x99), waiting[0].id];
  const upper = (id: string) => id.slice(2).toUpperCase();
  const spellings = (id: string) => [...new Set([id, id.slice(2), `0x${upper(id)}`, upper(id)])];
  const ids = [known, unknown, pending].flatMap(spellings);
  const { body } = await json(`/extended/v1/tx/multiple?tx_id=${ids.join(',')}&tx_id=${known}`);
  const answer = body as Record<string, { found: boolean; result: { tx_id: string } }>;
  expect(Object.keys(answer)).toEqual([known, pending, unknown]);
  for (const [id, found] of [
    [known, true],
    [pending, true],
    [unknown, false],
  ] as const) {
    expect(answer[id]).toMatchObject({ found, result: { tx_id: id } });
  }
});

test('the mempool part of an STX balance is null only if nothing is pending', async () => {
  // Both pay a fee of 0, so that pending transactions don't change their senders' balances.
  const free = deployment(alice, 0, 0);
  const sponsored = transfer(bob, 0, 0, { account: sponsor, nonce: 0 }, carol);
  const { json } = testApp(memoryIndex([block(null, 'first').event, announcement([free, sponsored])]));
  const body = async <T>(path: string) => (await json(`/extended/v3/principals/${path}`)).body as T;
  const mempoolOf = async (principal: string) =>
    (await body<{ mempool: object | null }>(`${principal}/balances/stx`)).mempool;
  const none = { estimated_balance: '0', inbound: '0', outbound: '0' };
  expect(await mempoolOf(alice.address)).toEqual(none);
  // A contract that is called or deployed takes no part in the payment.
  expect(await mempoolOf(`${alice.address}.pool`)).toBeNull();
  expect(await mempoolOf(sponsor.address)).toEqual(none);
  expect(await mempoolOf(bob.address)).toEqual({ estimated_balance: '-1', inbound: '0', outbound: '1' });
  expect(await mempoolOf(carol.address)).toEqual({ estimated_balance: '1', inbound: '1', outbound: '0' });
  expect(await mempoolOf(OTHER)).toBeNull();
  for (const { address } of [alice, bob, carol]) {
    expect((await body<{ total: number }>(`${address}/mempool/transactions`)).total).toBe(1);
  }
});

test("mempool lists contain each transaction that a principal sponsors once, and match the principal's nonces", async () => {
  const byAlice = transfer(alice, 0, 100, { account: sponsor, nonce: 0 }, carol);
  const byBob = transfer(bob, 0, 100, { account: sponsor, nonce: 1 }, sponsor);
  const [bySponsor, byCarol] = [transfer(sponsor, 2, 100), transfer(carol, 0, 100)];
  using open = openNew();
  const first = block(null, 'first');
  open.ingest.receive(first.event);
  open.ingest.receive(announcement([byAlice, byBob, bySponsor, byCarol]));
  using snapshots = snapshotsOf(open.directory);
  const { json } = testApp(snapshots);
  const { address } = sponsor;
  const nonces = `/extended/v3/principals/${address}/nonces`;
  const lists = [
    `/extended/v3/principals/${address}/mempool/transactions`,
    `/extended/v1/address/${address}/mempool`,
    `/extended/v1/tx/mempool?address=${address}`,
  ];
  /** @returns the tags of the lists */
  async function expectAll(...transactions: Transaction[]): Promise<unknown[]> {
    const tags: unknown[] = [];
    for (const path of lists) {
      const { body, headers } = await json(path);
      const { total, results } = body as { total: number; results: { tx_id: string }[] };
      expect([path, total]).toEqual([path, transactions.length]);
      expect(results.map(({ tx_id }) => tx_id).sort()).toEqual(transactions.map(({ id }) => id).sort());
      tags.push(headers.get('etag'));
    }
    return tags;
  }

  const before = await expectAll(byAlice, byBob, bySponsor);
  expect((await json(nonces)).body).toMatchObject({ mempool: { last_nonce: 2 } });
  open.ingest.receive(block(first, 'second', [receipt(byAlice, 0)]).event);
  const after = await expectAll(byBob, bySponsor);
  expect(after.filter((tag) => before.includes(tag))).toEqual([]);
  open.ingest.receive(drop([byBob], 'StaleGarbageCollect'));
  await expectAll(bySponsor);
  expect((await json(`/extended/v1/tx/mempool?sender_address=${address}`)).body).toMatchObject({ total: 1 });
});

describe('the Clarity version is null for a deployment without a version', () => {
  const clarity = (version: string) => ({ functions: [], clarity_version: version });
  const interfaces = { 'one-1': clarity('Clarity1'), 'one-2': clarity('Clarity2'), none: null };
  const names = Object.keys(interfaces) as (keyof typeof interfaces)[];
  const deployments = names.map((name, nonce) => deployment(alice, nonce, 180, name));
  const receipts = names.map((name, index) =>
    receipt(deployments[index]!, index, { contract_interface: interfaces[name] }),
  );
  const { json } = testApp(memoryIndex([block(null, 'deployments', receipts).event]));
  interface ShownContract {
    contract_id: string;
    clarity_version: number | null;
  }
  const body = async <T>(path: string) => (await json(path)).body as T;

  test.each(names.map((name, index) => [name, index] as const))('%s', async (name, index) => {
    const { id } = deployments[index]!;
    const contract = `${alice.address}.${name}`;
    const list = await body<{ results: { smart_contract: ShownContract }[] }>('/extended/v3/transactions');
    const contracts = [
      await body<ShownContract>(`/extended/v3/smart-contracts/${contract}`),
      await body<ShownContract>(`/extended/v1/contract/${contract}`),
      (await body<{ smart_contract: ShownContract }>(`/extended/v3/transactions/${id}`)).smart_contract,
      (await body<{ smart_contract: ShownContract }>(`/extended/v1/tx/${id}`)).smart_contract,
      list.results[names.length - 1 - index]!.smart_contract,
    ];
    expect(contracts.map((row) => [row.contract_id, row.clarity_version])).toEqual(
      contracts.map(() => [contract, null]),
    );
  });
});
