/** Routes of Stackside's own that answer what deprecated routes answer, and stay when those are switched off. */
import { expect, test } from 'bun:test';
import { ADDRESS, hash, idAt, NFT, OTHER } from './sample-chain.ts';
import { testApp } from './test-app.ts';

const { json } = testApp();

interface Mints {
  total: number;
  results: { value: { hex: string; repr: string }; recipient: string; transaction: { tx_id: string } }[];
}

const mintsOf = async (asset: string, query = '') =>
  (await json(`/stackside/v1/tokens/nft/${asset}/mints${query}`)).body as unknown as Mints;

test('the tokens of a collection are its mints, newest first, page by page', async () => {
  const all = await mintsOf(NFT);
  expect(all.total).toBeGreaterThan(1);
  expect(all.results).toHaveLength(all.total);
  const [first, second] = all.results;
  expect(first).toMatchObject({ recipient: ADDRESS });
  const { body: listed } = await json(`/extended/v1/tokens/nft/mints?asset_identifier=${NFT}`);
  expect(listed).toMatchObject({
    total: all.total,
    results: all.results.map(({ value, recipient, transaction }) => ({ value, recipient, tx_id: transaction.tx_id })),
  } as never);
  expect(await mintsOf(NFT, '?limit=1&offset=1')).toEqual({
    limit: 1,
    offset: 1,
    total: all.total,
    results: [second],
  } as never);
  expect(await mintsOf(`${OTHER}.none::card`)).toMatchObject({ total: 0, results: [] });
});

test('the bytes of a transaction are those that v1 has', async () => {
  const { body: old } = await json(`/extended/v1/tx/${idAt(1, 0)}/raw`);
  expect((await json(`/stackside/v1/transactions/${idAt(1, 0)}/raw`)).body).toEqual({
    tx_id: idAt(1, 0),
    ...(old as object),
  } as never);
  expect((await json(`/stackside/v1/transactions/${hash(255)}/raw`)).status).toBe(404);
});
