/** The operator has a running server ask again about tokens. */
import { expect, test } from 'bun:test';
import { refreshTokens } from '../../src/commands/cli/client.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { serving } from '../support/servers/serving.ts';

const events = [...devnetEvents({ seed: 3, blocks: 20, accounts: 6, transactionsPerBlock: 4, forkEvery: 0 })];

test('tokens of a contract are queued; an unknown contract, token or number is named', async () => {
  await using server = await serving();
  await server.post(events);
  const connection = { url: server.api, key: readAdminKey(server.directory) };
  const search = events.flatMap(({ body }) => [...body.matchAll(/"(ST\w+\.token-\d+)::coin"/g)]);
  const coin = search[0]?.[1] ?? '';
  expect(await refreshTokens(connection, coin, [])).toBe(`All tokens of ${coin} are asked about again.`);
  expect(await refreshTokens(connection, coin, ['1'])).toBe(`1 token of ${coin} will be asked about again.`);
  await expect(refreshTokens(connection, coin, ['7', '1'])).rejects.toThrow(`${coin} has no token 7.`);
  await expect(refreshTokens(connection, coin, ['9'.repeat(39)])).rejects.toThrow('has no token');
  await expect(refreshTokens(connection, `${coin}-not`, [])).rejects.toThrow('is no contract of tokens');
  await expect(refreshTokens(connection, coin, ['-1'])).rejects.toThrow('is not the number of a token');
  await expect(refreshTokens({ ...connection, key: null }, coin, [])).rejects.toThrow();
});

test('where nobody is asked about tokens, a refresh is refused', async () => {
  await using server = await serving({ tokenMetadata: 'off' });
  const connection = { url: server.api, key: readAdminKey(server.directory) };
  await expect(refreshTokens(connection, 'ST000000000000000000002AMW42H.coin', [])).rejects.toThrow(
    '--token-metadata off',
  );
});
