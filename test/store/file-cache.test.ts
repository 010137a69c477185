/** Compares the answers of a server with cached values to the answers of a fresh server. */
import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { appOf } from '../support/api/app.ts';
import { openNew } from '../support/data/ingest.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import {
  alice,
  announcement,
  block,
  bob,
  call,
  deployment,
  drop,
  receipt,
  START,
  transfer,
} from '../support/events/handmade.ts';

test('a pending transaction that is dropped and received again is listed with its new receipt', async () => {
  using open = openNew();
  open.ingest.receive(block(null, 'block 1').event);
  using snapshots = watchedSnapshots(open.directory);
  const app = appOf({ snapshots });
  const receipts = async () => {
    const answer = await app.handle(new Request('http://localhost/extended/v3/mempool/transactions'));
    const { results } = (await answer.json()) as { results: { receipt_time: number; tx_id: string }[] };
    return results.map(({ receipt_time: time, tx_id: id }) => [time, id]);
  };
  const [first, second] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
  open.ingest.receive(announcement([first, second], START));
  expect(await receipts()).toEqual(expect.arrayContaining([first, second].map(({ id }) => [START, id])));
  open.ingest.receive(drop([first], 'StaleGarbageCollect'));
  expect(await receipts()).toEqual([[START, second.id]]);
  open.ingest.receive(announcement([first], START + 60));
  expect(await receipts()).toEqual([
    [START + 60, first.id],
    [START, second.id],
  ]);
});

test('a listed call has the functions of a contract that is deployed after it, in each fork', async () => {
  using open = openNew();
  using snapshots = watchedSnapshots(open.directory);
  const app = appOf({ snapshots });
  const signature = async () => {
    const answer = await app.handle(new Request(`http://localhost/extended/v1/address/${alice.address}/transactions`));
    const { results } = (await answer.json()) as { results: { contract_call?: { function_signature: string } }[] };
    return results.flatMap(({ contract_call: contractCall }) => contractCall?.function_signature ?? []);
  };
  const called = call(alice, 0, 200, `${bob.address}.pool`, 'join', [clarity.uint(1n)]);
  const deploy = (argument: string, fee: number) => {
    const join = { name: 'join', access: 'public', args: [{ name: argument, type: 'uint128' }] };
    const functions = [{ ...join, outputs: { type: { response: { ok: 'bool', error: 'none' } } } }];
    const declared = { functions, variables: [], maps: [], fungible_tokens: [], non_fungible_tokens: [] };
    return receipt(deployment(bob, 0, fee), 0, { contract_interface: declared });
  };
  const first = block(null, 'call', [called]);
  open.ingest.receive(first.event);
  expect(await signature()).toEqual(['']);
  const second = block(first, 'deployment', [deploy('amount', 300)]);
  open.ingest.receive(second.event);
  expect(await signature()).toEqual(['(define-public (join (amount uint)))']);
  const rival = block(first, 'other deployment', [deploy('count', 400)]);
  for (const { event } of [rival, block(rival, 'tip')]) open.ingest.receive(event);
  expect(await signature()).toEqual(['(define-public (join (count uint)))']);
});

test('a call has the functions of an orphaned deployment until the chain deploys the contract again', async () => {
  using open = openNew();
  using snapshots = watchedSnapshots(open.directory);
  const app = appOf({ snapshots });
  const deploy = (argument: string, nonce: number, fee: number) => {
    const join = { name: 'join', access: 'public', args: [{ name: argument, type: 'uint128' }] };
    const functions = [{ ...join, outputs: { type: { response: { ok: 'bool', error: 'none' } } } }];
    const declared = { functions, variables: [], maps: [], fungible_tokens: [], non_fungible_tokens: [] };
    return receipt(deployment(bob, nonce, fee), 0, { contract_interface: declared });
  };
  const [waiting, failed] = [0, 1].map((nonce) =>
    call(alice, nonce, 200, `${bob.address}.pool`, 'join', [clarity.uint(1n)]),
  );
  const signatures = async () => {
    const paths = [`tx/${waiting!.id}`, `tx/${failed!.id}`, 'tx?type=contract_call', 'tx/mempool'];
    const answers = paths.map(async (path) => {
      const answer = await app.handle(new Request(`http://localhost/extended/v1/${path}`));
      return [...(await answer.text()).matchAll(/"function_signature":"([^"]*)"/g)].map(([, signature]) => signature);
    });
    return Promise.all(answers);
  };
  const joins = (argument: string): string => `(define-public (join (${argument} uint)))`;

  const first = block(null, 'one');
  for (const event of [first.event, announcement([waiting!])]) open.ingest.receive(event);
  expect(await signatures()).toEqual([[''], [], [], ['']]);
  open.ingest.receive(block(first, 'deployment', [deploy('amount', 0, 300)]).event);
  expect(await signatures()).toEqual([[joins('amount')], [], [], [joins('amount')]]);
  const second = block(first, 'two', [transfer(bob, 0, 500)]);
  const third = block(second, 'three', [receipt(failed!, 0, { status: 'abort_by_response' })]);
  for (const { event } of [second, third]) open.ingest.receive(event);
  expect(await signatures()).toEqual(Array(4).fill([joins('amount')]));
  open.ingest.receive(block(third, 'another deployment', [deploy('count', 1, 400)]).event);
  expect(await signatures()).toEqual([[joins('count')], expect.anything(), [joins('count')], [joins('count')]]);
});
