/** The rank of a pending transaction by fee, among all pending ones and among those of its type. */
import { expect, test } from 'bun:test';
import { memoryIndex } from '../support/data/memory-index.ts';
import {
  alice,
  announcement,
  block,
  bob,
  carol,
  deployment,
  drop,
  receipt,
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
      expect({ status, body }).toMatchObject({ status: 200, body: { tx_id: id, status: 'pending' } } as never);
      return (body as { position_by_fee: object | null }).position_by_fee;
    }),
  );

test('a place is one behind those that offer more, as numbers and not as texts', async () => {
  expect(await positionsOf(testApp(memoryIndex(events)))).toEqual([
    { all: 1, type: 1 },
    { all: 2, type: 1 },
    { all: 2, type: 1 },
    { all: 4, type: 3 },
  ]);
});

test('no more than a limit is counted', async () => {
  expect(await positionsOf(testApp(memoryIndex(events, { feeRank: 1 })))).toEqual([
    { all: 1, type: 1 },
    { all: 2, type: 1 },
    { all: 2, type: 1 },
    { all: null, type: null },
  ]);
});

test('a dropped transaction has a status and no place; one of a block and an unknown one are not found', async () => {
  const app = testApp(memoryIndex(events));
  const answer = async (id: string) => app.json(`/stackside/v1/mempool/transactions/${id}`);
  expect((await answer(dropped.id)).body).toEqual({
    tx_id: dropped.id,
    status: 'dropped_too_expensive',
    replaced_by_tx_id: null,
    position_by_fee: null,
  } as never);
  expect([(await answer(mined.id)).status, (await answer(`0x${'00'.repeat(32)}`)).status]).toEqual([404, 404]);
});
