import { expect, test } from 'bun:test';
import { until } from '../support/until.ts';
import { stackside, startServer } from './stackside.ts';

test('stackside demo serves a chain that grows', async () => {
  const server = await startServer('demo', '--interval', '1');
  const height = async (): Promise<number> => {
    const body = (await (await fetch(`${server.api}/extended`)).json()) as { chain_tip?: { block_height: number } };
    return body.chain_tip?.block_height ?? 0;
  };
  await until(async () => (await height()) >= 3, 'height 3');
  const reached = await height();
  await until(async () => (await height()) > reached, 'the next block');
  // The demo is open.
  expect(await stackside('hooks', 'list', '--url', server.api)).toMatchObject({ code: 0, stdout: '' });
  expect(await server.stop()).toBe(0);
});

test('stackside demo is refused where other machines reach it', async () => {
  const refused = await stackside('demo', '--api-host', '0.0.0.0', '--api-port', '0', '--event-port', '0');
  expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
    1,
    '--api-host is 0.0.0.0, which other machines can reach.',
  ]);
});
