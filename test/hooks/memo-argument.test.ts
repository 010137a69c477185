/** Hooks with filters by memo and by argument: live blocks, a fork, backfills, evaluations and the change feed. */
import { expect, test } from 'bun:test';
import { ChainhooksClient } from '@hirosystems/chainhooks-client';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { alice, block, bob, call, carol, type Transaction, transfer } from '../support/events/handmade.ts';
import { until } from '../support/time/until.ts';
import { definition, hookServer, type Received, receiver, started } from './server.ts';

/** A call of a contract with two arguments. */
const buy = (nonce: number, id: bigint): Transaction =>
  call(alice, nonce, 300, `${bob.address}.shop`, 'buy', [clarity.uint(id), clarity.some(clarity.uint(1n))]);

/** Events of a block with transfers of one micro-STX to Carol. */
const moved = (...transfers: Transaction[]) => ({
  events: transfers.map(({ id }, event_index) => ({
    txid: id,
    event_index,
    committed: true,
    type: 'stx_transfer_event',
    stx_transfer_event: { sender: alice.address, recipient: carol.address, amount: '1', memo: '' },
  })),
});

// The memo of a handmade transfer is its nonce: `nonce 0`.
const [wanted, unwanted, forked] = [transfer(alice, 0, 300), transfer(alice, 1, 300), transfer(bob, 0, 300)];
const [bought, other] = [buy(2, 7n), buy(3, 8n)];

const first = block(null, 'first', [wanted, unwanted], moved(wanted, unwanted));
const second = block(first, 'second', [bought, other]);
const fork = block(first, 'fork', [forked, other], moved(forked));
const longer = block(fork, 'longer', []);

const filters = [
  { type: 'stx_transfer', memo: { equals: 'nonce 0' } },
  { type: 'contract_call', function_name: 'buy', argument: { index: 0, equals: 'u7' } },
];

/** The transactions that a delivery applies and rolls back. */
const transactionsOf = ({ payload: { event } }: Received) =>
  [event.apply, event.rollback].map((blocks) =>
    blocks.flatMap((item: { transactions: { transaction_identifier: { hash: string } }[] }) =>
      item.transactions.map(({ transaction_identifier: { hash } }) => hash),
    ),
  );

test('the published client registers filters by memo and argument; blocks and a fork deliver only their matches', async () => {
  await using server = await hookServer();
  using target = receiver();
  const client = new ChainhooksClient({ baseUrl: server.url });
  const hook = await client.registerChainhook(definition(target.url, filters, started) as never);
  expect(hook.definition.filters.events).toEqual(filters as never);

  server.feed([first, second, fork, longer].map(({ event }) => event));
  await until(() => target.received.length === 3, 'the deliveries');
  expect(target.received.map(transactionsOf)).toEqual([
    [[wanted.id], []],
    [[bought.id], []],
    [[forked.id], [bought.id]],
  ]);
});

test('backfills, evaluations, previews and the change feed use filters by memo and argument', async () => {
  await using server = await hookServer();
  using target = receiver();
  server.feed([first.event, second.event]);
  const uuid = await server.register(target.url, {}, filters);

  const both = { from_height: 1, to_height: 2 };
  const preview = await server.request('POST', '/chainhooks/preview', { filters: { events: filters }, ...both });
  expect(preview.body).toMatchObject({ matched_blocks: 2, matched_transactions: 2 });

  await server.request('POST', `/chainhooks/me/${uuid}/backfills`, both);
  await until(() => target.received.length === 2, 'the backfill');
  await server.request('POST', `/chainhooks/me/${uuid}/evaluate`, { block_height: 2 });
  await until(() => target.received.length === 3, 'the evaluation');
  const applied = [[wanted.id], [bought.id], [bought.id]];
  expect(target.received.map(transactionsOf)).toEqual(applied.map((ids) => [ids, []]));
});
