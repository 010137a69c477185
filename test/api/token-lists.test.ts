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
  const all = await mintsOf(NFT);
  expect(all.total).toBeGreaterThan(1);
  expect(all.results).toHaveLength(all.total);
  const [first, second] = all.results;
  expect(first).toMatchObject({ recipient: ADDRESS });
  const { body: listed } = await json(`/extended/v1/tokens/nft/mints?asset_identifier=${NFT}`);
  expect(listed).toMatchObject({
    total: all.total,
    results: all.results.map(({ value, recipient, transaction }) => ({ value, recipient, tx_id: transaction.tx_id })),
  });
  expect(await mintsOf(NFT, '?limit=1&offset=1')).toEqual({
    limit: 1,
    offset: 1,
    total: all.total,
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
  const shown = ({ results }: Transfers) =>
    results.map(({ block_height: height, sender, recipient, amount }) => [height, sender, recipient, amount]);
  const all = await pageAt('');
  expect(shown(all)).toEqual([
    [3, HOLDER, ADDRESS, '10'],
    [3, HOLDER, ADDRESS, '20'],
    [1, null, HOLDER, '50'],
  ]);
  expect([all.total, all.cursor.next, all.cursor.previous]).toEqual([null, null, null]);
  const first = await pageAt('?limit=2');
  const second = await pageAt(`?limit=2&cursor=${first.cursor.next}`);
  expect([...shown(first), ...shown(second)]).toEqual(shown(all));
  expect(shown(await pageAt(`?limit=2&cursor=${second.cursor.previous}`))).toEqual(shown(first));
});
