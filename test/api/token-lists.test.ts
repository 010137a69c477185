/** Lists of one token, which remain when deprecated routes are switched off. */
import { expect, test } from 'bun:test';
import { ADDRESS, HOLDER, hash, idAt, NFT, OTHER, TOKEN } from './sample-chain.ts';
import { testApp } from './test-app.ts';

const { json } = testApp();

interface Mints {
  total: number;
  results: { value: { hex: string; repr: string }; recipient: string; transaction: { tx_id: string } }[];
}

const mintsOf = async (asset: string, query = '') =>
  (await json(`/stackside/v1/tokens/nft/${asset}/mints${query}`)).body as unknown as Mints;

test("a collection's tokens are its mints, newest first, page by page", async () => {
  const list = await mintsOf(NFT);
  expect(list.total).toBeGreaterThan(1);
  expect(list.results).toHaveLength(list.total);
  const [first, second] = list.results;
  expect(first).toMatchObject({ recipient: ADDRESS });
  const { body: oldList } = await json(`/extended/v1/tokens/nft/mints?asset_identifier=${NFT}`);
  expect(oldList).toMatchObject({
    total: list.total,
    results: list.results.map(({ value, recipient, transaction }) => ({ value, recipient, tx_id: transaction.tx_id })),
  });
  expect(await mintsOf(NFT, '?limit=1&offset=1')).toEqual({
    limit: 1,
    offset: 1,
    total: list.total,
    results: [second],
  } as never);
  expect(await mintsOf(`${OTHER}.none::card`)).toMatchObject({ total: 0, results: [] });
});

test('the raw bytes of a transaction equal the v1 answer', async () => {
  const { body: old } = await json(`/extended/v1/tx/${idAt(1, 0)}/raw`);
  expect((await json(`/stackside/v1/transactions/${idAt(1, 0)}/raw`)).body).toEqual({
    tx_id: idAt(1, 0),
    ...(old as object),
  });
  expect((await json(`/stackside/v1/transactions/${hash(255)}/raw`)).status).toBe(404);
});

interface Transfers {
  total: null;
  cursor: { next: string | null; previous: string | null };
  results: { block_height: number; sender: string | null; recipient: string | null; amount: string }[];
}

test("a token's transfers include all principals, newest first, page by page", async () => {
  const pageAt = async (query: string) =>
    (await json(`/stackside/v1/tokens/ft/${TOKEN.replace('?', '%3F')}/transfers${query}`)).body as unknown as Transfers;
  const rowsOf = ({ results }: Transfers) =>
    results.map(({ block_height: height, sender, recipient, amount }) => [height, sender, recipient, amount]);
  const list = await pageAt('');
  expect(rowsOf(list)).toEqual([
    [3, HOLDER, ADDRESS, '10'],
    [3, HOLDER, ADDRESS, '20'],
    [1, null, HOLDER, '50'],
  ]);
  expect([list.total, list.cursor.next, list.cursor.previous]).toEqual([null, null, null]);
  const first = await pageAt('?limit=2');
  const second = await pageAt(`?limit=2&cursor=${first.cursor.next}`);
  expect([...rowsOf(first), ...rowsOf(second)]).toEqual(rowsOf(list));
  expect(rowsOf(await pageAt(`?limit=2&cursor=${second.cursor.previous}`))).toEqual(rowsOf(first));
});
