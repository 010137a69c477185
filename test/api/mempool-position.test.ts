/** The position of a pending transaction: its rank by fee, the projected blocks, and the nonces or funds that it waits for. */
import { expect, test } from 'bun:test';
import type { Account } from '../../src/devnet/wallet.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import {
  alice,
  announcement,
  block,
  bob,
  carol,
  deployment,
  drop,
  nodeEvent,
  receipt,
  sponsor,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { testApp } from './test-app.ts';

const mined = transfer(carol, 0, 900);
const low = transfer(alice, 0, 90);
const middle = transfer(alice, 1, 1_000);
const alsoMiddle = transfer(bob, 0, 1_000);
const high = deployment(carol, 1, 20_000);
const dropped = transfer(alice, 2, 50_000);

const events = [
  block(null, 'one', [receipt(mined, 0)]).event,
  announcement([low, middle, alsoMiddle, high, dropped]),
  drop([dropped], 'TooExpensive'),
];

const positionsOf = async (app: ReturnType<typeof testApp>) =>
  Promise.all(
    [high, middle, alsoMiddle, low].map(async ({ id }) => {
      const { status, body } = await app.json(`/stackside/v1/mempool/transactions/${id}`);
      expect({ status, body }).toMatchObject({ status: 200, body: { tx_id: id, status: 'pending' } });
      return (body as { position_by_fee: object | null }).position_by_fee;
    }),
  );

test('ranks a transaction behind all higher fees, compared as numbers', async () => {
  expect(await positionsOf(testApp(memoryIndex(events)))).toEqual([
    { all: 1, type: 1 },
    { all: 2, type: 1 },
    { all: 2, type: 1 },
    { all: 4, type: 3 },
  ]);
});

test('returns null for ranks beyond the counting limit', async () => {
  expect(await positionsOf(testApp(memoryIndex(events, { feeRank: 1 })))).toEqual([
    { all: 1, type: 1 },
    { all: 2, type: 1 },
    { all: 2, type: 1 },
    { all: null, type: null },
  ]);
});

test('a dropped transaction has a status and no position, and mined and unknown ones return 404', async () => {
  const app = testApp(memoryIndex(events));
  const answer = async (id: string) => app.json(`/stackside/v1/mempool/transactions/${id}`);
  expect((await answer(dropped.id)).body).toEqual({
    tx_id: dropped.id,
    status: 'dropped_too_expensive',
    replaced_by_tx_id: null,
    position_by_fee: null,
    projected: null,
    awaits: [],
    fee_for_next_block: null,
  });
  expect([(await answer(mined.id)).status, (await answer(`0x${'00'.repeat(32)}`)).status]).toEqual([404, 404]);
});

/** A first block that gives each account an STX balance. */
const fund = (to: readonly Account[]) =>
  block(null, 'funds', [receipt(mined, 0)], {
    events: to.map(({ address: recipient }, index) =>
      nodeEvent(mined.id, index, 'stx_mint_event', { recipient, amount: '1000000' }),
    ),
  }).event;

const readPosition = async (app: ReturnType<typeof testApp>, { id }: Transaction) => {
  const { body } = await app.json<Record<string, unknown>>(`/stackside/v1/mempool/transactions/${id}`);
  const { projected, awaits, fee_for_next_block } = body;
  return { projected, awaits, fee_for_next_block };
};

test('a projected block takes the highest fee rate first among the next nonces of senders and sponsors', async () => {
  const second = transfer(alice, 1, 90_000);
  const first = transfer(alice, 0, 300);
  const ofBob = transfer(bob, 0, 500);
  const sponsored = transfer(bob, 1, 400, { account: sponsor, nonce: 0 });
  const app = testApp(memoryIndex([fund([alice, bob, sponsor]), announcement([second, first, ofBob, sponsored])]));
  const { body } = await app.json('/stackside/v1/mempool/blocks');
  expect(body).toMatchObject({
    total: 4,
    considered: 4,
    estimated: 0,
    waiting: { nonce: 0, balance: 0 },
    beyond: 0,
    blocks: [{ block: 1, transactions: 4, fees: { total: '91200', least: '300', median: '500', greatest: '90000' } }],
  });
  const inBlock = await app.json('/stackside/v1/mempool/blocks/1/transactions?limit=3');
  const { total, results } = inBlock.body as { total: number; results: { tx_id: string }[] };
  expect({ total, ids: results.map(({ tx_id }) => tx_id) }).toEqual({ total: 4, ids: [ofBob.id, first.id, second.id] });
  expect((await app.json('/stackside/v1/mempool/blocks/2/transactions')).body).toEqual({ total: 0, results: [] });
  expect(await readPosition(app, first)).toMatchObject({ projected: { block: 1 }, awaits: [] });
});

test('the lower nonce of a sponsor comes first, even with a lower fee', async () => {
  const later = transfer(alice, 0, 90_000, { account: sponsor, nonce: 1 });
  const sooner = transfer(bob, 0, 400, { account: sponsor, nonce: 0 });
  const app = testApp(memoryIndex([fund([alice, bob, sponsor]), announcement([later, sooner])]));
  const { body } = await app.json('/stackside/v1/mempool/blocks/1/transactions');
  expect((body as { results: { tx_id: string }[] }).results.map(({ tx_id }) => tx_id)).toEqual([sooner.id, later.id]);
});

test('a transaction lists the nonce that it waits for and the funds that its account lacks', async () => {
  const gap = transfer(alice, 2, 300);
  const afterGap = transfer(alice, 3, 300);
  const ofSponsor = transfer(bob, 0, 300, { account: sponsor, nonce: 5 });
  const afterSponsored = transfer(bob, 1, 300);
  const poor = transfer(carol, 1, 2_000_000);
  const app = testApp(
    memoryIndex([fund([alice, bob, sponsor, carol]), announcement([gap, afterGap, ofSponsor, afterSponsored, poor])]),
  );
  const nonce = (account: Account, missing: number, waits: Transaction | null = null) => ({
    for: 'nonce',
    principal: account.address,
    nonce: missing,
    tx_id: waits?.id ?? null,
  });
  const none = { projected: null, fee_for_next_block: null };
  expect(await readPosition(app, gap)).toEqual({ ...none, awaits: [nonce(alice, 0)] });
  expect(await readPosition(app, afterGap)).toEqual({ ...none, awaits: [nonce(alice, 0)] });
  expect(await readPosition(app, ofSponsor)).toEqual({ ...none, awaits: [nonce(sponsor, 0)] });
  expect(await readPosition(app, afterSponsored)).toEqual({ ...none, awaits: [nonce(bob, 0, ofSponsor)] });
  expect(await readPosition(app, poor)).toMatchObject({ ...none, awaits: [{ for: 'balance', needed: '2000001' }] });
  const { body } = await app.json('/stackside/v1/mempool/blocks');
  expect(body).toMatchObject({ blocks: [], waiting: { nonce: 4, balance: 1 } });
});

test("a transaction beyond the node's limit per account waits for the account's first one", async () => {
  const chain = Array.from({ length: 27 }, (_, nonce) => transfer(alice, nonce, 300));
  const app = testApp(memoryIndex([fund([alice]), announcement(chain)]));
  expect(await readPosition(app, chain[24]!)).toMatchObject({ projected: { block: 1, place: 25 }, awaits: [] });
  const first = { for: 'nonce', principal: alice.address, nonce: 0, tx_id: chain[0]!.id };
  for (const late of chain.slice(25)) {
    expect(await readPosition(app, late)).toEqual({ projected: null, fee_for_next_block: null, awaits: [first] });
  }
});
