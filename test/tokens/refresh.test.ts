/** The operator requests a refresh of tokens from a running server. */
import { expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { type Serving, serving } from '../support/servers/serving.ts';

const events = [...devnetEvents({ seed: 3, blocks: 20, accounts: 6, transactionsPerBlock: 4, forkEvery: 0 })];

/** Requests a refresh of a contract's tokens. @returns the status and the response */
async function refresh(server: Serving, body: object, key = readAdminKey(server.directory)): Promise<[number, object]> {
  const answer = await fetch(`${server.api}/stackside/v1/tokens/refresh`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === null ? {} : { 'x-api-key': key }) },
    body: JSON.stringify(body),
  });
  return [answer.status, (await answer.json()) as object];
}

const message = (text: string) => ({ message: expect.stringContaining(text) });

test('a refresh queues the tokens of a contract, and rejects an unknown contract, token or number', async () => {
  await using server = await serving();
  await server.post(events);
  const search = events.flatMap(({ body }) => [...body.matchAll(/"(ST\w+\.token-\d+)::coin"/g)]);
  const coin = search[0]?.[1] ?? '';
  const ofCoin = (...token_ids: string[]) => refresh(server, { contract_id: coin, token_ids });
  expect(await refresh(server, { contract_id: coin })).toEqual([200, { contract_id: coin, tokens: null }]);
  expect(await ofCoin('1')).toEqual([200, { contract_id: coin, tokens: 1 }]);
  expect(await ofCoin('7', '1')).toMatchObject([404, message(`Tokens of ${coin} not found: 7`)]);
  expect(await ofCoin('9'.repeat(39))).toMatchObject([404, message('not found: 9')]);
  expect(await refresh(server, { contract_id: `${coin}-not` })).toMatchObject([
    404,
    message('is not a deployed token contract'),
  ]);
  expect(await ofCoin('-1')).toMatchObject([400, message('a whole number')]);
  expect((await refresh(server, { contract_id: coin }, null))[0]).toBe(401);
});

test('a refresh is rejected if token metadata is off', async () => {
  await using server = await serving({ tokenMetadata: 'off' });
  const answer = await refresh(server, { contract_id: 'ST000000000000000000002AMW42H.coin' });
  expect(answer).toMatchObject([409, message('--token-metadata off')]);
});
